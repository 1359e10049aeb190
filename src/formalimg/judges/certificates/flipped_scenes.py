"""Flipped scenes: items with a drawn scene that shows what they ask for, and one in which exactly one clause is false.

The clause (or concept) that is flipped is asked about in both drawings: its answer in the first measures sensitivity,
in the second specificity, and neither is easier than the other by what else is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from random import Random
from typing import Any

from formalimg.benchmarks.drawn_requests import drawn_request, undrawable_because
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.benchmarks.registry import suite_names
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.icon_scene import drawable_classes
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError
from formalimg.judges.certificates.flip_groups import (
    TOO_FEW,
    TOO_MANY,
    FlipQuota,
    Group,
    item_groups,
    part_words,
)
from formalimg.judges.certificates.nuisances import applicable_nuisances
from formalimg.judges.certificates.scene_changes import DrawnVocabulary, changed_scenes, drawn_vocabulary
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.scenes.objects import Box
from formalimg.scenes.solver.results import SolverLimitError
from formalimg.types import Benchmark, Item, Judge, Part, Verdict

_TRIES = 90
"""So many changes of a scene are tried."""
_ENOUGH = 6
"""With so many different clauses to choose from, no more changes are tried."""
_ARRANGEMENTS = 5
"""So many arrangements of objects are tried."""
_JITTER = 8
"""A clause is flipped only if its answer stays the same when the edges of all boxes move by so much."""


@dataclass(frozen=True)
class FlippedScene:
    """An item with two scenes that differ in the truth of one clause or concept."""

    item: Item[Any]  # what is asked
    shown: DrawnScene  # a scene that shows everything
    flipped: DrawnScene  # a scene in which one part is false, and all others are true
    part: Part  # that part, as it is in the first scene

    @property
    def word(self) -> str:
        """What the part is about: its only predicate, relation or colour, else its kind; too few or too many."""
        words = part_words(self.item, self.part)
        if len(words) == 1:
            return words[0]
        label = self.part.about[-1]
        shown, flipped = (sum(obj.label == label for obj in it.scene.objects) for it in (self.shown, self.flipped))
        return TOO_MANY if flipped > shown else TOO_FEW

    @property
    def groups(self) -> tuple[Group, Group]:
        """The groups that the flip counts for."""
        return Group("kind", self.part.kind), Group("word", self.word)

    @cached_property
    def nuisances_of_shown(self) -> frozenset[str]:
        """The names of the changes that must not matter in the first scene, and do not."""
        return applicable_nuisances(self.item, self.shown)

    @cached_property
    def nuisances_of_flipped(self) -> frozenset[str]:
        """The same for the second scene."""
        return applicable_nuisances(self.item, self.flipped)

    @property
    def objects(self) -> int:
        """The number of objects of the first scene."""
        return len(self.shown.scene)

    @property
    def smallest_side(self) -> float:
        """The smaller side of the smallest object of the first scene, in thousandths of the image."""
        boxes = [obj.box for obj in self.shown.scene.objects]
        return min((min(box.xmax - box.xmin, box.ymax - box.ymin) for box in boxes), default=0.0)


def flipped_scenes(suite: str, count: int, seed: int, judge: Judge | None = None) -> Iterator[FlippedScene]:
    """Yield items with a scene that shows them and one with a flipped part, from all levels in turn.

    Items and flips are chosen such that every kind of part and every predicate of the suite gets enough flips, as far
    as it can be drawn and flipped. The same for the same seed.
    """
    about = suite_of(suite)
    if about.world not in _SHOWN:
        raise FormalimgError(
            f"{suite} has no drawn world to certify a judge by: use one of {', '.join(_drawn_suites())}"
        )
    rng = Random(f"certificate {suite} {seed}")
    unknown_to = getattr(judge, "unknown_classes", None)
    words = drawn_vocabulary(about, _unknown_classes(judge, about))
    groups = _groups_of_items(suite)
    quota = FlipQuota(suite_groups(suite))
    items = [item for item in drawn_items(suite) if unknown_to is None or not unknown_to(item)]
    found = 0
    chosen = getattr(judge, "profile", None)
    profile = chosen if chosen in about.judge_profiles else "official"
    for item in _by_turns(items, groups, quota, rng):
        if found == count:
            return
        shown = _SHOWN[about.world](item, seed)
        example = None if shown is None else _flip(item, shown, words, quota, rng, profile)
        quota.count_miss(groups[item.id], () if example is None else example.groups)
        if example is not None:
            quota.count_flip(example.groups)
            found += 1
            yield example
    if not found:
        raise FormalimgError(f"no item of {suite} can be drawn with classes that this judge knows: name another judge")


def drawn_items(suite: str) -> list[Item[Any]]:
    """Return the items of a suite that judges are certified by: those that ship, or ones that are made to be drawn."""
    drawn = suite_of(suite).drawn_items()
    return list(load(suite)) if drawn is None else drawn


def suite_groups(suite: str) -> tuple[Group, ...]:
    """Return the kinds of parts, then the predicates and words, that a suite asks about."""
    return tuple(sorted({group for groups in _groups_of_items(suite).values() for group in groups}))


@cache
def _groups_of_items(suite: str) -> Mapping[str, frozenset[Group]]:
    return {item.id: item_groups(item) for item in drawn_items(suite)}


def _drawn_suites() -> list[str]:
    return [name for name in suite_names() if suite_of(name).world in _SHOWN]


def _unknown_classes(judge: Judge | None, about: Benchmark) -> Sequence[str]:
    """Return the classes of the world that the grounder of a judge cannot look for."""
    unknown = getattr(getattr(judge, "grounder", None), "unknown_classes", None)
    if unknown is None:
        return ()
    return tuple(unknown(drawable_classes() if about.world == "icons" else tuple(drawn_catalog().classes)))


def _by_turns(
    items: list[Item[Any]], groups: Mapping[str, frozenset[Group]], quota: FlipQuota, rng: Random
) -> Iterator[Item[Any]]:
    """Yield items of each level in turn, of a level the item with the groups that need a flip most."""
    levels: dict[int, list[Item[Any]]] = {}
    rng.shuffle(items)
    for item in items:
        levels.setdefault(item.level, []).append(item)
    while levels:
        for level in sorted(levels):
            item = min(levels[level], key=lambda each: quota.rank_all(groups[each.id])[:1])
            levels[level].remove(item)
            yield item
            if not levels[level]:
                del levels[level]


def _shown_in_icons(item: Item[Any], seed: int) -> DrawnScene | None:
    """Return the witness of a formula, or an arrangement of objects; None if there is none."""
    if isinstance(item.spec, FormulaSpec):
        witness = item.spec.witness
        return None if witness is None else DrawnScene(replace(witness, relations=None))
    rng = Random(f"{seed} {item.id}")
    for _ in range(_ARRANGEMENTS):
        scene = suite_of(item.suite).arrange_scene(item, rng)
        if scene is None:
            continue
        drawn = DrawnScene(scene)
        truth = judge_drawn_scene(item, _jittered(drawn, rng))
        if isinstance(truth, Verdict) and truth.passed:  # it stays right if boxes move a little
            return drawn
    return None


def _solved(item: Item[Any], seed: int) -> DrawnScene | None:
    """Return a drawn scene of an item; None if it cannot be drawn."""
    if undrawable_because(item.spec) is not None:
        return None
    try:
        drawn = solve_drawn(drawn_request(item.spec), seed=seed)
    except SolverLimitError:
        return None
    return drawn if isinstance(drawn, DrawnScene) else None


_SHOWN: dict[str, Callable[[Item[Any], int], DrawnScene | None]] = {"icons": _shown_in_icons, "drawn": _solved}
"""How the scene of an item is found, by the world of its suite. A suite with a world of its own is added here."""


def _flip(
    item: Item[Any],
    shown: DrawnScene,
    words: DrawnVocabulary,
    quota: FlipQuota,
    rng: Random,
    profile: str,
) -> FlippedScene | None:
    """Return the item with one part flipped, of the groups that need a flip most; None if none can be."""
    truth = judge_drawn_scene(item, shown, profile)
    if not isinstance(truth, Verdict) or not truth.passed or any(part.score != 1 for part in truth.parts):
        return None
    parts = {part.name: part for part in truth.parts}
    found: dict[str, FlippedScene] = {}
    # Where rules for boxes decide, parts are few. Elsewhere the search goes on, so that scenes stay those of earlier
    # certificates.
    enough = min(_ENOUGH, len(parts)) if suite_of(item.suite).judge_profiles else _ENOUGH
    for changed in islice(changed_scenes(shown, words, rng), _TRIES):
        name = _only_false(item, changed, profile)
        if name in parts and name not in found and _only_false(item, _jittered(changed, rng), profile) == name:
            found[name] = FlippedScene(item, shown, changed, parts[name])
            if len(found) == enough:
                break
    return min(found.values(), key=lambda each: quota.rank_all(each.groups), default=None)


def _only_false(item: Item[Any], drawn: DrawnScene, profile: str) -> str | None:
    """Return the part that is false of a scene; None if it is not exactly one, or people would not agree on it."""
    truth = judge_drawn_scene(item, drawn, profile)
    if not isinstance(truth, Verdict) or truth.passed or truth.evidence.get("unclear"):
        return None
    wrong = [part.name for part in truth.parts if part.score != 1]
    return wrong[0] if len(wrong) == 1 else None


def _jittered(drawn: DrawnScene, rng: Random) -> DrawnScene:
    """Return the scene with slightly other boxes, besides those that touch something that carries them."""
    fixed = {end for each in drawn.scene.relations or () for end in (each.first, each.second)}
    objects = [
        obj if number in fixed else replace(obj, box=Box(*(edge + rng.uniform(-_JITTER, _JITTER) for edge in obj.box)))
        for number, obj in enumerate(drawn.scene.objects)
    ]
    return replace(drawn, scene=replace(drawn.scene, objects=tuple(objects)))
