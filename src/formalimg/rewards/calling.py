"""Rewards in one call, and in the shape in which trainers call for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.rewards.images import ImageLike
from formalimg.rewards.scored import Scored
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import FORMS, TaskLike

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Missing: TypeAlias = Literal["none", "nan", "zero", "error"]
"""What stands for an image that nobody can score: None, not a number, 0, or an error."""

_STANDS_FOR: Mapping[Missing, float | None] = {"none": None, "nan": float("nan"), "zero": 0.0}


class Picked(NamedTuple):
    """What a reward function gives a trainer.

    Attributes:
        scores: one number for each image.
        details: `passed`, `reason` and `parts` of each image, and `unscored`: how many have no score of their own.
    """

    scores: NDArray[np.float64]
    details: dict[str, Any]


class Scoring(Protocol):
    """Who gives rewards: a `Scorer` here, or a client of a server that has one."""

    def score_all(self, pairs: Iterable[tuple[ImageLike, TaskLike]], *, parts: bool = True) -> list[Scored]:
        """The rewards of images, in their order, with their parts or without."""
        ...


class RewardFunction(Protocol):
    """What trainers of the Flow-GRPO kind call: images, their prompts, and what is known of each."""

    def __call__(
        self, images: Iterable[ImageLike], prompts: Sequence[str], metadata: Sequence[Mapping[str, Any]]
    ) -> Picked:
        """The rewards of a batch."""
        ...


def reward(
    images: Iterable[ImageLike],
    items: Iterable[TaskLike],
    *,
    scorer: Scoring | None = None,
    missing: Missing = "none",
) -> list[float | None]:
    """The dense rewards of images: from 0 to 1, and 1 if and only if an image passes.

    Args:
        images: images (bytes, paths, PIL images, arrays, tensors, also a batch of them as one), or scenes.
        items: what each is to show: an item, suite and id, a formula, or questions.
        scorer: who scores; None for one with the embedded grounder, which reads drawings by formalimg only.
        missing: what stands for an image that nobody can score. None unless told otherwise: a 0 would teach a model
            to avoid images that the judge cannot read.

    Raises:
        FormalimgError: if something was asked for that cannot be; with `missing="error"`, also for an image that
            nobody can score.
    """
    return [_number(scored, missing, place) for place, scored in enumerate(_scored(images, items, scorer, parts=False))]


def reward_function(
    scorer: Scoring | None = None, *, missing: Literal["nan", "zero", "error"] = "error", parts: bool = True
) -> RewardFunction:
    """A function for trainers of the Flow-GRPO kind: `(images, prompts, metadata)` in, `(scores, details)` out.

    The metadata of an image say what it is to show: `suite` and `id`, or `formula` and `vocabulary`, or `questions`.
    Other keys in them are left alone, and so are the prompts.

    Args:
        scorer: who scores; None for one with the embedded grounder.
        missing: what stands for an image that nobody can score. An error unless told otherwise: a training should
            not go on with numbers that nobody gave.
        parts: whether the details have parts and reasons. Without, the scores are the same and come sooner.
    """
    _require_known(missing, ("nan", "zero", "error"))
    return _Rewards(scorer, missing, parts)


@dataclass(frozen=True)
class _Rewards:
    """A reward function that can be sent to other processes, as those that load data."""

    scorer: Scoring | None
    missing: Missing
    parts: bool

    def __call__(
        self, images: Iterable[ImageLike], prompts: Sequence[str], metadata: Sequence[Mapping[str, Any]]
    ) -> Picked:
        import numpy as np

        tasks = [_task_in(entry, place) for place, entry in enumerate(metadata)]
        found = _scored(images, tasks, self.scorer, parts=self.parts)
        scores = [_number(scored, self.missing, place) for place, scored in enumerate(found)]
        details = {
            "passed": [scored.passed for scored in found],
            "reason": [scored.reason for scored in found],
            "parts": [[part.to_json() for part in scored.parts] for scored in found],
            "unscored": sum(scored.score is None for scored in found),
        }
        return Picked(np.asarray(scores, np.float64), details)


def _scored(
    images: Iterable[ImageLike], tasks: Iterable[TaskLike], scorer: Scoring | None, *, parts: bool
) -> list[Scored]:
    if isinstance(images, str | bytes | bytearray | Mapping) or not isinstance(images, Iterable):
        raise FormalimgError("give a list of images, even for one")
    if isinstance(tasks, str | bytes | Mapping):
        raise FormalimgError("give a list of items, one for each image")
    images, asked = list(images), list(tasks)
    if len(images) != len(asked):
        raise FormalimgError(f"{len(images)} images and {len(asked)} items: give one item for each image")
    return (scorer or _usual_scorer()).score_all(zip(images, asked, strict=True), parts=parts)


@cache
def _usual_scorer() -> Scorer:
    return Scorer()


def _number(scored: Scored, missing: Missing, place: int) -> float | None:
    _require_known(missing, get_args(Missing))
    if scored.score is not None:
        return scored.score
    if missing == "error":
        raise FormalimgError(f"image {place} has no reward: {scored.reason}")
    return _STANDS_FOR[missing]


def _require_known(missing: str, known: Sequence[str]) -> None:
    if missing not in known:
        raise FormalimgError(f"nothing is known to stand for missing rewards as {missing!r}: use {', '.join(known)}")


def _task_in(metadata: Mapping[str, Any], place: int) -> TaskLike:
    for told, keys in FORMS.items():
        if told in metadata and (told != "id" or "suite" in metadata):
            return {key: metadata[key] for key in keys if key in metadata}
    raise FormalimgError(f"metadata {place} do not say what the image is to show: give suite and id, or a formula")
