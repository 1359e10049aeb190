"""Measure a judge: show it drawings, with one part flipped, with changes that must not matter; count its answers."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from PIL import Image

from formalimg._util.aio import run_sync
from formalimg._util.images import png_bytes
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.drawing.icon_scene import draw
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.certificates.certificate import AnswerCounts, InvarianceCounts, JudgeCertificate
from formalimg.judges.certificates.findings import find_faults
from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes, suite_groups
from formalimg.judges.certificates.nuisances import NUISANCES, TEXT
from formalimg.judges.factory import DRAWN
from formalimg.judges.metered_calls import MeteredCalls, map_concurrently
from formalimg.judges.observations import served_models
from formalimg.models.spending import Spending
from formalimg.types import Concurrent, Judge, Unscored, Verdict

SCENES = 200
"""The number of items by default: ten flips or so of each kind and predicate, 24 of colours."""

SIZE = 512
"""Width and height of the drawings, in pixels: few tokens, and people name what is drawn at this size."""

SHOWN, FLIPPED = "as asked for", "one part flipped"
"""The names of the two drawings of an item."""

_SIZES = {60: "under 60", 120: "60 to 119", 1001: "120 and more"}
"""Groups by the smaller side of the smallest object, in thousandths of the image."""
_OBJECTS = {3: "1 to 2", 6: "3 to 5", 11: "6 to 10", 10**9: "11 and more"}


class DrawingAnswer(NamedTuple):
    """What a judge says about an image: whether the flipped part holds, and whether all does; None if unscored."""

    part: bool | None
    passed: bool | None


class View(NamedTuple):
    """One image of an item: the name of the drawing or of the change, which drawing is changed, and its scene."""

    name: str
    base: str
    drawn: DrawnScene


@dataclass
class ExampleAnswers:
    """The answers about one item: by the name of the drawing or nuisance, and which drawing the nuisance changed."""

    example: FlippedScene
    answers: dict[str, DrawingAnswer] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    unscored: Counter[str] = field(default_factory=Counter)
    served: dict[str, None] = field(default_factory=dict)

    def record(self, view: View, answer: Verdict | Unscored) -> None:
        """Keep what the judge says about an image of the item."""
        self.answers[view.name] = read_answer(answer, self.example.part.name)
        self.served.update(dict.fromkeys(served_models(answer)))
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
    """Measure how a judge answers about drawings of a suite that has a drawn world.

    Args:
        judge: the judge to measure, as `open_judge` returns it for the suite.
        suite: the suite.
        scenes: the number of items; each is drawn as it should be, with one part flipped, and with every nuisance.
        seed: which items are drawn, and what is flipped.
        examples: the items with their scenes, if `flipped_scenes` has returned them before.
        protocol: how the judge was opened, for the record.
        made_with: the version of formalimg, for the record.
        spending: counts what the judge costs, and may have a budget.
        on_progress: called with the number of drawings that the judge has looked at, after each.

    Raises:
        OverBudgetError: if the budget is used up before all drawings are looked at.
        FormalimgError: if the suite has no drawn world, or the judge does not look at images.
    """
    refuse_to_certify(judge, scenes)
    calls = MeteredCalls(judge, spending or Spending(), on_progress)
    numbered = enumerate(flipped_scenes(suite, scenes, seed, judge) if examples is None else examples)
    answers = run_sync(
        lambda: map_concurrently(lambda pair: _ask(judge, calls, *pair), numbered, max(1, judge.concurrency))
    )
    return replace(build_certificate(judge, suite, seed, answers), protocol=protocol, made_with=made_with)


def build_certificate(judge: Concurrent, suite: str, seed: int, answers: Sequence[ExampleAnswers]) -> JudgeCertificate:
    """Return the certificate of a judge by its answers, with the faults that they show."""
    counted = JudgeCertificate(
        judge.name,
        suite,
        len(answers),
        seed,
        sum(len(each.answers) for each in answers),
        dict(sum((each.unscored for each in answers), Counter()).most_common()),
        count_answers(suite, answers),
        count_nuisances(answers),
        settings=dict(judge.settings),
        served=tuple(dict.fromkeys(name for each in answers for name in each.served)),
        date=utc_now(),
    )
    return replace(counted, findings=find_faults(counted))


def refuse_to_certify(judge: Judge, scenes: int) -> None:
    """Refuse what cannot be measured by drawings."""
    if judge.name == DRAWN:
        raise FormalimgError(f"{DRAWN} is told what drawings show, and cannot be measured by them: name another judge")
    if scenes < 1:
        raise FormalimgError("certification needs one scene at least: give --scenes 1 or more")


def utc_now() -> str:
    """Return the current time, as in 2026-01-31T10:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def images_of(scenes: int) -> int:
    """Return how many images a judge is shown at most."""
    return scenes * (2 + len(NUISANCES))


def draw_example(suite: str, drawn: DrawnScene) -> Image.Image:
    """Draw a scene as the built-in models draw the suite, without the scene: a judge must look."""
    return draw_scene(drawn, SIZE) if suite_of(suite).world == "drawn" else draw(drawn.scene, SIZE)


def changed_drawing(nuisance: str, number: int) -> str:
    """Return which of the two drawings of an item a nuisance changes.

    A text that asks for a yes can sway only where the answer is no; all others change the two in turn.
    """
    return FLIPPED if nuisance == TEXT or number % 2 else SHOWN


def read_answer(answer: Verdict | Unscored, part: str) -> DrawingAnswer:
    """Return what an answer says about a part and about the whole image."""
    if isinstance(answer, Unscored):
        return DrawingAnswer(None, None)
    said = next((each.score >= 0.5 for each in answer.parts if each.name == part), None)
    return DrawingAnswer(said, answer.passed)


def plan_views(example: FlippedScene, number: int) -> Iterator[View]:
    """Yield what a judge is shown of an item, in this order; a text only if there is a place for it."""
    scenes = {SHOWN: example.shown, FLIPPED: example.flipped}
    for name, drawn in scenes.items():
        yield View(name, name, drawn)
    for name in NUISANCES:
        base = changed_drawing(name, number)
        moves = NUISANCES[name].move is not None
        if not moves or name in (example.nuisances_of_shown if base == SHOWN else example.nuisances_of_flipped):
            yield View(name, base, scenes[base])


async def _ask(judge: Judge, calls: MeteredCalls, number: int, example: FlippedScene) -> ExampleAnswers:
    """Show a judge the drawings of an item, one after the other."""
    found = ExampleAnswers(example)
    item = example.item
    drawings: dict[str, Image.Image] = {}
    for view in plan_views(example, number):
        image: Image.Image | None
        if view.name in NUISANCES:
            image = await asyncio.to_thread(NUISANCES[view.name].change, drawings[view.base], view.drawn)
        else:
            image = drawings[view.name] = await asyncio.to_thread(draw_example, item.suite, view.drawn)
        if image is not None:
            loaded = LoadedImage(await asyncio.to_thread(png_bytes, image), image)
            found.record(view, await calls.answer(partial(judge.judge, item, loaded)))
    return found


# --- counting


def count_answers(suite: str, answers: Sequence[ExampleAnswers]) -> tuple[AnswerCounts, ...]:
    """Count the answers about whole images and flipped parts, by all dimensions.

    One part of each item is counted, so that answers are as independent as items are. Kinds and predicates of the suite
    that were never flipped have empty counts.
    """
    order = {kind: place for place, kind in enumerate(suite_of(suite).part_kinds)}
    dimensions: dict[str, Callable[[FlippedScene], str]] = {
        "clause": lambda it: "",
        "kind": lambda it: it.part.kind,
        "word": lambda it: it.word,
        "level": lambda it: str(it.item.level),
        "size": lambda it: _group(_SIZES, it.smallest_side),
        "objects": lambda it: _group(_OBJECTS, it.objects),
    }
    orders: dict[str, Callable[[str], object]] = {
        "kind": lambda value: order.get(value, len(order)),
        "level": int,
        "size": list(_SIZES.values()).index,
        "objects": list(_OBJECTS.values()).index,
    }
    counts = [_counts("image", "", [(it.answers[SHOWN].passed, it.answers[FLIPPED].passed) for it in answers])]
    for by, value_of in dimensions.items():
        groups: dict[str, list[tuple[bool | None, bool | None]]] = {
            each.value: [] for each in suite_groups(suite) if each.by == by
        }
        for it in answers:
            pair = (it.answers[SHOWN].part, it.answers[FLIPPED].part)
            groups.setdefault(value_of(it.example), []).append(pair)
        counts += [_counts(by, value, groups[value]) for value in sorted(groups, key=orders.get(by, str))]  # type: ignore[arg-type]
    return tuple(counts)


def _counts(by: str, value: str, pairs: Iterable[tuple[bool | None, bool | None]]) -> AnswerCounts:
    listed = list(pairs)
    of_true = [said for said, _ in listed if said is not None]
    of_false = [said for _, said in listed if said is not None]
    return AnswerCounts(by, value, len(of_true), sum(of_true), len(of_false), of_false.count(False))


def _group(names: Mapping[int, str], number: float) -> str:
    return list(names.values())[min(bisect_right(list(names), number), len(names) - 1)]


def count_nuisances(answers: Sequence[ExampleAnswers]) -> tuple[InvarianceCounts, ...]:
    """Count what became of the verdicts and of the answers about flipped parts, nuisance by nuisance."""
    found = []
    for name in NUISANCES:
        shown = [(it.answers[it.changed[name]], it.answers[name]) for it in answers if name in it.changed]
        for about, place in (("image", 1), ("clause", 0)):
            pairs = [(before[place], after[place]) for before, after in shown if before[place] is not None]
            found.append(
                InvarianceCounts(
                    name,
                    about,
                    len(pairs),
                    sum(before is False and after is True for before, after in pairs),
                    sum(before is True and after is False for before, after in pairs),
                    sum(after is None for _, after in pairs),
                )
            )
    return tuple(found)
