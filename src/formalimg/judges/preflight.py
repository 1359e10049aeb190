"""Pre-flight checks, which test a judge on simple drawings with known content.

One drawing is enough for a judge that answers well. Where the answer is wrong, a second, different drawing tells a
judge that sees little from one that does not see at all. Answers are checked by pure functions; `check_judge` asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import ImageDraw, ImageFont

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import QuestionSpec, text_questions
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.icon_scene import draw
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.base import DECLINED, LoadedImage, load_uncached
from formalimg.judges.boxes import BoxConvention, box_convention, box_conventions, box_overlap
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.factory import DETECTORS
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Judge, Unscored, Verdict

SIZE = 448
"""Width and height of drawings: few tokens, a size that no service changes, and far from the 1000 of some boxes."""

BOTTLE, FORK = "bottle", "fork"
RED_BOTTLE, BOTTLE_AND_FORK = "There is a red bottle.", "There is a bottle, and there is a fork."
"""What is asked for: classes that all suites have, and prompts."""

# The boxes lie so that no two ways of writing them down have similar numbers.
_BOTTLE_SCENE = Scene.of([SceneObject(BOTTLE, Box(100, 300, 300, 860), "red")])
_OTHER_BOTTLE_SCENE = Scene.of([SceneObject(BOTTLE, Box(620, 60, 780, 500), "red")])
_FORK_SCENE = Scene.of([SceneObject(FORK, Box(560, 120, 720, 800), "green")])

_SAME_PLACE = 0.5  # A box that overlaps the true one by so much (intersection over union) is in the right place
_NEAR = 0.06  # Numbers that differ by no more than this share of their range are the same numbers
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_FOUR_NUMBERS = re.compile(rf"\[{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]")

_READABLE = (
    "let the server answer in JSON (-J schema=none sends the form as text, -J max_tokens=… allows longer answers)"
)
_ANOTHER = "name another judge with --judge"
_ADVICE = {
    DECLINED: _ANOTHER,
    "busy: ": "wait, or lower -J concurrency",
    "unavailable: the connection": "start the server, or correct -J base_url",
    "unavailable: ": "look into the log of the server, or try again later",
}
"""What to do about failures, by what their messages say; the first that fits."""


# --- drawings


@dataclass(frozen=True)
class KnownDrawing:
    """A drawing with known content, a question about it and the correct answers."""

    shows: str  # what the drawing shows, in words
    asked: str  # what the judge is asked, in words
    item: Item[object]  # the question, as an item of the suite
    scene: Scene  # what the drawing shows
    answers: tuple[bool, ...] = ()  # the right answer to each question; empty where there are no yes/no questions
    any_verdict: bool = False  # whether any verdict will do, as where a score is a matter of taste
    text: str = ""  # the text that it shows in place of a scene

    @property
    def box(self) -> Box:
        """The box of the drawing's first object."""
        return self.scene.objects[0].box

    def image(self) -> LoadedImage:
        """Render the drawing without embedded scene data, with a few changed pixels to avoid cached answers."""
        is_drawn = get_suite(self.item.suite).world == "drawn"
        drawing = draw_scene(DrawnScene(self.scene), SIZE) if is_drawn else draw(self.scene, SIZE)
        if self.text:
            pen = ImageDraw.Draw(drawing)
            pen.text((SIZE / 2, SIZE / 2), self.text, "black", ImageFont.load_default(SIZE / 7), anchor="mm")
        return load_uncached(drawing)


def two_places(item: Item[object]) -> tuple[KnownDrawing, KnownDrawing]:
    """Return two drawings of a bottle at different positions."""
    question = "where the bottle is"
    return (
        KnownDrawing("a red bottle at the lower left", question, item, _BOTTLE_SCENE),
        KnownDrawing("a red bottle at the upper right", question, item, _OTHER_BOTTLE_SCENE),
    )


def two_texts(suite: str) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of the requested text and one of another text, for testing text readers."""
    right, wrong = "Cafe 24", "BOOK SHOP"
    item = Item(suite, "preflight", 1, f"A sign that says '{right}'.", QuestionSpec(text_questions((right,))))
    question, nothing = f"for the text {right}", Scene.of([])
    return (
        KnownDrawing(f"the text {right}", question, item, nothing, (True,), text=right),
        KnownDrawing(f"the text {wrong}", question, item, nothing, (False,), text=wrong),
    )


def two_things(
    item: Item[object],
    asked: str,
    of_bottle: tuple[bool, ...] = (),
    of_fork: tuple[bool, ...] = (),
    *,
    any_verdict: bool = False,
) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of a bottle and one of a fork."""
    return (
        KnownDrawing("a red bottle", asked, item, _BOTTLE_SCENE, of_bottle, any_verdict),
        KnownDrawing("a green fork", asked, item, _FORK_SCENE, of_fork, any_verdict),
    )


def bottle_and_fork(item: Item[object]) -> tuple[KnownDrawing, KnownDrawing]:
    """Return a drawing of a bottle and one of a fork, for an item that asks about both in this order."""
    question = "whether there is a bottle, and whether there is a fork"
    return two_things(item, question, (True, False), (False, True))


# --- checks


@dataclass(frozen=True)
class PreflightResult:
    """The result of a pre-flight check."""

    problem: str = ""  # why the judge cannot be used: what was asked, what came, and what to do; empty if it can be
    warning: str = ""  # what it got wrong although it can be used; empty if nothing
    cost: float | None = 0.0  # what the questions cost in US dollars; None if the price is unknown
    drawings: int = 0  # how many drawings it was shown


class _Finding(NamedTuple):
    """The evaluation of a judge's answer about a known drawing."""

    right: bool
    answer: tuple[object, ...]  # what it says, comparable with another answer
    text: str  # the same in words
    problem: str = ""  # why it is of no use, and what to do


def needs_preflight(judge: Judge, suite: str) -> bool:
    """Return whether a judge needs a pre-flight check, because it calls a chat model, detector or text reader."""
    questions, is_detector = getattr(judge, "questions", None), judge.name.startswith(DETECTORS)
    reads_text = getattr(judge, "reads_text", False)
    if questions is None and not is_detector and not reads_text:
        return False
    drawings = get_suite(suite).preflight_drawings(judge)
    if drawings is None:
        return False
    if reads_text:
        return True
    item = drawings[0].item
    if is_detector:  # one with classes of its own may know nothing of what is drawn
        return not getattr(judge, "unknown_classes", lambda item: ())(item)
    return questions is not None and questions(item) > 0


async def check_judge(judge: Judge, suite: str) -> PreflightResult:
    """Test a judge on a known drawing, and on a second one if its first answer is wrong."""
    is_detector = judge.name.startswith(DETECTORS)
    findings: list[_Finding] = []
    costs: list[float | None] = []
    for drawing in get_suite(suite).preflight_drawings(judge) or ():
        answer = await judge.judge(drawing.item, drawing.image())
        costs.append(answer.cost)
        is_enough = isinstance(answer, Verdict) and (drawing.any_verdict or (is_detector and not drawing.text))
        finding = _Finding(True, (), "") if is_enough else _check_answer(judge, drawing, answer)
        findings.append(finding)
        if finding.problem:
            prefix = f"shown a drawing of {drawing.shows} and asked {drawing.asked}, {judge.name} {finding.text}"
            return PreflightResult(f"{prefix}: {finding.problem}", cost=total_cost(costs), drawings=len(findings))
        if finding.right and len(findings) == 1:
            return PreflightResult(cost=total_cost(costs), drawings=1)
    first, second = findings
    if first.answer == second.answer:
        problem = (
            f"asked {drawing.asked}, {judge.name} says the same of two drawings that differ (it {first.text}): it does "
            f"not see the images; use a model that takes images, and check that the server passes them on"
        )
        return PreflightResult(problem, cost=total_cost(costs), drawings=2)
    warning = f"{judge.name} erred on a simple drawing: asked {drawing.asked}, it {first.text}; expect poor verdicts"
    return PreflightResult(warning=warning, cost=total_cost(costs), drawings=2)


def _check_answer(judge: Judge, drawing: KnownDrawing, answer: Verdict | Unscored) -> _Finding:
    scene = answer.evidence.get("scene")
    boxes = [obj.box for obj in Scene.from_json(scene).objects] if isinstance(scene, Mapping) else []
    dropped = [entry for entry in _grounder_list(answer, "dropped") if isinstance(entry, Mapping)]
    if dropped and not boxes:
        labels = ", ".join(sorted({f'"{truncate(str(entry.get("label")), 40, 10)}"' for entry in dropped}))
        advice = (
            f"it must repeat the label it is asked for; say so in a prompt of your own (-J prompts=…), or {_ANOTHER}"
        )
        return _Finding(False, (), f"answered with other labels: {labels}", advice)
    numbers = [
        tuple(map(float, match.groups()))
        for entry in _grounder_list(answer, "answers")
        for text in _raw_texts(entry)
        for match in _FOUR_NUMBERS.finditer(text)
    ]
    if isinstance(answer, Unscored):
        return _check_convention(judge, drawing, numbers) or _explain_unscored(judge, answer, has_boxes=bool(numbers))
    if drawing.answers:
        holds = tuple(part.score >= (1 if drawing.text else 0.5) for part in answer.parts)
        text, advice = f"says {', '.join('yes' if yes else 'no' for yes in holds) or 'nothing'}", ""
        if drawing.text:  # a text reader is to read it without an error
            text, advice = answer.parts[0].reason, f"install it again, or {_ANOTHER}"
        is_right = holds == drawing.answers
        return _Finding(is_right, holds, text, "" if is_right else advice)
    if any(box_overlap(box, drawing.box) >= _SAME_PLACE for box in boxes):
        return _Finding(True, tuple(boxes), "found it")
    text = f"found it at {_format_box(boxes[0])}, not at {_format_box(drawing.box)}" if boxes else "found nothing"
    return _check_convention(judge, drawing, numbers) or _Finding(False, tuple(boxes), text)


def _check_convention(judge: Judge, drawing: KnownDrawing, boxes: Sequence[Sequence[float]]) -> _Finding | None:
    option = judge.settings.get("boxes")
    if not isinstance(option, str):  # no boxes, or as published, where the way is part of the protocol
        return None
    mismatch = other_convention(box_convention(judge.name, option), drawing.box, boxes)
    return None if mismatch is None else _Finding(False, (), *mismatch)


def other_convention(requested: BoxConvention, true: Box, boxes: Sequence[Sequence[float]]) -> tuple[str, str] | None:
    """Return a problem and advice if a box matches the true box in another convention, else None."""
    for convention in box_conventions():
        span = convention.span or SIZE
        numbers = convention.write(true, SIZE, SIZE)
        sides = ((true.xmax - true.xmin) * span / 1000, (true.ymax - true.ymin) * span / 1000)
        for box in boxes:
            if convention.name != requested.name and _is_near(box, numbers, span):
                form, advice = f"in {convention.name}", f"give the judge the option -J boxes={convention.name}"
            elif convention.order[0] == "xmin" and _is_near(box, (*numbers[:2], *sides), span):
                form = "as x, y, width, height"
                advice = f"formalimg reads corners only; ask for them in your own prompt (-J prompts=…), or {_ANOTHER}"
            else:
                continue
            return f"wrote the box {_format_box(box)} {form}, but was asked for {requested.name}", advice
    return None


def _is_near(box: Sequence[float], numbers: Sequence[float], span: float) -> bool:
    return all(abs(edge - number) <= _NEAR * span for edge, number in zip(box, numbers, strict=True))


def _explain_unscored(judge: Judge, answer: Unscored, *, has_boxes: bool) -> _Finding:
    # The judge names itself in the middle of its message, after what it was asked for.
    message = truncate(" ".join(answer.detail.rpartition(f"{judge.name} ")[2].split()), 200, 60) or answer.reason
    if judge.name.startswith(DETECTORS):
        advice = _ANOTHER
    elif answer.reason == "not understood":
        advice = f"give its way of writing boxes with -J boxes=…, or {_ANOTHER}" if has_boxes else _READABLE
    else:
        default = f"check -J base_url and the name of the model, or {_ANOTHER}"
        advice = next((text for words, text in _ADVICE.items() if words in message), default)
    return _Finding(False, (), message.rstrip("."), advice)


def _grounder_list(answer: Verdict | Unscored, name: str) -> list[Any]:
    grounder = answer.evidence.get("grounder")
    entries = (grounder if isinstance(grounder, Mapping) else answer.evidence).get(name)
    return entries if isinstance(entries, list) else []


def _raw_texts(entry: object) -> list[str]:
    raw = entry.get("raw") if isinstance(entry, Mapping) else entry
    return [text for text in (raw if isinstance(raw, list) else [raw]) if isinstance(text, str)]


def _format_box(numbers: Sequence[float]) -> str:
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"
