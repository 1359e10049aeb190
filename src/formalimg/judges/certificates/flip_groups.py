"""Groups of flips: the kinds and predicates that a suite asks about, and which of them need another flip most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.certificates.certificate import MIN_ANSWERS
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Part, Verdict

_WANTED_FLIPS = MIN_ANSWERS + 2
"""Flips that each group gets first: more than needed, because a judge may leave some drawings without a verdict."""
_WANTED_COLORS = 24
"""Flips that colours get before the remaining ones are spread: judges confuse some colours rather than all."""
_COLORS = ("Has", "HasColor", "color")
_MAX_MISSES = 24
"""A group that so many items in a row could not be flipped for is not preferred any more."""

_WORD_KINDS = ("spatial", "relation", "attribute")
"""Kinds of parts that are told apart by the first word that they are about: a relation, or a colour."""
TOO_FEW, TOO_MANY = "too few", "too many"


class Group(NamedTuple):
    """A kind of parts, or a word that parts are about; `by` is the dimension of the certificate."""

    by: str
    value: str


def part_words(item: Item[Any], part: Part) -> tuple[str, ...]:
    """Return the words that a part may be counted by: its only predicate, relation or colour, else its kind.

    A count can be missed in two ways, and which one depends on the flip.
    """
    if isinstance(item.spec, FormulaSpec):
        predicates = [name for name in part.about if name != "Is"]
        return ("Is",) if not predicates else (predicates[0],) if len(predicates) == 1 else (part.kind,)
    words = {"count": (TOO_FEW, TOO_MANY), **dict.fromkeys(_WORD_KINDS, part.about[:1])}
    return words.get(part.kind, (part.kind,))


def item_groups(item: Item[Any]) -> frozenset[Group]:
    """Return the groups of all parts of an item, whether or not they can be drawn."""
    suite = suite_of(item.suite)
    # Rules about boxes ask for places and colours only of objects that are there.
    arranged = suite.arrange_scene(item, Random(item.id)) if suite.judge_profiles else None
    truth = judge_drawn_scene(item, DrawnScene(arranged or Scene.of([])))
    parts = truth.parts if isinstance(truth, Verdict) else ()
    return frozenset(group for part in parts for group in _part_groups(item, part))


def _part_groups(item: Item[Any], part: Part) -> list[Group]:
    return [Group("kind", part.kind), *(Group("word", word) for word in part_words(item, part))]


class FlipQuota:
    """How often each group was flipped, and which one comes next.

    Each group first gets `_WANTED_FLIPS`, then colours more, and then all kinds the same number.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        """Begin with no flips."""
        self._flips = Counter(dict.fromkeys(groups, 0))
        self._misses: Counter[Group] = Counter()

    def rank(self, group: Group) -> tuple[int, int]:
        """Return how early a group is to be flipped: the lowest rank first."""
        flips = self._flips[group]
        if flips < _WANTED_FLIPS and self._misses[group] < _MAX_MISSES:
            return 0, flips
        if flips < _WANTED_COLORS and group.value in _COLORS:
            return 1, flips
        return (2 if group.by == "kind" else 3), flips

    def rank_all(self, groups: Iterable[Group]) -> list[tuple[int, int]]:
        """Return the ranks of several groups, the lowest first, to compare items and flips by."""
        return sorted(map(self.rank, groups))

    def count_flip(self, groups: Iterable[Group]) -> None:
        """Count a flip of these groups."""
        for group in groups:
            self._flips[group] += 1
            self._misses[group] = 0

    def count_miss(self, groups: Iterable[Group], flipped: Iterable[Group] = ()) -> None:
        """Count an item that was chosen for the group of lowest rank, and in which another one was flipped."""
        wanted = min(sorted(groups), key=self.rank, default=None)
        if wanted is not None and wanted not in flipped:
            self._misses[wanted] += 1
