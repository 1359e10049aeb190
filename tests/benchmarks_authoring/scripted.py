"""A chat model whose answers are known in advance: right ones from our own synthesis, and every kind of wrong one."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from formalimg.benchmarks.formal.authoring.templates import Assignment, Draft
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.formal.synthesis.generator import Recipe, make_items
from formalimg.language.lexicon import WordingError
from formalimg.language.realization import realize
from formalimg.logic.syntax import And, Atom, Exists, Forall, Formula, Value, Variable, atoms, subformulas
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Answered, Message, Reply, Unanswered, Usage
from formalimg.types import AnswerType, Item, Setting

Speaker = Callable[[str], "dict[str, Any] | Unanswered"]


def good_review(question: str) -> dict[str, Any]:
    """The checker finds nothing."""
    return review()


def review(**fields: Any) -> dict[str, Any]:
    """What a checker says, nothing wrong unless told otherwise."""
    return {"thoughts": "", "plausible": True, "aligned": True, "reason": "", "better_prompt": None, **fields}


def draft(prompt: str, formula: str) -> dict[str, Any]:
    """What a writer says."""
    return {"thoughts": "a scene", "prompt": prompt, "formula": formula}


@dataclass
class Scripted:
    """Answers by a function of the question; counts what it was asked, and how much at the same time."""

    write: Speaker
    check: Speaker = good_review
    name: str = "scripted/model"
    settings: Mapping[str, Setting] = field(default_factory=lambda: {"temperature": 1.0})
    concurrency: int = 3
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        question = "".join(part for message in messages for part in message.parts if isinstance(part, str))
        self.asked.append(question)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        try:
            said = (self.write if answer_type is Draft else self.check)(question)
        finally:
            self.at_once -= 1
        if isinstance(said, Unanswered):
            return said
        value = answer_type.model_validate(said)
        return Answered(value, json.dumps(said), Usage(100, 20), 0.01, {"model": "scripted-1"})


def level_asked(question: str) -> int:
    """The level in the text that a writer is sent."""
    found = re.search(r"^- Level: (\d+)", question, re.MULTILINE)
    assert found is not None
    return int(found[1])


def made(suite: str, level: int, count: int, seed: int = 7) -> list[Item[FormulaSpec]]:
    """Right instructions."""
    return make_items(Recipe(suite, (level,), count, seed)).items


def assignment_for(item: Item[FormulaSpec], **changes: Any) -> Assignment:
    """The assignment that an instruction fulfils."""
    formula = item.spec.formula
    words: dict[str, tuple[str, ...]] = {}
    kinds = {"Has": "color", "HasColor": "color", "HasMaterial": "material", "HasShape": "shape", "HasState": "state"}
    for atom in atoms(formula):
        if atom.predicate in kinds and isinstance(atom.arguments[1], Value):
            kind = kinds[atom.predicate]
            words[kind] = (*words.get(kind, ()), atom.arguments[1].text)
    fields: dict[str, Any] = {
        "suite": item.suite,
        "level": item.level,
        "quantifiers": _quantifiers(formula),
        "classes": item.spec.object_classes,
        "words": words,
        "predicates": tuple({atom.predicate for atom in atoms(formula)} - {"Is", "IsStyle"}),
        "style": item.spec.style,
    }
    return Assignment(**{**fields, **changes})


def _quantifiers(formula: Formula) -> tuple[str, ...]:
    return tuple(
        "forall" if isinstance(part, Forall) else "exists"
        for part in subformulas(formula)
        if isinstance(part, Exists | Forall)
    )


def honest_draft(question: str) -> dict[str, Any]:
    """Does as it is told: reads the assignment in the question, and makes the simplest formula that fulfils it."""
    task = question[question.index("Your assignment") :]
    suite = "natural" if "- Style:" in task else "knolling"
    level = level_asked(task)
    names = _after(task, "- Use only these classes, and not all of them: ").split(", ")[:level]
    known = vocabulary(suite).predicates
    offered = [known[name] for name in re.findall(r"^- \((\w+) ", task, re.MULTILINE) if name != "Is"]
    facts = [Atom("Is", (_variable(word), Value(word))) for word in names]
    relating = [entry.name for entry in offered if len(entry.arguments) == 2 and entry.arguments[1] == "variable"]
    for place, (one, other) in enumerate(pairwise(names)):
        facts.append(Atom(relating[place % len(relating)], (_variable(one), _variable(other))))
    single = next(entry for entry in offered if entry.name not in relating)
    words = [Value(_after(task, f"- {kind}: ").split(", ")[0]) for kind in single.arguments[1:]]
    facts.append(Atom(single.name, (_variable(names[0]), *words)))
    formula: Formula = And(tuple(facts))
    for word in reversed(names):
        formula = Exists(_variable(word), formula)
    style = re.search(r"\(IsStyle '([^']+)'\)", task)
    if style is not None:
        formula = And((Atom("IsStyle", (Value(style[1]),)), formula))
    try:
        return draft(realize(formula, suite), str(formula))
    except WordingError:
        return draft(" and ".join(names), str(formula))


def _after(text: str, label: str) -> str:
    return text[text.index(label) + len(label) :].splitlines()[0]


def _variable(word: str) -> Variable:
    return Variable(word.replace(" ", "_"))
