"""Pre-flight of a judge: ask it about drawings whose content is known, and find out whether its answers can be used.

One drawing is enough for a judge that answers well. Where the answer is wrong, a second, different drawing tells a
judge that sees little from one that does not see at all. Answers are checked by pure functions; `check_judge` asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.judges.base import DECLINED
from formalimg.judges.chat_judge import total_cost
from formalimg.judges.factory import DETECTORS
from formalimg.judges.grounders.boxes import BoxConvention, box_convention, box_conventions
from formalimg.judges.iou import overlap
from formalimg.judges.known_drawings import SIZE, KnownDrawing
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene
from formalimg.types import Judge, Unscored, Verdict

_SAME_PLACE = 0.5
"""A box that overlaps the true one by so much (intersection over union) is in the right place."""
_NEAR = 0.06
"""Numbers that differ by no more than this share of their range are the same numbers."""

_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_FOUR_NUMBERS = re.compile(rf"\[{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]")

_READABLE = (
    "let the server answer in JSON (-J schema=none sends the form as text, -J max_tokens=… allows longer answers)"
)
_ANOTHER = "name another judge with --judge"


@dataclass(frozen=True)
class PreflightResult:
    """What a pre-flight found."""

    problem: str = ""  # why the judge cannot be used: what was asked, what came, and what to do; empty if it can be
    warning: str = ""  # what it got wrong although it can be used; empty if nothing
    cost: float | None = 0.0  # what the questions cost in US dollars; None if the price is unknown
    drawings: int = 0  # how many drawings it was shown


@dataclass(frozen=True)
class _Finding:
    """What an answer says: `said`, comparable with another answer; `text` in words; `problem` if it is of no use."""

    right: bool
    said: tuple[object, ...]
    text: str
    problem: str = ""


def needs_preflight(judge: Judge, suite: str) -> bool:
    """Return whether a judge costs or can fail: it asks a chat model, or runs a detector or a text reader.

    Judges built from a Python function or class are their author's to test.
    """
    questions, is_detector = getattr(judge, "questions", None), judge.name.startswith(DETECTORS)
    reads_text = getattr(judge, "reads_text", False)
    if questions is None and not is_detector and not reads_text:
        return False
    drawings = suite_of(suite).preflight_drawings(judge)
    if drawings is None:
        return False
    if reads_text:
        return True
    item = drawings[0].item
    if is_detector:  # one with classes of its own may know nothing of what is drawn
        return not getattr(judge, "unknown_classes", lambda item: ())(item)
    return questions is not None and questions(item) > 0


async def check_judge(judge: Judge, suite: str) -> PreflightResult:
    """Ask a judge about one known drawing, and about another one if its answer is wrong."""
    is_detector = judge.name.startswith(DETECTORS)
    findings: list[_Finding] = []
    costs: list[float | None] = []
    for drawing in suite_of(suite).preflight_drawings(judge) or ():
        answer = await judge.judge(drawing.item, drawing.image())
        costs.append(answer.cost)
        is_enough = isinstance(answer, Verdict) and (drawing.any_verdict or (is_detector and not drawing.text))
        finding = _Finding(True, (), "") if is_enough else find(judge, drawing, answer)
        findings.append(finding)
        shown = f"shown a drawing of {drawing.shows} and asked {drawing.asked}, {judge.name} {finding.text}"
        spent = total_cost(costs)
        if finding.problem:
            return PreflightResult(f"{shown}: {finding.problem}", cost=spent, drawings=len(findings))
        if finding.right and len(findings) == 1:
            return PreflightResult(cost=spent, drawings=1)
    first, second = findings
    if first.said == second.said:
        problem = (
            f"asked {drawing.asked}, {judge.name} says the same of two drawings that differ (it {first.text}): it does "
            f"not see the images; use a model that takes images, and check that the server passes them on"
        )
        return PreflightResult(problem, cost=spent, drawings=2)
    warning = f"{judge.name} erred on a simple drawing: asked {drawing.asked}, it {first.text}; expect poor verdicts"
    return PreflightResult(warning=warning, cost=spent, drawings=2)


def find(judge: Judge, drawing: KnownDrawing, answer: Verdict | Unscored) -> _Finding:
    """Return what an answer says about a known drawing."""
    dropped = _dropped(answer.evidence)
    if dropped and not _boxes(answer):
        labels = ", ".join(sorted({f'"{truncate(str(one.get("label")), 40, 10)}"' for one in dropped}))
        problem = (
            "it must repeat the label it is asked for; tell it so in a prompt of your own (-J prompts=…), or "
            + _ANOTHER
        )
        return _Finding(False, (), f"answered with other labels: {labels}", problem)
    if isinstance(answer, Unscored):
        return _unusable(judge, drawing, answer)
    if drawing.text:
        return _read_text(drawing, answer)
    if drawing.answers:
        said = tuple(part.score >= 0.5 for part in answer.parts)
        text = f"says {', '.join('yes' if yes else 'no' for yes in said) or 'nothing'}"
        return _Finding(said == drawing.answers, said, text)
    boxes = _boxes(answer)
    if any(overlap(box, drawing.box) >= _SAME_PLACE for box in boxes):
        return _Finding(True, tuple(boxes), "found it")
    if (other := _other_way(judge, drawing, answer)) is not None:
        return other
    text = f"found it at {_list_box(boxes[0])}, not at {_list_box(drawing.box)}" if boxes else "found nothing"
    return _Finding(False, tuple(boxes), text)


def _read_text(drawing: KnownDrawing, answer: Verdict) -> _Finding:
    """Return the finding of a text reader, which is to read the drawing without an error."""
    said = tuple(part.score == 1 for part in answer.parts)
    text = answer.parts[0].reason
    return _Finding(
        said == drawing.answers, said, text, "" if said == drawing.answers else f"install it again, or {_ANOTHER}"
    )


def other_convention(asked: BoxConvention, true: Box, written: Sequence[Sequence[float]]) -> tuple[str, str] | None:
    """Return in which other way than asked for the true box was written, and what to do; None if in none we know."""
    for convention in box_conventions():
        span = convention.span or SIZE
        numbers = convention.write(true, SIZE, SIZE)
        across, down = (true.xmax - true.xmin) * span / 1000, (true.ymax - true.ymin) * span / 1000
        for box in written:
            if convention.name != asked.name and _is_near(box, numbers, span):
                return (
                    f"wrote the box {_list_box(box)} in {convention.name}, but was asked for {asked.name}",
                    f"give the judge the option -J boxes={convention.name}",
                )
            if convention.order[0] == "xmin" and _is_near(box, (*numbers[:2], across, down), span):
                return (
                    f"wrote the box {_list_box(box)} as x, y, width, height, but was asked for {asked.name}",
                    "formalimg reads corners only; ask for them in a prompt of your own (-J prompts=…), or " + _ANOTHER,
                )
    return None


def _is_near(box: Sequence[float], numbers: Sequence[float], span: float) -> bool:
    return all(abs(one - other) <= _NEAR * span for one, other in zip(box, numbers, strict=True))


def _other_way(judge: Judge, drawing: KnownDrawing, answer: Verdict | Unscored) -> _Finding | None:
    """Return the finding of an answer whose boxes are written in another way than asked for; None if they are not."""
    asked = judge.settings.get("boxes")
    if not isinstance(asked, str):  # no boxes, or as published, where the way is part of the protocol
        return None
    other = other_convention(box_convention(judge.name, asked), drawing.box, _numbers(answer.evidence))
    return None if other is None else _Finding(False, (), *other)


def _unusable(judge: Judge, drawing: KnownDrawing, answer: Unscored) -> _Finding:
    """Return the finding of an answer without a verdict: what came, and what to do about it."""
    # The judge names itself in the middle of its message, after what it was asked for.
    came = truncate(" ".join(answer.detail.rpartition(f"{judge.name} ")[2].split()), 200, 60) or answer.reason
    if (other := _other_way(judge, drawing, answer)) is not None:
        return other
    if judge.name.startswith(DETECTORS):
        advice = _ANOTHER
    elif answer.reason == "not understood":
        boxes = _numbers(answer.evidence)
        advice = "give its way of writing boxes with -J boxes=…, or " + _ANOTHER if boxes else _READABLE
    elif DECLINED in came:
        advice = _ANOTHER
    elif "busy: " in came:
        advice = "wait, or lower -J concurrency"
    elif "unavailable: the connection" in came:
        advice = "start the server, or correct -J base_url"
    elif "unavailable: " in came:
        advice = "look into the log of the server, or try again later"
    else:
        advice = "check -J base_url and the name of the model, or " + _ANOTHER
    return _Finding(False, (), came.rstrip("."), advice)


def _boxes(answer: Verdict | Unscored) -> list[Box]:
    """Return the boxes that a scene judge accepted."""
    scene = answer.evidence.get("scene")
    return [obj.box for obj in Scene.from_json(scene).objects] if isinstance(scene, Mapping) else []


def _dropped(evidence: Mapping[str, object]) -> list[Mapping[str, Any]]:
    """Return the entries that a grounder dropped, because their labels are none that it was asked for."""
    grounder = evidence.get("grounder")
    found = (grounder if isinstance(grounder, Mapping) else evidence).get("dropped")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _numbers(evidence: Mapping[str, object]) -> list[tuple[float, ...]]:
    """Return all boxes in the answers of a model, as it wrote them."""
    return [
        tuple(map(float, found.groups())) for text in _raw_texts(evidence) for found in _FOUR_NUMBERS.finditer(text)
    ]


def _raw_texts(evidence: Mapping[str, object]) -> Iterator[str]:
    grounder = evidence.get("grounder")
    answers = (grounder if isinstance(grounder, Mapping) else evidence).get("answers")
    for entry in answers if isinstance(answers, list) else []:
        raw = entry.get("raw") if isinstance(entry, Mapping) else entry
        yield from (text for text in (raw if isinstance(raw, list) else [raw]) if isinstance(text, str))


def _list_box(numbers: Sequence[float]) -> str:
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"
