"""What a run has to do: which items, how many pictures of each, with which seeds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from formalimg.errors import FormalimgError
from formalimg.models import ImageModel, ImageRequest
from formalimg.runs.handing import Planned
from formalimg.runs.keys import picture_key, picture_seed, question_key
from formalimg.suites import Item


@dataclass(frozen=True)
class Selection:
    """Which items of a suite a run takes.

    Attributes:
        levels: only items of these levels; None for all.
        per_level: the first so many items of each level; None for all.
        ids: only these items; None for all.
    """

    levels: Collection[int] | None = None
    per_level: int | None = None
    ids: Collection[str] | None = None

    def of(self, items: Sequence[Item[object]]) -> dict[int, Item[object]]:
        """The selected items, by their position in the suite.

        Raises:
            FormalimgError: if a level or an id is asked for that the suite does not have, or nothing is left.
        """
        self._require_known("level", self.levels, {item.level for item in items})
        self._require_known("item", self.ids, {item.id for item in items})
        chosen: dict[int, Item[object]] = {}
        taken: dict[int, int] = {}
        for position, item in enumerate(items):
            if self.levels is not None and item.level not in self.levels:
                continue
            if self.ids is not None and item.id not in self.ids:
                continue
            taken[item.level] = taken.get(item.level, 0) + 1
            if self.per_level is None or taken[item.level] <= self.per_level:
                chosen[position] = item
        if not chosen:
            raise FormalimgError("no items are left to be run: ask for other levels or items")
        return chosen

    @staticmethod
    def _require_known(what: str, asked: Collection[object] | None, there: Collection[object]) -> None:
        unknown = [str(one) for one in asked or () if one not in there]
        if unknown:
            raise FormalimgError(f"the suite has no {what} {', '.join(unknown[:5])}: ask for others")


def plan_pictures(
    items: Sequence[Item[object]], model: ImageModel, *, samples: int, seed: int, size: int
) -> list[Planned]:
    """The pictures of a run, so ordered that a run which is stopped early has something of each level."""
    questions = {item.id: question_key(item) for item in items}

    def planned(item: Item[object], sample: int) -> Planned:
        own_seed = picture_seed(seed, item, sample)
        request = request_of(item, sample, own_seed, size, model)
        return Planned(item, sample, picture_key(item, request, model), own_seed, questions[item.id])

    return [planned(item, sample) for sample in range(samples) for item in _levels_in_turn(items)]


def request_of(item: Item[object], sample: int, seed: int, size: int, model: ImageModel) -> ImageRequest:
    """What the model is asked; it is told what the picture must show only if it says that it has to know."""
    return ImageRequest(item.id, sample, item.prompt, seed, size, item.spec if model.sees_spec else None)


def _levels_in_turn(items: Sequence[Item[object]]) -> list[Item[object]]:
    place_in_level: dict[int, int] = {}
    ranked = []
    for item in items:
        place_in_level[item.level] = place_in_level.get(item.level, 0) + 1
        ranked.append((place_in_level[item.level], item.level, item))
    return [item for *_, item in sorted(ranked, key=lambda entry: entry[:2])]
