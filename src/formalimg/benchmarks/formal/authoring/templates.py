"""Assignments for writers (section 2.3 of the paper), and the prompt templates filled with them.

The authors' templates have other fields: the whole language, and the parameters or the instruction as JSON. The script
that fills them is not published, so parameters are named as in the examples in the templates.

An assignment fixes the level and the order of quantifiers, and offers classes, words and predicates to choose from.
More choices are offered than needed, so that the writer can find a sensible combination.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from formalimg.benchmarks.authoring.task import VERSION, Authoring, AuthoringExtent, AuthoringPlan, AuthoringTask, Slot
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.errors import FormalimgError
from formalimg.language.ontology.knowledge import COVERED
from formalimg.logic.syntax import Formula
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.logic.vocabulary import Predicate, vocabulary
from formalimg.prompts import load_prompts, read_prompt

_USUAL = AuthoringExtent(tuple(range(1, 11)), 200, 6)


class FormulaWriting(Authoring):
    """Authoring of items with formulas: a prompt with a formula, and a check that they agree."""

    def extent(self, name: str, choices: Any, levels: tuple[int, ...], per_level: int) -> AuthoringExtent:
        if not set(levels) <= set(_USUAL.levels):
            raise FormalimgError("levels must be between 1 and 10, as in --levels 1-10")
        return _USUAL

    def task(self, plan: AuthoringPlan, prompts: Path | None) -> AuthoringTask:
        from formalimg.benchmarks.formal.authoring.attempts import FormulaAuthoring  # heavy, and plans do without it

        return FormulaAuthoring(plan, prompts)


class Draft(BaseModel):
    """An instruction as the writer gives it: thoughts first, so that they can be of use."""

    model_config = ConfigDict(extra="forbid")
    thoughts: str
    prompt: str
    formula: str


class Review(BaseModel):
    """What the checker says of an instruction.

    Attributes:
        thoughts: on the way to the verdict.
        plausible: whether a picture could show it.
        aligned: whether words and formula say the same.
        reason: what is wrong, in one sentence; empty if nothing is.
        better_prompt: better words for the same formula; None if the words are fine, or nothing can be mended.
    """

    model_config = ConfigDict(extra="forbid")
    thoughts: str
    plausible: bool
    aligned: bool
    reason: str
    better_prompt: str | None


class PublishedDraft(BaseModel):
    """An instruction as the authors' text asks for it."""

    model_config = ConfigDict(extra="forbid")
    natural_language_description: str
    dsl_representation: str

    @property
    def as_ours(self) -> Draft:
        """The draft, converted to our form."""
        return Draft(thoughts="", prompt=self.natural_language_description, formula=self.dsl_representation)


class PublishedReview(BaseModel):
    """What the checker says of an instruction, as the authors' text asks for it."""

    model_config = ConfigDict(extra="forbid")
    is_contradictory: bool
    is_aligned: bool | None
    corrected_nl_description: str | None

    @property
    def as_ours(self) -> Review:
        """The review, converted to our form; the authors' checker gives no reasons."""
        return Review(
            thoughts="",
            plausible=not self.is_contradictory,
            aligned=bool(self.is_aligned),
            reason="",
            better_prompt=self.corrected_nl_description,
        )


QuantifierWord = Literal["exists", "forall"]

_HOLDERS = ("person", "man", "woman", "child")
_STYLED = 0.97  # The share of natural instructions that ask for a style, as in the published ones
_WITH_FORALL = 0.5
_SPARE_CLASSES, _SPARE_PLAUSIBLE_CLASSES = 3, 6
_WORDS_OF_A_KIND = 6


@dataclass(frozen=True)
class Assignment:
    """The requirements for one item."""

    suite: str  # whose vocabulary it is written in
    level: int  # the K it must have
    quantifiers: tuple[QuantifierWord, ...]  # of each variable, from the outside in; a wish
    classes: tuple[str, ...]  # the classes on offer
    words: Mapping[str, tuple[str, ...]]  # the words on offer for each kind of attribute
    predicates: tuple[str, ...]  # the predicates on offer, besides `Is` and the style
    style: str | None = None  # the style that the instruction must demand; None if it must not speak of style


def draw_assignment(plan: AuthoringPlan, slot: Slot, attempt: int) -> Assignment:
    """Return a random assignment for an attempt, reproducible from the plan, slot and attempt number."""
    chance = random.Random(f"write {VERSION} {plan.suite} {plan.seed} {slot.level} {slot.id} {attempt}")
    words = vocabulary(plan.suite)
    predicates = _draw_predicates(plan.suite, slot.level, chance)
    kinds = [kind for name in predicates for kind in words.predicates[name].arguments if kind in words.words]
    style = None
    if "style" in words.words and chance.random() < _STYLED:
        style = chance.choice(words.words["style"])
    quantifiers: list[QuantifierWord] = ["exists"] * slot.level
    if chance.random() < _WITH_FORALL:
        quantifiers[chance.randrange(slot.level)] = "forall"
    spare = _SPARE_PLAUSIBLE_CLASSES if suite_of(plan.suite).vocabulary in COVERED else _SPARE_CLASSES
    classes = set(_sample_words(words.words["class"], slot.level + spare, chance))
    if "Holding" in predicates and classes.isdisjoint(_HOLDERS):
        classes.add(chance.choice(_HOLDERS))
    return Assignment(
        plan.suite,
        slot.level,
        tuple(quantifiers),
        tuple(word for word in words.words["class"] if word in classes),
        {kind: _sample_words(words.words[kind], _WORDS_OF_A_KIND, chance) for kind in kinds},
        predicates,
        style,
    )


def _draw_predicates(suite: str, level: int, chance: random.Random) -> tuple[str, ...]:
    """Return random predicates: at least one for single objects, and from K = 2 on one between objects."""
    predicates = vocabulary(suite).predicates.values()
    single = [entry.name for entry in predicates if _count_variables(entry) == 1 and entry.name != "Is"]
    relating = [entry.name for entry in predicates if _count_variables(entry) == 2]
    chosen = set(chance.sample(single, chance.randint(1, 3)))
    if level > 1:
        chosen |= set(chance.sample(relating, min(len(relating), chance.randint(1, 2) + level // 3)))
    return tuple(entry.name for entry in predicates if entry.name in chosen)


def _count_variables(predicate: Predicate) -> int:
    return 0 if predicate.name == STYLE_PREDICATE else predicate.arguments.count("variable")


def _sample_words(words: tuple[str, ...], limit: int, chance: random.Random) -> tuple[str, ...]:
    chosen = set(chance.sample(words, min(limit, len(words))))
    return tuple(word for word in words if word in chosen)


_OURS = Path(__file__).parent / "prompts"


class FormulaTemplates:
    """The prompt templates of a suite, for the writer and the checker; those in `folder` replace the shipped ones."""

    def __init__(self, suite: str, folder: Path | None = None) -> None:
        texts = load_prompts(_OURS, folder)
        self._write, self._check = texts[f"write-{suite}"], texts[f"check-{suite}"]
        self._suite = suite
        self.versions = {text.name: text.version for text in (self._write, self._check)}
        self._language = ""
        if folder is not None and (self.writes_as_published or self.checks_as_published):
            language = read_prompt(folder / f"language-{suite}.txt")
            self._language = language.fill({})
            self.versions[language.name] = language.version

    @property
    def writes_as_published(self) -> bool:
        """Whether the writer's prompt template has the authors' form."""
        return "instruction" in self._write.placeholders

    @property
    def checks_as_published(self) -> bool:
        """Whether the checker's prompt template has the authors' form."""
        return "sample_to_check" in self._check.placeholders

    def allowed(self, assignment: Assignment) -> Assignment:
        """Return the assignment, extended to the whole language if the writer's template has the authors' form.

        In Knolling, the predicates are still those of the assignment.
        """
        if not self.writes_as_published:
            return assignment
        words = vocabulary(self._suite).words
        attribute_words = {kind: listed for kind, listed in words.items() if kind not in ("class", "style")}
        predicates = assignment.predicates if "style" not in words else tuple(vocabulary(self._suite).predicates)
        return replace(assignment, classes=words["class"], words=attribute_words, predicates=predicates)

    def asking_to_write(self, assignment: Assignment) -> str:
        """Return the prompt for the writer."""
        if self.writes_as_published:
            return self._write.fill({"dsl": self._language, "instruction": _generation_parameters(assignment)})
        words = [f"- {kind}: {', '.join(offered)}" for kind, offered in assignment.words.items()]
        return self._write.fill(
            {
                "classes": ", ".join(assignment.classes),
                "level": str(assignment.level),
                "predicates": _list_predicates(assignment.suite, ("Is", *assignment.predicates)),
                "quantifiers": ", ".join(assignment.quantifiers),
                "style": _style_text(assignment.style),
                "words": "\n".join(words) or "- none",
            }
        )

    def asking_to_check(self, prompt: str, formula: Formula) -> str:
        """Return the prompt for the checker."""
        if self.checks_as_published:
            sample = {"natural_language_description": prompt, "dsl_representation": str(formula)}
            return self._check.fill({"dsl": self._language, "sample_to_check": _encode_json(sample)})
        names = tuple(vocabulary(self._suite).predicates)
        return self._check.fill(
            {"prompt": prompt, "formula": str(formula), "predicates": _list_predicates(self._suite, names)}
        )


def _generation_parameters(assignment: Assignment) -> str:
    parameters: dict[str, object] = {"contained_vocabulary": list(assignment.classes)}
    if "style" in vocabulary(assignment.suite).words:
        parameters["style_control"] = {"target_style": assignment.style}
    style = [] if assignment.style is None else [STYLE_PREDICATE]
    parameters |= {
        "target_dependency_depth": {"num_object_class": assignment.level, "regular": assignment.level, "count": 0},
        "structure_control": {
            "num_closures": 1,
            "closure_depths": [assignment.level],
            "exists_forall_struct": [list(assignment.quantifiers)],
        },
        "predicate_control": {"required_predicates": [*assignment.predicates, "Is", *style]},
    }
    return _encode_json(parameters)


def _encode_json(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, indent=2, ensure_ascii=False)


def _list_predicates(suite: str, names: tuple[str, ...]) -> str:
    predicates = vocabulary(suite).predicates
    return "\n".join(f"- {_format_usage(predicates[name])}: {predicates[name].meaning}" for name in names)


def _format_usage(predicate: Predicate) -> str:
    variables = iter(("?a", "?b"))
    arguments = [next(variables) if kind == "variable" else f"'{kind}'" for kind in predicate.arguments]
    return f"({' '.join([predicate.name, *arguments])})"


def _style_text(style: str | None) -> str:
    if style is None:
        return f"none: neither the words nor the formula speak of a style, and there is no {STYLE_PREDICATE}"
    return f"{style}, written ({STYLE_PREDICATE} '{style}') as the first part of an and around the rest of the formula"
