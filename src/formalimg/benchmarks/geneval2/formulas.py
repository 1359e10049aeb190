"""GenEval 2 questions as formulas: which questions boxes and colours decide, and their answers in a scene.

Counts, presence, colours and positions in the plane are decided by what a grounder finds. Materials and patterns,
depth (in front of, behind) and verbs are not: such questions have no formula.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from formalimg.benchmarks.questions.spec import COUNT_WORDS, GraphQuestion, QuestionSpec
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula, Value, atoms
from formalimg.logic.verification import verify
from formalimg.logic.world import World
from formalimg.types import Item

DecidedBy: TypeAlias = Literal["boxes", "colors", "positions", "materials", "depth", "verbs"]
"""What it takes to decide a question. The first three have formulas."""

COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray")
"""The colours that formulas ask for; every other attribute is a material or a pattern."""

_POSITIONS = {
    "to the left of": "LeftOf",
    "to the right of": "RightOf",
    "above": "Above",
    "on top of": "Above",
    "below": "Below",
    "under": "Below",
}
_DEPTH = ("in front of", "behind")
_HOW_MANY = re.compile(r"How many (?P<things>[\w -]+) are in the image\?")
_ANY = re.compile(r"Are there any (?P<things>[\w -]+) in the image\?")
_RELATED = re.compile(
    rf"(?:Is|Are) the (?P<first>[\w -]+?) (?P<how>{'|'.join((*_POSITIONS, *_DEPTH))}) the (?P<second>[\w -]+)\?"
)
_ATTRIBUTE = re.compile(r"(?:Is|Are) the (?P<things>[\w -]+) (?P<attribute>[\w-]+)\?")
_IRREGULAR = {"cookies": "cookie", "people": "person", "mice": "mouse", "knives": "knife", "bus": "bus", "buses": "bus"}
_HAVE_FORMULAS: tuple[DecidedBy, ...] = get_args(DecidedBy)[:3]


def evidence_needed(question: GraphQuestion) -> DecidedBy:
    """Return the information needed to decide a question, defaulting to "verbs" if it is not understood."""
    if question.expected in COUNT_WORDS or _ANY.fullmatch(question.question):
        return "boxes"
    if match := _RELATED.fullmatch(question.question):
        return "depth" if match["how"] in _DEPTH else "positions"
    match = _ATTRIBUTE.fullmatch(question.question)
    if match and question.category == "attribute":
        return "colors" if match["attribute"].lower() in COLORS else "materials"
    return "verbs"


def question_formula(question: GraphQuestion) -> Formula | None:
    """Return a formula equivalent to the expected answer, or None if boxes cannot decide the question.

    A number is exact. A colour or a position must hold for all things of the class, and there must be some.
    """
    text = question.question
    if question.expected in COUNT_WORDS and (match := _HOW_MANY.fullmatch(text)):
        number = COUNT_WORDS.index(question.expected)
        return parse(f"(exactly {number} ?x (Is ?x '{find_singular(match['things'])}'))")
    if question.expected != "yes" or evidence_needed(question) not in _HAVE_FORMULAS:
        return None
    if match := _ANY.fullmatch(text):
        return parse(f"(exists ?x (Is ?x '{find_singular(match['things'])}'))")
    if match := _RELATED.fullmatch(text):
        first, second = (
            f"(Is ?{name} '{find_singular(match[group])}')"
            for name, group in zip("xy", ("first", "second"), strict=True)
        )
        # One condition after the other: a strict forall needs something that its own condition is about.
        of_all = f"(forall ?y (implies {second} ({_POSITIONS[match['how']]} ?x ?y)))"
        for_all = f"(forall ?x (implies {first} {of_all}))"
        return parse(f"(and (exists ?x {first}) (exists ?y {second}) {for_all})")
    if match := _ATTRIBUTE.fullmatch(text):
        thing = f"(Is ?x '{find_singular(match['things'])}')"
        for_all = f"(forall ?x (implies {thing} (Has ?x '{match['attribute'].lower()}')))"
        return parse(f"(and (exists ?x {thing}) {for_all})")
    return None


def question_classes(questions: Iterable[GraphQuestion]) -> tuple[str, ...]:
    """Return the distinct classes in the formulas of the questions, for use by a grounder."""
    return tuple(
        dict.fromkeys(label for question in questions for label in _formula_classes(question_formula(question)))
    )


def _formula_classes(formula: Formula | None) -> tuple[str, ...]:
    stated = (atom.arguments[1] for atom in atoms(formula) if atom.predicate == "Is") if formula else ()
    return tuple(str(word.text) for word in stated if isinstance(word, Value))


def is_decidable(item: Item[QuestionSpec]) -> bool:
    """Return whether boxes and colours decide every question of an item."""
    return bool(item.spec.questions) and None not in map(question_formula, item.spec.questions)


class ComparedAnswer(NamedTuple):
    """The answers of logic and a judge to a question, each None if undecided."""

    question: GraphQuestion  # the question
    by_logic: bool | None  # whether its formula holds in the scene
    by_judge: bool | None  # whether the judge gave the expected answer

    @property
    def agree(self) -> bool | None:
        """Whether both answers agree; None if either is undecided."""
        return None if self.by_logic is None or self.by_judge is None else self.by_logic == self.by_judge


def compare_answers(
    item: Item[QuestionSpec], scene: World, judged: Mapping[str, bool] | None = None, unknown: Collection[str] = ()
) -> tuple[ComparedAnswer, ...]:
    """Answer the questions of an item by logic and pair them with a judge's answers.

    Args:
        item: the item.
        scene: what a grounder found in the image.
        judged: whether the judge gave the expected answer, by the words of each question.
        unknown: classes that the grounder cannot look for; questions about them are not decided.
    """
    compared = []
    for question in item.spec.questions:
        formula = question_formula(question)
        if formula is not None and not set(unknown).isdisjoint(_formula_classes(formula)):
            formula = None
        by_logic = None if formula is None else bool(verify(formula, scene))
        compared.append(ComparedAnswer(question, by_logic, (judged or {}).get(question.question)))
    return tuple(compared)


def find_singular(things: str) -> str:
    """Return the singular of a noun, such as `cherry` for `cherries`; singular nouns are unchanged."""
    word = things.strip().lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, instead in (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x")):
        if word.endswith(ending):
            return word.removesuffix(ending) + instead
    return word if word.endswith("ss") else word.removesuffix("s")
