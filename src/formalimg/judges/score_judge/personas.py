"""Personas: how severely a chat model is asked to judge, and by which texts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, cast, get_args

from formalimg.errors import FormalimgError

Persona: TypeAlias = Literal["standard", "strict"]
PERSONAS: tuple[Persona, ...] = get_args(Persona)
"""An analyst who asks whether the other world is shown, or an examiner who looks for whatever speaks against it."""

Occasion: TypeAlias = Literal["factual", "counterfactual", "rules", "attributes"]
"""What sort of image is judged."""


def persona_of(model: str, wish: str = "auto") -> Persona:
    """The persona in which a model judges.

    Args:
        model: its name; with `auto`, the family it belongs to decides.
        wish: `auto`, or the name of a persona.

    Raises:
        FormalimgError: if there is no such persona.
    """
    if wish not in ("auto", *PERSONAS):
        raise FormalimgError(f"unknown persona {wish!r}: known are auto, {', '.join(PERSONAS)}")
    if wish != "auto":
        return cast(Persona, wish)
    families = _table()["families"]
    found = next(family for family in families if re.search(family["pattern"], model, re.IGNORECASE))
    return cast(Persona, found["persona"])


def occasion_of(suite: str, level: int) -> Occasion:
    """What sort of image an item of this suite and level asks for."""
    usual = "factual" if level == 1 else "counterfactual"
    return cast(Occasion, _table()["probes"].get(suite, usual))


def texts_of(persona: Persona) -> Mapping[Occasion, str]:
    """The names of the texts by which a persona judges."""
    return cast(Mapping[Occasion, str], _table()["texts"][persona])


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads((files("formalimg.judges.score_judge") / "personas.toml").read_text(encoding="utf-8"))
