"""Measurement of judges on rendered scenes, with and without a flipped part, and under nuisances.

Calls count against a budget, and stop if the measured judge or grounder keeps failing.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, TypeVar

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.icon_scene import draw
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError, OverBudgetError
from formalimg.judges.base import Grounding, load_image
from formalimg.judges.certificates.certificate import AnswerCounts, InvarianceCounts, JudgeCertificate
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes, suite_groups
from formalimg.judges.certificates.scene_changes import NUISANCES, TEXT
from formalimg.judges.factory import DRAWN
from formalimg.judges.observations import list_served_models
from formalimg.models.pricing import Spending, advise_on_unknown_cost, open_meter
from formalimg.types import Concurrent, Grounder, Judge, Unscored, Verdict

SCENES = 200  # The number of items by default: ten flips or so of each kind and predicate, 24 of colours
SIZE = 512  # Width and height of the drawings, in pixels: few tokens, and people name what is drawn at this size
SHOWN, FLIPPED = "as asked for", "one part flipped"  # The names of the two drawings of an item
MAX_FAILURES = 20  # After so many failures in a row certification ends: what does not answer cannot be measured
# Groups by the smaller side of the smallest object, in thousandths of the image, and by the number of objects
_SIDES, _SIZES = (60, 120), ("under 60", "60 to 119", "120 and more")
_NUMBERS, _OBJECTS = (3, 6, 11), ("1 to 2", "3 to 5", "6 to 10", "11 and more")

_Answer = TypeVar("_Answer", bound=Grounding | Verdict | Unscored)
_Input = TypeVar("_Input")
_Result = TypeVar("_Result")


class DrawingAnswer(NamedTuple):
    """A judge's answer about the flipped part and the whole image, with None for unscored."""

    part: bool | None
    passed: bool | None


class View(NamedTuple):
    """An image of an item to be judged: the name of the drawing or nuisance, the base drawing and its scene."""

    name: str
    base: str
    drawn: DrawnScene


@dataclass
class ExampleAnswers:
    """A judge's answers about all images of one item."""

    example: FlippedScene
    answers: dict[str, DrawingAnswer] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    served: dict[str, None] = field(default_factory=dict)

    def record(self, view: View, answer: Verdict | Unscored) -> None:
        """Record the judge's answer about an image of the item."""
        self.answers[view.name] = read_answer(answer, self.example.part.name)
        self.served.update(dict.fromkeys(list_served_models(answer)))
        if view.name in NUISANCES:
            self.changed[view.name] = view.base
        elif isinstance(answer, Unscored):
            self.unscored[answer.reason] += 1


def certify_judge(
    judge: Judge,
    suite: str,
    scenes: int = SCENES,
    seed: int = 7,
    *,
    examples: Sequence[FlippedScene] | None = None,
    protocol: str = "default",
    made_with: str = "",
    spending: Spending | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> JudgeCertificate:
    """Measure a judge's accuracy on rendered scenes of a suite that has a drawn world.

    Args:
        judge: the judge to measure, as `open_judge` returns it for the suite.
        suite: the suite.
        scenes: the number of items; each is drawn correctly, with one part flipped, and with every nuisance.
        seed: determines which items are drawn and which parts are flipped.
        examples: the items with their scenes, if `flipped_scenes` has returned them before.
        protocol: how the judge was opened, for the record.
        made_with: the version of formalimg, for the record.
        spending: counts what the judge costs, and may have a budget.
        on_progress: called after each drawing with the number of drawings judged so far.

    Raises:
        OverBudgetError: if the budget is used up before all drawings are looked at.
        FormalimgError: if the suite has no drawn world, or the judge does not look at images.
    """
    refuse_to_certify(judge, scenes)
    calls = MeteredCalls(judge, spending or Spending(), on_progress)
    numbered = enumerate(flipped_scenes(suite, scenes, seed, judge) if examples is None else examples)
    answers = run_sync(
        lambda: map_concurrently(lambda pair: _ask_example(judge, calls, *pair), numbered, max(1, judge.concurrency))
    )
    return replace(build_certificate(judge, suite, seed, answers), protocol=protocol, made_with=made_with)


def build_certificate(judge: Concurrent, suite: str, seed: int, answers: Sequence[ExampleAnswers]) -> JudgeCertificate:
    """Build a judge's certificate from its answers, including the findings."""
    counted = JudgeCertificate(
        judge.name,
        suite,
        len(answers),
        seed,
        sum(len(example.answers) for example in answers),
        dict(sum((example.unscored for example in answers), Counter()).most_common()),
        count_answers(suite, answers),
        count_nuisances(answers),
        settings=dict(judge.settings),
        served=tuple(dict.fromkeys(name for example in answers for name in example.served)),
        date=utc_now(),
    )
    return replace(counted, findings=find_faults(counted))


def refuse_to_certify(judge: Judge, scenes: int) -> None:
    """Raise an error if rendered images cannot measure the judge, or `scenes` is less than 1."""
    if judge.name == DRAWN:
        raise FormalimgError(
            f"{DRAWN} reads the scenes embedded in drawings and cannot be measured by them: name another judge"
        )
    if scenes < 1:
        raise FormalimgError("certification needs one scene at least: give --scenes 1 or more")


def utc_now() -> str:
    """Return the current UTC time as a string such as `2026-01-31T10:00:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def images_of(scenes: int) -> int:
    """Return the maximum number of images passed to the judge."""
    return scenes * (2 + len(NUISANCES))


def draw_example(suite: str, drawn: DrawnScene) -> Image.Image:
    """Render a scene in the suite's style, without embedding the scene data in the image."""
    return draw_scene(drawn, SIZE) if get_suite(suite).world == "drawn" else draw(drawn.scene, SIZE)


def choose_drawing(nuisance: str, number: int) -> str:
    """Return the name of the drawing to change: text that asks for a yes is put into flipped ones only."""
    return FLIPPED if nuisance == TEXT or number % 2 else SHOWN


def read_answer(answer: Verdict | Unscored, part: str) -> DrawingAnswer:
    """Extract the answers about a part and about the whole image from a verdict."""
    if isinstance(answer, Unscored):
        return DrawingAnswer(None, None)
    holds = next((judged.score >= 0.5 for judged in answer.parts if judged.name == part), None)
    return DrawingAnswer(holds, answer.passed)


def plan_views(example: FlippedScene, number: int) -> Iterator[View]:
    """Yield the images of an item to be judged, omitting nuisances that would alter the truth of its scene."""
    scenes = {SHOWN: example.shown, FLIPPED: example.flipped}
    for name, drawn in scenes.items():
        yield View(name, name, drawn)
    for name in NUISANCES:
        base = choose_drawing(name, number)
        moves = NUISANCES[name].move is not None
        if not moves or name in (example.nuisances_of_shown if base == SHOWN else example.nuisances_of_flipped):
            yield View(name, base, scenes[base])


async def _ask_example(judge: Judge, calls: MeteredCalls, number: int, example: FlippedScene) -> ExampleAnswers:
    result = ExampleAnswers(example)
    item = example.item
    drawings: dict[str, Image.Image] = {}
    for view in plan_views(example, number):
        image: Image.Image | None
        if view.name in NUISANCES:
            image = await asyncio.to_thread(NUISANCES[view.name].change, drawings[view.base], view.drawn)
        else:
            image = drawings[view.name] = await asyncio.to_thread(draw_example, item.suite, view.drawn)
        if image is not None:
            loaded = await asyncio.to_thread(load_image, image)
            result.record(view, await calls.answer(partial(judge.judge, item, loaded)))
    return result


# --- calls


class MeteredCalls:
    """A wrapper for calls to a judge or grounder that enforces a budget and reports progress."""

    def __init__(self, party: Grounder | Judge, spending: Spending, on_progress: Callable[[int], None]) -> None:
        self._party, self._spending, self._on_progress = party, spending, on_progress
        self._done = self._failures = 0

    async def answer(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Make a call and return its answer, or raise an error if the budget is exceeded or calls keep failing."""
        answer: _Answer | None = None
        if self._spending.may_spend:
            with open_meter(self._spending, finish=True) as meter:
                answer = await ask()
                _, unpriced = meter.settle(answer.cost or 0.0, int(answer.cost is None))
            if unpriced and self._spending.budget is not None:
                raise FormalimgError(advise_on_unknown_cost(self._party, per_image=False))
        if answer is None or meter.blocked:
            raise OverBudgetError(
                f"the budget of ${self._spending.budget:.2f} is used up after {self._done} images: repeat the command "
                "with a larger budget; answers so far come from the cache"
            )
        has_failed = isinstance(answer, Unscored) and answer.reason == "judge failed"
        self._failures = self._failures + 1 if has_failed else 0
        if isinstance(answer, Unscored) and self._failures >= MAX_FAILURES:
            raise FormalimgError(
                f"{self._party.name} failed {self._failures} times in a row; last error: "
                f"{truncate(answer.detail, 300, 60)}: fix the cause and rerun the command; answers so far come "
                "from the cache"
            )
        self._done += 1
        self._on_progress(self._done)
        return answer


async def map_concurrently(
    work: Callable[[_Input], Awaitable[_Result]], values: Iterable[_Input], concurrency: int
) -> list[_Result]:
    """Apply an async function to all values, with at most `concurrency` calls in progress."""
    results: dict[int, _Result] = {}
    numbered = iter(enumerate(values))

    async def worker() -> None:
        for number, value in numbered:
            results[number] = await work(value)

    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return [results[number] for number in sorted(results)]


# --- counting


def count_answers(suite: str, answers: Sequence[ExampleAnswers]) -> tuple[AnswerCounts, ...]:
    """Count the answers about whole images and about one flipped part of each item, grouped by each dimension."""
    ranks = {kind: rank for rank, kind in enumerate(get_suite(suite).part_kinds)}
    dimensions: dict[str, tuple[Callable[[FlippedScene], str], Callable[[str], object]]] = {
        "clause": (lambda example: "", str),
        "kind": (lambda example: example.part.kind, lambda value: ranks.get(value, len(ranks))),
        "word": (lambda example: example.word, str),
        "level": (lambda example: str(example.item.level), int),
        "size": (lambda example: _SIZES[bisect_right(_SIDES, example.smallest_side)], _SIZES.index),
        "objects": (lambda example: _OBJECTS[bisect_right(_NUMBERS, len(example.shown.scene))], _OBJECTS.index),
    }

    def count(by: str, value: str, rows: Sequence[tuple[DrawingAnswer, DrawingAnswer]]) -> AnswerCounts:
        about = DrawingAnswer._fields.index("passed" if by == "image" else "part")
        of_true, of_false = ([row[side][about] for row in rows if row[side][about] is not None] for side in (0, 1))
        return AnswerCounts(by, value, len(of_true), of_true.count(True), len(of_false), of_false.count(False))

    counts = [count("image", "", [(row.answers[SHOWN], row.answers[FLIPPED]) for row in answers])]
    for by, (value_of, order) in dimensions.items():
        groups: dict[str, list[tuple[DrawingAnswer, DrawingAnswer]]] = {
            group.value: [] for group in suite_groups(suite) if group.by == by
        }
        for row in answers:
            groups.setdefault(value_of(row.example), []).append((row.answers[SHOWN], row.answers[FLIPPED]))
        counts += [count(by, value, groups[value]) for value in sorted(groups, key=order)]  # type: ignore[arg-type]
    return tuple(counts)


def count_nuisances(answers: Sequence[ExampleAnswers]) -> tuple[InvarianceCounts, ...]:
    """Count the changed answers for each nuisance, about whole images and about flipped parts."""
    counts = []
    for name in NUISANCES:
        changes = [(row.answers[row.changed[name]], row.answers[name]) for row in answers if name in row.changed]
        for subject, about in (("image", 1), ("clause", 0)):
            pairs = [(before[about], after[about]) for before, after in changes if before[about] is not None]
            to_yes, to_no = pairs.count((False, True)), pairs.count((True, False))
            unscored = sum(after is None for _, after in pairs)
            counts.append(InvarianceCounts(name, subject, len(pairs), to_yes, to_no, unscored))
    return tuple(counts)
