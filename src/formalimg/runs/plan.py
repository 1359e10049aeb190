"""What a run has to do: which items, how many images of each, with which seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.models import ImageModel, ImageRequest
from formalimg.runs.handing import Planned
from formalimg.runs.keys import image_key, image_seed, question_key
from formalimg.scenes import Scene
from formalimg.suites import Condition, Item, StyleText
from formalimg.suites import suite as suite_of


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
            known = sorted(map(str, there), key=lambda one: (len(one), one))
            advice = f"it has {', '.join(known)}" if len(known) <= 30 else "ask for others"
            raise FormalimgError(f"the suite has no {what} {', '.join(unknown[:5])}: {advice}")


def require_covered(model: ImageModel, suite: str) -> None:
    """Refuse a model that cannot draw what a suite asks for. A model that cannot do so has an attribute `covers`.

    Raises:
        FormalimgError: if the suite is not among those it covers.
    """
    covered = getattr(model, "covers", None)
    if covered is not None and suite_of(suite).kind not in covered:
        raise FormalimgError(
            f"{model.name} draws plain scenes of FormalImg and cannot show what {suite} asks for: name an image model "
            "(`formalimg models` lists them), or images that are there already, as in folder/my/images"
        )


def style_for(suite: str, model: ImageModel) -> StyleText:
    """The text about the style of image that a model can take.

    Knolling was published with a long text, and a short one for models that read few words. A model that reads few
    has an attribute `style` that says so; embedded models and folders of images need none.
    """
    wanted: StyleText = getattr(model, "style", "long")
    return wanted if suite == "knolling" and wanted in get_args(StyleText) else "none"


@dataclass(frozen=True)
class Asking:
    """How a model is asked for the images of a run.

    Attributes:
        model: who is asked.
        condition: how an item becomes words, and perhaps an image to go by.
        layouts: the layouts of the items, by id, if the condition needs them.
        size: width and height to ask for, in pixels.
    """

    model: ImageModel
    condition: Condition
    layouts: Mapping[str, Scene]
    size: int

    def request(self, item: Item[object], sample: int, seed: int) -> ImageRequest:
        """What the model is asked; it is told what the image must show only if it says that it has to know."""
        prompt, reference = self.condition.sent(item, self.layouts.get(item.id))
        spec = item.spec if self.model.sees_spec else None
        return ImageRequest(item.id, sample, prompt, seed, self.size, spec, reference)


def plan_images(items: Sequence[Item[object]], asking: Asking, *, samples: int, seed: int) -> list[Planned]:
    """The images of a run, so ordered that a run which is stopped early has something of each level."""
    questions = {item.id: question_key(item) for item in items}

    def planned(item: Item[object], sample: int) -> Planned:
        own_seed = image_seed(seed, item, sample)
        key = image_key(item, asking.request(item, sample, own_seed), asking.model)
        return Planned(item, sample, key, own_seed, questions[item.id])

    return [planned(item, sample) for sample in range(samples) for item in _levels_in_turn(items)]


def _levels_in_turn(items: Sequence[Item[object]]) -> list[Item[object]]:
    place_in_level: dict[int, int] = {}
    ranked = []
    for item in items:
        place_in_level[item.level] = place_in_level.get(item.level, 0) + 1
        ranked.append((place_in_level[item.level], item.level, item))
    return [item for *_, item in sorted(ranked, key=lambda entry: entry[:2])]
