"""Questions by template: one for each dimension of CF-Eval."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from formalimg.suites.cfworld.spec import WEIGHTS, CounterfactualSpec, Dimension, WeightedQuestion


def template_scores(shows: str, *, law: str = "", changed: str = "") -> tuple[WeightedQuestion, ...]:
    """The questions about an image, without a chat model that writes them.

    Args:
        shows: what decides.
        law: the law that holds in a factual image; empty for none to be asked about.
        changed: the rule that holds in a counterfactual image, in place of the law.

    Returns:
        Integrity, logic if there is a law or a rule, and the assessment point last, as the published ones are.
    """
    values = {"shows": _inside(shows), "law": _inside(law), "changed": _inside(changed)}
    found = [_question("integrity", "integrity", values)]
    if law or changed:
        found.append(_question("logic", "logic.counterfactual" if changed else "logic.factual", values))
    return (*found, _question("assessment", "assessment", values))


def _question(dimension: Dimension, template: str, values: Mapping[str, str]) -> WeightedQuestion:
    texts = _templates()[template]
    return WeightedQuestion(dimension, texts["question"].format(**values), texts["criteria"], WEIGHTS[dimension])


def _inside(sentence: str) -> str:
    """A sentence as it stands within another: without its full stop, and begun small unless it begins with a name."""
    text = sentence.strip().rstrip(".!")
    first, _, rest = text.partition(" ")
    keep = (len(first) == 1 and first != "A") or first[1:] != first[1:].lower()
    return text if keep or not rest else f"{first.lower()} {rest}"


@cache
def _templates() -> Mapping[str, Mapping[str, str]]:
    tables = tomllib.loads((files("formalimg.suites.cfworld") / "questions.toml").read_text(encoding="utf-8"))
    logic = tables.pop("logic")
    return {**tables, **{f"logic.{name}": texts for name, texts in logic.items()}}


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
