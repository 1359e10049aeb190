"""What is asked about images of the probes: one question each, that of what decides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from formalimg.suites.cfworld.questions import template_scores
from formalimg.suites.cfworld.spec import WEIGHTS, CounterfactualSpec, WeightedQuestion


def rule_spec(group: str, shows: str) -> CounterfactualSpec:
    """What a prompt of the rule probe asks for: nothing but what follows from the rule."""
    return CounterfactualSpec(group, shows, template_scores(shows)[-1:])


def pair_spec(group: str, a: str, b: str, prompt: str) -> CounterfactualSpec:
    """What a prompt of the attribute probe asks for: both objects, and that they are together as it says."""
    values = {"a": a, "b": b, "prompt": prompt.rstrip(".")}
    question = WeightedQuestion(
        "assessment", _texts()["question"].format(**values), _texts()["criteria"], WEIGHTS["assessment"]
    )
    return CounterfactualSpec(group, _texts()["shows"].format(**values), (question,))


@cache
def _texts() -> Mapping[str, str]:
    return tomllib.loads((files("formalimg.suites.cfworld") / "pair_question.toml").read_text(encoding="utf-8"))
