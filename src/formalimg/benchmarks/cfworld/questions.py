"""Template questions of CF-World: one per dimension of CF-Eval, and one per image of the probes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from formalimg.benchmarks.cfworld.spec import WEIGHTS, CounterfactualSpec, Dimension, WeightedQuestion
from formalimg.types import Item

if TYPE_CHECKING:
    from formalimg.rewards.tasks import OwnQuestion


def template_score_questions(shows: str, *, law: str = "", changed: str = "") -> tuple[WeightedQuestion, ...]:
    """Return the weighted questions about an image, by template instead of a chat model."""
    values = {"shows": _as_clause(shows), "law": _as_clause(law), "changed": _as_clause(changed)}
    found = [_question("integrity", "integrity", values)]
    if law or changed:
        found.append(_question("logic", "logic.counterfactual" if changed else "logic.factual", values))
    return (*found, _question("assessment", "assessment", values))


def _question(dimension: Dimension, template: str, values: Mapping[str, str]) -> WeightedQuestion:
    texts = _templates()[template]
    return WeightedQuestion(dimension, texts["question"].format(**values), texts["criteria"], WEIGHTS[dimension])


def _as_clause(sentence: str) -> str:
    """Return a sentence as a clause: without its full stop, and lower-case unless it begins with a name."""
    text = sentence.strip().rstrip(".!")
    first, _, rest = text.partition(" ")
    keep = (len(first) == 1 and first != "A") or first[1:] != first[1:].lower()
    return text if keep or not rest else f"{first.lower()} {rest}"


@cache
def _templates() -> Mapping[str, Mapping[str, str]]:
    tables = tomllib.loads((files("formalimg.benchmarks.cfworld") / "questions.toml").read_text(encoding="utf-8"))
    logic = tables.pop("logic")
    return {**tables, **{f"logic.{name}": texts for name, texts in logic.items()}}


def rule_spec(group: str, shows: str) -> CounterfactualSpec:
    """Return the spec of a rule-probe prompt: only what follows from the rule."""
    return CounterfactualSpec(group, shows, template_score_questions(shows)[-1:])


def pair_spec(group: str, a: str, b: str, prompt: str) -> CounterfactualSpec:
    """Return the spec of an attribute-probe prompt: both objects, together as it says."""
    values = {"a": a, "b": b, "prompt": prompt.rstrip(".")}
    question = WeightedQuestion(
        "assessment", _texts()["question"].format(**values), _texts()["criteria"], WEIGHTS["assessment"]
    )
    return CounterfactualSpec(group, _texts()["shows"].format(**values), (question,))


@cache
def _texts() -> Mapping[str, str]:
    return tomllib.loads((files("formalimg.benchmarks.cfworld") / "pair_question.toml").read_text(encoding="utf-8"))


def pair_objects(spec: CounterfactualSpec, prompt: str) -> tuple[str, str] | None:
    """Return the two objects that the question of `pair_spec` is about; None for another question."""
    if len(spec.questions) != 1:
        return None
    pattern = re.escape(_texts()["question"].replace("{prompt}", prompt.rstrip(".")))
    pattern = pattern.replace(re.escape("{a}"), "(?P<a>.+)").replace(re.escape("{b}"), "(?P<b>.+)")
    found = re.fullmatch(pattern, spec.questions[0].question)
    return (found["a"], found["b"]) if found and pair_spec(spec.group, found["a"], found["b"], prompt) == spec else None


def make_question_item(prompt: str, questions: Sequence[OwnQuestion]) -> Item[CounterfactualSpec]:
    """Return an item of users' own questions; those of one dimension share its weight."""
    weighted = tuple(
        WeightedQuestion(cast(Dimension, each.kind), each.question, each.criteria or "", each.weight)
        for each in questions
    )
    return Item("cf-world", "questions", 1, prompt, CounterfactualSpec("", "", weighted))
