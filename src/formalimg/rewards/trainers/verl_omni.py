"""The reward for verl-omni: `compute_score`, which its reward managers load by module and name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.rewards.result import RewardScore
from formalimg.rewards.reward_images import ImageLike
from formalimg.rewards.rows import require_task, task_in
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import TaskLike
from formalimg.rewards.trainers.settings import TrainerSettings


async def compute_score(
    data_source: str,
    solution_image: ImageLike,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    grounder: str | None = None,
    grounder_options: Mapping[str, Any] | None = None,
    judge: str | None = None,
    judge_options: Mapping[str, Any] | None = None,
    url: str | None = None,
    token: str | None = None,
    missing: str | None = None,
    **others: object,
) -> dict[str, float]:
    """Return the reward of one image, as verl-omni calls for it.

    An image without a reward is NaN, which no manager of verl-omni turns into a number: an exception counts 0 in a sum
    of several rewards unless the entry is `required`. With `missing="error"` it is an exception.

    Args:
        data_source: the name of the data set; not needed.
        solution_image: the image: channels, height and width as bytes, or a batch of one.
        ground_truth: what it is to show: the JSON text that `formalimg export --trainer verl-omni` wrote, or a task.
        extra_info: more about the row, in which the task is looked for if the ground truth has none.
        grounder: finds the objects in images: `detector/…`, or a chat model that can see. None: FORMALIMG_GROUNDER, or
            `grounder` of formalimg.toml, or the judge, or `builtin/icons`, for drawings by formalimg.
        grounder_options: its options, such as `{"base_url": "http://127.0.0.1:8000/v1"}`.
        judge: the chat model that judges all else. None: FORMALIMG_JUDGE, or `judge` of formalimg.toml.
        judge_options: its options.
        url: the address of a reward server, in place of both. None: FORMALIMG_URL, if no grounder or judge is given.
        token: its token. None: FORMALIMG_TOKEN.
        missing: what an image without a reward is worth: nan or error. None: FORMALIMG_MISSING, or nan.
        others: what else the manager passes; not needed.

    Returns:
        `score`; and for the record `passed`, 1 or 0, and `unscored`, 1 if there is no reward.

    Raises:
        FormalimgError: if there is no task, or the server does not answer.
    """
    settings = TrainerSettings.choose(
        "nan",
        url=url,
        token=token,
        missing=missing,
        grounder=grounder,
        grounder_options=grounder_options,
        judge=judge,
        judge_options=judge_options,
    )
    found = await _score(settings, _one_image(solution_image), _task(ground_truth, extra_info))
    return {
        "score": settings.value(found),
        "passed": float("nan") if found.passed is None else float(found.passed),
        "unscored": float(found.score is None),
    }


async def _score(settings: TrainerSettings, image: ImageLike, task: TaskLike) -> RewardScore:
    scorer = settings.scorer
    if isinstance(scorer, Scorer):  # in this loop, with the limits on concurrency that hold for all of it
        return (await scorer.score([(image, task)], parts=False))[0]
    return (await asyncio.to_thread(scorer.score_all, [(image, task)], parts=False))[0]


def _one_image(given: ImageLike) -> ImageLike:
    shape: Sequence[int] = getattr(given, "shape", ())
    if len(shape) != 4:
        return given
    if shape[0] != 1:
        raise FormalimgError(f"{shape[0]} frames are no image: only images can be scored")
    return given[0]


def _task(ground_truth: object, extra_info: Mapping[str, Any] | None) -> TaskLike:
    return task_in(ground_truth) or require_task(extra_info, "neither ground_truth nor extra_info")
