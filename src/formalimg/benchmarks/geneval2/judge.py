"""The GenEval 2 judge (Soft-TIFA): one-word answers, scored by the probability of the expected answer.

A detector answers those questions that become formulas: counts, presence, colours and positions in the plane.
Materials and patterns, depth (in front of, behind) and verbs have no formula.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from formalimg.benchmarks.questions.spec import COUNT_WORDS, GraphQuestion, QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.factory import DETECTORS, open_grounder, require_chat
from formalimg.judges.question_judge import WordJudge, open_word_chat
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Formula, Value, atoms
from formalimg.logic.verification import verify
from formalimg.logic.world import World
from formalimg.scenes.objects import SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, Grounder, Item, Judge, Setting, Unscored, Verdict

if TYPE_CHECKING:
    from formalimg.judges.recorded_judge import RecordedModels


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

    Numbers are exact. A colour or a position must hold for every object of the class, and there must be one.
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


_BOX_RULES = 1  # The version of the rules from boxes to answers: raise it whenever one may come out differently


class PublishedWordJudge(WordJudge):
    """Judge that asks a chat model each question separately, for a one-word answer.

    Evidence is that of `WordJudge`; with a grounder also the `scene` that it found, and `by_boxes`: its name, its
    `answers` (None where boxes cannot decide), and why there is no scene (`unscored`).
    """

    prompt_folder = Path(__file__).parent / "prompts"
    prompt = "published-word-judge"

    def __init__(
        self, chat: ChatModel, prompts: Path | None = None, grounder: Grounder | None = None, *, pixels: bool = False
    ) -> None:
        """Initialize the judge with a chat model and an optional grounder."""
        options: dict[str, Setting] = {}
        if grounder is not None:
            options = {f"grounder_{key}": value for key, value in grounder.settings.items()}
            options |= {"grounder": grounder.name, "grounder_pixel_colors": pixels, "box_rules": _BOX_RULES}
        super().__init__(chat, prompts, options)
        self._grounder = grounder
        self._pixels = pixels

    @property
    def concurrency(self) -> int:
        """The number of images that both the chat model and the grounder process concurrently."""
        limit = super().concurrency
        return limit if self._grounder is None else min(limit, self._grounder.concurrency)

    def questions(self, item: Item[object]) -> int:
        """Return how many requests are sent per image of this item."""
        if not isinstance(item.spec, QuestionSpec):
            return 0
        of_classes = getattr(self._grounder, "questions", lambda classes: 0)
        return super().questions(item) + int(of_classes(question_classes(item.spec.questions)))

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Judge the image by the probability of the expected answer to each question."""
        verdict = await super().judge(item, image)
        if self._grounder is None or isinstance(verdict, Unscored) or not isinstance(item.spec, QuestionSpec):
            return verdict
        evidence_by_boxes, cost = await self._answer_by_boxes(self._grounder, item, item.spec, image)
        answers = evidence_by_boxes["by_boxes"]["answers"]
        by_boxes = {True: "; by boxes it is so", False: "; by boxes it is not so", None: ""}
        parts = tuple(
            replace(part, reason=part.reason + by_boxes[answer])
            for part, answer in zip(verdict.parts, answers, strict=True)
        )
        evidence = {**verdict.evidence, **evidence_by_boxes}
        return replace(verdict, parts=parts, evidence=evidence, cost=total_cost((verdict.cost, cost)))

    async def _answer_by_boxes(
        self, grounder: Grounder, item: Item[object], spec: QuestionSpec, image: LoadedImage
    ) -> tuple[dict[str, Any], float | None]:
        """Answer the questions by boxes and logic, and return the evidence and the cost."""
        classes = question_classes(spec.questions)
        unknown = tuple(getattr(grounder, "unknown_classes", lambda words: ())(classes))
        undecided: list[bool | None] = [None] * len(spec.questions)
        result: dict[str, object] = {"grounder": grounder.name, "answers": undecided}
        searched = [label for label in classes if label not in unknown]
        if not searched:
            return {"by_boxes": result}, 0.0
        grounding = await grounder.ground(image, searched)
        if isinstance(grounding, Unscored):
            return {"by_boxes": {**result, "unscored": grounding.detail or grounding.reason}}, grounding.cost
        scene = grounding.scene
        if self._pixels:
            from formalimg.judges.grounders.colors import color_in

            objects = [SceneObject(obj.label, obj.box, color_in(image.pil, obj.box).name) for obj in scene.objects]
            scene = Scene.of(objects)
        question_item = cast("Item[QuestionSpec]", item)
        result["answers"] = [compared.by_logic for compared in compare_answers(question_item, scene, unknown=unknown)]
        return {"scene": scene.to_json(), "by_boxes": result}, grounding.cost


def open_judge(suite: str, name: str | None, options: Mapping[str, str]) -> Judge:
    """Open the one-word judge, which is the same under every protocol."""
    name = require_chat(suite, name, "and cannot answer questions")
    chat, judge_options = open_word_chat(suite, name, options, ("prompts", "grounder"))
    finder = judge_options.pop("grounder", None)
    if finder is not None:
        judge_options |= {"grounder": open_grounder(finder), "pixels": finder.startswith(DETECTORS)}
    return PublishedWordJudge(chat, **judge_options)


def reopen_judge(recorded: RecordedModels) -> Judge:
    """Reopen a judge from recorded settings and answers."""
    if "protocol" not in recorded.settings:
        raise FormalimgError("it is asked as published")
    return PublishedWordJudge(recorded.chat)
