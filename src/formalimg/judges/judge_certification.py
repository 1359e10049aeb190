"""Certification of judges: how often a judge is right about drawings of Natural or ConceptMix, kind by kind.

The drawings are of items of the suite: as the item asks for them, and with one thing changed. What is true of each is
known from its scene, so a judge that answers questions or decides clauses can be measured on materials, states,
relations and styles. Drawings are not photographs: a judge that fails here has little hope there, not the other way
round.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from formalimg._util.aio import run_sync
from formalimg._util.images import png_bytes
from formalimg.errors import FormalimgError
from formalimg.judges.base import Judge, LoadedImage, Part, Unscored, Verdict
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.judges.metered_calls import MeteredCalls, map_concurrently
from formalimg.judges.registry import DRAWN
from formalimg.logic import vocabulary
from formalimg.models import Spending
from formalimg.scenes import (
    BriefObject,
    DrawnScene,
    Scene,
    SceneBrief,
    SceneObject,
    SolverLimitError,
    draw_scene,
    solve_drawn,
    why_not_drawable,
)
from formalimg.suites import Item, drawn_request, load, undrawable_because
from formalimg.suites import suite as suite_of

SIZE = 768
"""Width and height of the drawings, in pixels."""


@dataclass(frozen=True)
class PartCounts:
    """Counts of the answers about one kind of part, or about one word.

    Attributes:
        name: the kind, or the word.
        answered: how many parts were answered.
        right: how many answers are right.
        true: how many of the parts are true.
        said: how many were said to be true.
        found: how many of the true ones were said to be true.
    """

    name: str
    answered: int
    right: int
    true: int
    said: int
    found: int

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return self.right / self.answered if self.answered else 0.0

    @property
    def precision(self) -> float:
        """The share of true ones among those said to be true; 0 if none was."""
        return self.found / self.said if self.said else 0.0

    @property
    def recall(self) -> float:
        """The share of true ones that were said to be true; 0 if there are none."""
        return self.found / self.true if self.true else 0.0


@dataclass(frozen=True)
class JudgeCertificate:
    """How often a judge is right about drawings.

    Attributes:
        judge: its name.
        suite: the suite whose items were drawn.
        drawings: the number of drawings.
        seed: which items were drawn, and what was changed.
        unscored: the number of drawings without a verdict; their parts are not counted.
        whole: the counts of whole images: whether they pass.
        kinds: the counts by kind of part.
        words: the counts by word, most frequent first.
    """

    judge: str
    suite: str
    drawings: int
    seed: int
    unscored: int
    whole: PartCounts
    kinds: tuple[PartCounts, ...]
    words: tuple[PartCounts, ...]

    def reaches(self, threshold: float) -> bool:
        """Return whether every drawing has a verdict, and the answers about each kind have this accuracy."""
        return not self.unscored and min(kind.accuracy for kind in (self.whole, *self.kinds)) >= threshold

    def to_json(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        tables = {"kinds": self.kinds, "words": self.words}
        return {
            **{key: getattr(self, key) for key in ("judge", "suite", "drawings", "seed", "unscored")},
            "whole": _plain(self.whole),
            **{key: [_plain(counts) for counts in found] for key, found in tables.items()},
        }

    def __str__(self) -> str:
        """Return the certificate as a text table."""
        heads = ("asked about", "answers", "accuracy", "precision", "recall")
        shown = [*self.kinds, replace(self.whole, name="whole image")]
        rows = [
            (one.name, str(one.answered), *(f"{share:.3f}" for share in (one.accuracy, one.precision, one.recall)))
            for one in shown
        ]
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in (heads, *rows)]
        worst = sorted((one for one in self.words if one.right < one.answered), key=lambda one: one.accuracy)[:10]
        listed = ", ".join(f"{one.name} ({one.right} of {one.answered})" for one in worst)
        return "\n".join(
            [
                f"{self.judge}: {self.drawings} drawings of {self.suite}, seed {self.seed}, {self.unscored} unscored",
                *lines,
                *([f"most often wrong about {listed}"] if worst else []),
            ]
        )


def certify_judge(
    judge: Judge,
    suite: str,
    drawings: int = 100,
    seed: int = 7,
    *,
    spending: Spending | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> JudgeCertificate:
    """Measure how often a judge is right about drawings of a suite that has a drawn world.

    Args:
        judge: the judge to measure, as `open_judge` returns it for the suite.
        suite: the suite.
        drawings: the number of drawings; every second has one thing changed.
        seed: which items are drawn, and what is changed.
        spending: counts what the judge costs, and may have a budget.
        on_progress: called with the number of drawings that the judge has looked at, after each.

    Raises:
        OverBudgetError: if the budget is used up before all drawings are looked at.
        FormalimgError: if the suite has no drawn world, or the judge does not look at images.
    """
    if suite_of(suite).world != "drawn":
        raise FormalimgError(f"{suite} has no drawn world: natural and conceptmix have, knolling certifies grounders")
    if judge.name == DRAWN:
        raise FormalimgError(f"{DRAWN} is told what drawings show, and cannot be measured by them: name another judge")
    if drawings < 1:
        raise FormalimgError("certification needs one drawing at least")
    calls = MeteredCalls(judge, spending or Spending(), on_progress)

    async def ask(example: tuple[Item[Any], DrawnScene]) -> tuple[Verdict, Verdict | Unscored]:
        item, drawn = example
        truth = judge_drawn_scene(item, drawn)
        assert isinstance(truth, Verdict), "examples can be judged"
        image = await asyncio.to_thread(draw_scene, drawn, SIZE)
        # Without the scene: a judge must look.
        loaded = LoadedImage(png_bytes(image), image)
        return truth, await calls.answer(lambda: judge.judge(item, loaded))

    examples = drawn_examples(suite, drawings, seed)
    answers = run_sync(lambda: map_concurrently(ask, examples, max(1, judge.concurrency)))
    return _certificate(judge.name, suite, seed, answers)


def drawn_examples(suite: str, count: int, seed: int) -> Iterator[tuple[Item[Any], DrawnScene]]:
    """Yield items with a scene of which it is known what is true: every second scene has one thing changed."""
    rng = Random(f"{suite} {seed}")
    items: list[Item[Any]] = list(load(suite))
    rng.shuffle(items)
    found = 0
    for item in items:
        if found == count:
            return
        if undrawable_because(item.spec) is not None:
            continue
        try:
            drawn = solve_drawn(drawn_request(item.spec), seed=seed)
        except SolverLimitError:
            continue
        if isinstance(drawn, DrawnScene):
            yield item, _with_one_change(drawn, rng) if found % 2 else drawn
            found += 1


def _with_one_change(drawn: DrawnScene, rng: Random) -> DrawnScene:
    """Return a scene with one object recoloured, plain or gone, or in no style; the same if nothing can be changed."""
    changed = [*_recoloured(drawn, rng), *_plainer(drawn), *_without_one(drawn)]
    if drawn.style is not None:
        changed.append(replace(drawn, style=None))
    return rng.choice(changed) if changed else drawn


def _recoloured(drawn: DrawnScene, rng: Random) -> Iterator[DrawnScene]:
    for number, obj in enumerate(drawn.scene.objects):
        other = rng.choice([color for color in vocabulary("natural").words["color"] if color != obj.color])
        yield from _with(drawn, number, replace(obj, color=other))


def _plainer(drawn: DrawnScene) -> Iterator[DrawnScene]:
    for number, obj in enumerate(drawn.scene.objects):
        if obj.material or obj.shape or obj.states:
            yield from _with(drawn, number, replace(obj, material=None, shape=None, states=()))


def _with(drawn: DrawnScene, number: int, obj: SceneObject) -> Iterator[DrawnScene]:
    """Yield the scene with another object in a place, if it can be drawn so."""
    look = BriefObject(obj.label, 1, obj.color, obj.shape, None, obj.material, obj.states)
    if why_not_drawable(SceneBrief((look,), (), drawn.style)) is None:
        objects = (*drawn.scene.objects[:number], obj, *drawn.scene.objects[number + 1 :])
        yield replace(drawn, scene=replace(drawn.scene, objects=objects))


def _without_one(drawn: DrawnScene) -> Iterator[DrawnScene]:
    """Yield the scene without the object that is painted last, if it stands in no relation."""
    last = drawn.order[-1]
    relations = drawn.scene.relations or frozenset()
    if len(drawn.scene) < 2 or any(last in (each.first, each.second) for each in relations):
        return
    kept = [number for number in range(len(drawn.scene)) if number != last]
    renumbered = {old: new for new, old in enumerate(kept)}
    moved = [each._replace(first=renumbered[each.first], second=renumbered[each.second]) for each in relations]
    scene = Scene.of([drawn.scene.objects[number] for number in kept], moved)
    yield replace(drawn, scene=scene, depth=tuple(renumbered[number] for number in drawn.order[:-1]))


def _certificate(
    name: str, suite: str, seed: int, answers: Sequence[tuple[Verdict, Verdict | Unscored]]
) -> JudgeCertificate:
    kinds: dict[str, Counter[str]] = {}
    words: dict[str, Counter[str]] = {}
    whole: Counter[str] = Counter()
    unscored = 0
    for truth, answer in answers:
        if isinstance(answer, Unscored):
            unscored += 1
            continue
        _count(whole, truth.passed, answer.passed)
        said = {part.name: part.score >= 0.5 for part in answer.parts}
        for part in truth.parts:
            if part.name in said:
                for table, keys in ((kinds, (part.kind,)), (words, _words(part))):
                    for key in keys:
                        _count(table.setdefault(key, Counter()), part.score == 1, said[part.name])
    order = {kind: place for place, kind in enumerate(suite_of(suite).traits.part_kinds)}
    return JudgeCertificate(
        name,
        suite,
        len(answers),
        seed,
        unscored,
        _counts("whole", whole),
        tuple(_counts(kind, kinds[kind]) for kind in sorted(kinds, key=lambda kind: order.get(kind, len(order)))),
        tuple(_counts(word, words[word]) for word in sorted(words, key=lambda word: (-words[word]["answered"], word))),
    )


def _words(part: Part) -> tuple[str, ...]:
    """Return the words of a part: those in quotes of a clause, with its predicates, and the value of a concept."""
    quoted = part.name.split("'")[1::2] if part.name.startswith("(") else []
    return tuple(dict.fromkeys([*part.about, *quoted]))


def _count(counts: Counter[str], true: bool, said: bool) -> None:
    counts.update(answered=1, right=true is said, true=true, said=said, found=true and said)


def _counts(name: str, counts: Counter[str]) -> PartCounts:
    return PartCounts(name, *(counts[key] for key in ("answered", "right", "true", "said", "found")))


def _plain(counts: PartCounts) -> dict[str, object]:
    return {**vars(counts), "accuracy": counts.accuracy, "precision": counts.precision, "recall": counts.recall}
