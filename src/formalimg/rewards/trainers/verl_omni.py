"""The reward for verl-omni: `compute_score`, loaded by its reward managers by module and name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.rewards.inputs import ImageLike, find_task, require_task
from formalimg.rewards.scorer import Scorer
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
    """Compute the reward of one image with the signature that verl-omni expects.

    An image without a reward is NaN, which no manager of verl-omni turns into a number: an exception counts 0 in a sum
    of several rewards unless the entry is `required`. With `missing="error"` it is an exception.

    Args:
        data_source: the name of the data set; not needed.
        solution_image: the image: channels, height and width as bytes, or a batch of one.
        ground_truth: what it is to show: the JSON text that `formalimg export --trainer verl-omni` wrote, or a task.
        extra_info: more about the row, in which the task is looked for if the ground truth has none.
        grounder: finds the objects in images; this and the following are options as of `formalimg_score`.
        grounder_options: its options.
        judge: the chat model that judges all else.
        judge_options: its options.
        url: the address of a reward server, in place of both.
        token: its token.
        missing: what an image without a reward is worth: nan or error. None: FORMALIMG_MISSING, or nan.
        others: further arguments of the manager; ignored.

    Returns:
        `score`; and for the record `passed`, 1 or 0, and `unscored`, 1 if there is no reward.
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
    task = find_task(ground_truth) or require_task(extra_info, "neither ground_truth nor extra_info")
    shape: Sequence[int] = getattr(solution_image, "shape", ())
    if len(shape) == 4:
        if shape[0] != 1:
            raise FormalimgError(f"{shape[0]} frames are not an image: only images can be scored")
        solution_image = solution_image[0]
    pairs, scorer = [(solution_image, task)], settings.scorer
    if isinstance(scorer, Scorer):  # in this loop, with the limits on concurrency that hold for all of it
        (reward,) = await scorer.score(pairs, parts=False)
    else:
        (reward,) = await asyncio.to_thread(scorer.score_all, pairs, parts=False)
    return {
        "score": settings.value(reward),
        "passed": float("nan") if reward.passed is None else float(reward.passed),
        "unscored": float(reward.score is None),
    }
