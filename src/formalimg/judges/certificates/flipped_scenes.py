"""Flipped scenes: pairs of rendered scenes for an item, one correct and one with exactly one false clause.

The judge is asked about the flipped clause (or concept) in both drawings: the answer to the first measures sensitivity,
that to the second specificity, and the other content makes neither easier. Items and flips are chosen so that all kinds
of parts and all predicates in a suite get enough flips.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from formalimg.benchmarks.formal.spec import FormulaSpec, drawn_request, undrawable_because
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.benchmarks.registry import suite_names
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.icon_scene import drawable_classes
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.scene import DrawnScene
from formalimg.errors import FormalimgError
from formalimg.judges.certificates.certificate import MIN_ANSWERS
from formalimg.judges.certificates.scene_changes import (
    DrawnVocabulary,
    applicable_nuisances,
    find_vocabulary,
    generate_changes,
)
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.scenes.objects import Box
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError
from formalimg.types import Item, Judge, Part, Verdict

_MAX_CHANGES = 90  # So many changes of a scene are tried
_MAX_CANDIDATES = 6  # With so many different clauses to choose from, no more changes are tried
_ARRANGEMENTS = 5  # So many arrangements of objects are tried
_JITTER = 8  # A clause is flipped only if its answer stays the same when the edges of all boxes move by so much
_MIN_FLIPS = MIN_ANSWERS + 2
"""Flips that each group gets first: more than needed, because a judge may leave some drawings without a verdict."""
_MIN_COLOR_FLIPS = 24
"""Flips that colours get before the remaining ones are spread: judges confuse some colours rather than all."""
_COLORS = ("Has", "HasColor", "color")
_MAX_MISSES = 24  # A group that so many items in a row could not be flipped for is not preferred any more
_TOO_FEW, _TOO_MANY = "too few", "too many"


class Group(NamedTuple):
    """A group of parts in a certificate: a kind, predicate or colour, with `by` as its dimension."""

    by: str
    value: str


def _part_words(item: Item[Any], part: Part) -> tuple[str, ...]:
    """Return the words under which a part is counted: its only predicate, relation or colour, else its kind."""
    if isinstance(item.spec, FormulaSpec):
        predicates = [name for name in part.about if name != "Is"]
        return ("Is",) if not predicates else (predicates[0],) if len(predicates) == 1 else (part.kind,)
    if part.kind == "count":
        return _TOO_FEW, _TOO_MANY
    return part.about[:1] if part.kind in ("spatial", "relation", "attribute") else (part.kind,)


@dataclass(frozen=True)
class FlippedScene:
    """An item with two scenes that differ in the truth of one clause or concept."""

    item: Item[Any]  # what is asked
    shown: DrawnScene  # a scene that shows everything
    flipped: DrawnScene  # a scene in which one part is false, and all others are true
    part: Part  # that part, as it is in the first scene

    @property
    def word(self) -> str:
        """The word under which the flip is counted, which for counts is "too few" or "too many"."""
        words = _part_words(self.item, self.part)
        if len(words) == 1:
            return words[0]
        label = self.part.about[-1]
        before, after = (sum(obj.label == label for obj in drawn.scene.objects) for drawn in (self.shown, self.flipped))
        return _TOO_MANY if after > before else _TOO_FEW

    @property
    def groups(self) -> tuple[Group, Group]:
        """The groups under which the flip is counted."""
        return Group("kind", self.part.kind), Group("word", self.word)

    @cached_property
    def nuisances_of_shown(self) -> frozenset[str]:
        """The names of the nuisances that preserve the truth of the first scene."""
        return applicable_nuisances(self.item, self.shown)

    @cached_property
    def nuisances_of_flipped(self) -> frozenset[str]:
        """The names of the nuisances that preserve the truth of the second scene."""
        return applicable_nuisances(self.item, self.flipped)

    @property
    def smallest_side(self) -> float:
        """The shorter side of the smallest object in the first scene, in thousandths of the canvas."""
        boxes = [obj.box for obj in self.shown.scene.objects]
        return min((min(box.xmax - box.xmin, box.ymax - box.ymin) for box in boxes), default=0.0)


def flipped_scenes(suite: str, count: int, seed: int, judge: Judge | None = None) -> Iterator[FlippedScene]:
    """Yield items with a correct scene and one with a flipped part, cycling through the levels."""
    benchmark = get_suite(suite)
    if benchmark.world not in _FIND_SCENE:
        suites = [name for name in suite_names() if get_suite(name).world in _FIND_SCENE]
        raise FormalimgError(f"{suite} has no drawn world to certify a judge by: use one of {', '.join(suites)}")
    rng = Random(f"certificate {suite} {seed}")
    unknown_to = getattr(judge, "unknown_classes", None)
    unknown_classes = getattr(getattr(judge, "grounder", None), "unknown_classes", lambda classes: ())
    world = drawable_classes() if benchmark.world == "icons" else tuple(drawn_catalog().classes)
    words = find_vocabulary(benchmark, unknown_classes(world))
    groups = _groups_of_items(suite)
    quota = _FlipQuota(suite_groups(suite))
    items = [item for item in drawn_items(suite) if unknown_to is None or not unknown_to(item)]
    flips = 0
    profile = getattr(judge, "profile", None)
    profile = profile if profile in benchmark.judge_profiles else "official"
    for item in _order_items(items, groups, quota, rng):
        if flips == count:
            return
        drawn = _FIND_SCENE[benchmark.world](item, seed)
        example = None if drawn is None else _flip_part(item, drawn, words, quota, rng, profile)
        quota.count_miss(groups[item.id], () if example is None else example.groups)
        if example is not None:
            quota.count_flip(example.groups)
            flips += 1
            yield example
    if not flips:
        raise FormalimgError(f"no item of {suite} can be drawn with classes that this judge knows: name another judge")


def drawn_items(suite: str) -> list[Item[Any]]:
    """Return the suite's items for certification: those made for rendering if any, else those it ships."""
    drawn = get_suite(suite).drawn_items()
    return list(load(suite)) if drawn is None else drawn


# --- groups


def suite_groups(suite: str) -> tuple[Group, ...]:
    """Return all groups of parts that occur in the items of a suite."""
    return tuple(sorted({group for groups in _groups_of_items(suite).values() for group in groups}))


@cache
def _groups_of_items(suite: str) -> Mapping[str, frozenset[Group]]:
    """Map each item id to the groups of its parts, including parts that cannot be rendered."""
    return {item.id: frozenset(_item_groups(item)) for item in drawn_items(suite)}


def _item_groups(item: Item[Any]) -> Iterator[Group]:
    suite = get_suite(item.suite)
    # Rules about boxes ask for places and colours only of objects that are there.
    arranged = suite.arrange_scene(item, Random(item.id)) if suite.judge_profiles else None
    truth = judge_drawn_scene(item, DrawnScene(arranged or Scene.of([])))
    for part in truth.parts if isinstance(truth, Verdict) else ():
        yield Group("kind", part.kind)
        yield from (Group("word", word) for word in _part_words(item, part))


class _FlipQuota:
    """Counts of flips per group, which determine the next group to flip.

    Each group first gets `_MIN_FLIPS`, then colours get more, and then all kinds get the same number.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self._flips = Counter(dict.fromkeys(groups, 0))
        self._misses: Counter[Group] = Counter()

    def rank(self, group: Group) -> tuple[int, int]:
        """Return the priority of a group as a sort key, lowest first."""
        flips = self._flips[group]
        if flips < _MIN_FLIPS and self._misses[group] < _MAX_MISSES:
            return 0, flips
        if flips < _MIN_COLOR_FLIPS and group.value in _COLORS:
            return 1, flips
        return (2 if group.by == "kind" else 3), flips

    def rank_all(self, groups: Iterable[Group]) -> list[tuple[int, int]]:
        """Return the sorted ranks of several groups, for comparing items and flips."""
        return sorted(map(self.rank, groups))

    def count_flip(self, groups: Iterable[Group]) -> None:
        for group in groups:
            self._flips[group] += 1
            self._misses[group] = 0

    def count_miss(self, groups: Iterable[Group], flipped: Iterable[Group] = ()) -> None:
        """Record an item whose highest-priority group was not flipped."""
        first = min(sorted(groups), key=self.rank, default=None)
        if first is not None and first not in flipped:
            self._misses[first] += 1


def _order_items(
    items: list[Item[Any]], groups: Mapping[str, frozenset[Group]], quota: _FlipQuota, rng: Random
) -> Iterator[Item[Any]]:
    """Yield items level by level, choosing those whose groups most need a flip."""
    levels: dict[int, list[Item[Any]]] = {}
    rng.shuffle(items)
    for item in items:
        levels.setdefault(item.level, []).append(item)
    while levels:
        for level in sorted(levels):
            item = min(levels[level], key=lambda item: quota.rank_all(groups[item.id])[:1])
            levels[level].remove(item)
            yield item
            if not levels[level]:
                del levels[level]


# --- scenes


def _find_icon_scene(item: Item[Any], seed: int) -> DrawnScene | None:
    """Return the formula's witness or an arrangement of the item's objects, or None if there is none."""
    if isinstance(item.spec, FormulaSpec):
        witness = item.spec.witness
        return None if witness is None else DrawnScene(replace(witness, relations=None))
    rng = Random(f"{seed} {item.id}")
    for _ in range(_ARRANGEMENTS):
        scene = get_suite(item.suite).arrange_scene(item, rng)
        if scene is None:
            continue
        drawn = DrawnScene(scene)
        truth = judge_drawn_scene(item, _jitter_boxes(drawn, rng))
        if isinstance(truth, Verdict) and truth.passed:  # it stays right if boxes move a little
            return drawn
    return None


def _solve_scene(item: Item[Any], seed: int) -> DrawnScene | None:
    if undrawable_because(item.spec) is not None:
        return None
    try:
        drawn = solve_drawn(drawn_request(item.spec), seed=seed)
    except SolverLimitError:
        return None
    return drawn if isinstance(drawn, DrawnScene) else None


_FIND_SCENE: dict[str, Callable[[Item[Any], int], DrawnScene | None]] = {
    "icons": _find_icon_scene,
    "drawn": _solve_scene,
}
"""How the scene of an item is found, by the world of its suite. A suite with a world of its own is added here."""


def _flip_part(
    item: Item[Any], drawn: DrawnScene, words: DrawnVocabulary, quota: _FlipQuota, rng: Random, profile: str
) -> FlippedScene | None:
    """Flip the part whose groups most need it, or return None if no part can be flipped."""
    truth = judge_drawn_scene(item, drawn, profile)
    if not isinstance(truth, Verdict) or not truth.passed or any(part.score != 1 for part in truth.parts):
        return None
    parts = {part.name: part for part in truth.parts}
    candidates: dict[str, FlippedScene] = {}
    # Where rules for boxes decide, parts are few. Elsewhere the search goes on, so that scenes stay those of earlier
    # certificates.
    limit = min(_MAX_CANDIDATES, len(parts)) if get_suite(item.suite).judge_profiles else _MAX_CANDIDATES
    for changed in islice(generate_changes(drawn, words, rng), _MAX_CHANGES):
        name = _find_false_part(item, changed, profile)
        if (
            name in parts
            and name not in candidates
            and _find_false_part(item, _jitter_boxes(changed, rng), profile) == name
        ):
            candidates[name] = FlippedScene(item, drawn, changed, parts[name])
            if len(candidates) == limit:
                break
    return min(candidates.values(), key=lambda flipped: quota.rank_all(flipped.groups), default=None)


def _find_false_part(item: Item[Any], drawn: DrawnScene, profile: str) -> str | None:
    """Return the name of the only false part, or None if there is not exactly one or it is ambiguous."""
    truth = judge_drawn_scene(item, drawn, profile)
    if not isinstance(truth, Verdict) or truth.passed or truth.evidence.get("unclear"):
        return None
    wrong = [part.name for part in truth.parts if part.score != 1]
    return wrong[0] if len(wrong) == 1 else None


def _jitter_boxes(drawn: DrawnScene, rng: Random) -> DrawnScene:
    """Shift box edges slightly at random, except for objects with relations."""
    fixed = {end for relation in drawn.scene.relations or () for end in (relation.first, relation.second)}
    objects = [
        obj if number in fixed else replace(obj, box=Box(*(edge + rng.uniform(-_JITTER, _JITTER) for edge in obj.box)))
        for number, obj in enumerate(drawn.scene.objects)
    ]
    return replace(drawn, scene=replace(drawn.scene, objects=tuple(objects)))
