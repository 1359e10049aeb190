"""From the name of a planner to the planner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from formalimg.baselines.planning.planner import ChatPlanner, SolverPlanner
from formalimg.errors import FormalimgError
from formalimg.models import ImageModel, open_chat_model

SOLVER = "builtin/solver"


def open_planner(name: str, options: Mapping[str, str] | None = None, prompts: Path | None = None) -> ImageModel:
    """The planner of this name: `builtin/solver`, or any chat model.

    Raises:
        FormalimgError: if there is none, or an option is wrong.
    """
    if name == SOLVER:
        if options:
            raise FormalimgError(f"{SOLVER} has no options, but {', '.join(options)} was given")
        return SolverPlanner()
    if name.startswith("builtin/"):
        raise FormalimgError(f"{name} plans no layouts: use {SOLVER} or a chat model such as openai/gpt-4o")
    return ChatPlanner(open_chat_model(name, options), prompts)
