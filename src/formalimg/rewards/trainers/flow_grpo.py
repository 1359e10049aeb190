"""Rewards for flow_grpo: functions for its registry, local or through a reward server, without pickle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

from formalimg.errors import FormalimgError
from formalimg.rewards.inputs import ImageLike
from formalimg.rewards.reward_functions import RewardFunction, build_tasks, reward_function
from formalimg.rewards.trainers.settings import TrainerOptions, TrainerSettings


class GroupedRewards(NamedTuple):
    """The result of flow_grpo's GenEval reward function."""

    scores: list[float]  # the reward of each image, from 0 to 1
    rewards: list[float]  # 1 for each image that passes, else 0
    strict_rewards: list[float]  # the same: here an image passes only if everything holds
    # `rewards` by the `tag` in the metadata; empty in training, where processes gather lists of the same length
    group_rewards: dict[str, list[float]]
    group_strict_rewards: dict[str, list[float]]  # `strict_rewards` in the same way


# Both must be plain functions with a parameter `device`: flow_grpo looks for it in their code.


def formalimg_score(device: object = None, **options: Unpack[TrainerOptions]) -> RewardFunction:
    """Return a reward function for the registry of flow_grpo.

    The registry passes only the device, so the environment sets the rest; or register your own function that calls this
    one with options. An image without a reward is an error, or NaN, to be left out of its group.

    Args:
        device: passed to every reward by trainers; ignored.
        options: `grounder`, which finds the objects in images (`detector/…`, or a chat model that can see; by default
            FORMALIMG_GROUNDER, or `grounder` of formalimg.toml, or the judge, or `builtin/icons`, for drawings by
            formalimg); `judge`, the chat model that judges all else (FORMALIMG_JUDGE, or `judge` of formalimg.toml);
            `grounder_options` and `judge_options`, such as `{"base_url": "http://127.0.0.1:8000/v1"}`; `url` and
            `token` of a reward server in place of both (FORMALIMG_URL, if no grounder or judge is given, and
            FORMALIMG_TOKEN); `missing`, what an image without a reward is worth: nan or error (FORMALIMG_MISSING, or
            error).
    """
    settings = TrainerSettings.choose("error", **options)
    return reward_function(settings.scorer, missing=settings.missing)


def geneval_score(device: object = None, **options: Unpack[TrainerOptions]) -> Callable[..., GroupedRewards]:
    """Return a replacement for flow_grpo's GenEval reward function that does not exchange pickles.

    The metadata of an image say what it is to show; metadata and options are those of `formalimg_score`.
    """
    settings = TrainerSettings.choose("error", **options)

    def score(
        images: Iterable[ImageLike], prompts: Sequence[str], metadatas: Sequence[Any], only_strict: bool
    ) -> GroupedRewards:
        return compute_grouped_rewards(list(images), list(metadatas), only_strict, settings, prompts)

    return score


def compute_grouped_rewards(
    images: Sequence[ImageLike],
    metadatas: Sequence[Any],
    only_strict: bool,
    settings: TrainerSettings,
    prompts: Sequence[str] = (),
) -> GroupedRewards:
    """Compute the rewards of images in the format of flow_grpo's GenEval server."""
    if len(images) != len(metadatas):
        raise FormalimgError(f"{len(images)} images and {len(metadatas)} metadata: give one for each image")
    tasks = build_tasks(prompts[: len(images)], metadatas)
    rewards = settings.scorer.score_all(zip(images, tasks, strict=True), parts=False)
    scores = [settings.value(reward, index) for index, reward in enumerate(rewards)]
    passes = [float("nan") if reward.passed is None else float(reward.passed) for reward in rewards]
    groups: dict[str, list[float]] = defaultdict(list)
    if not only_strict:
        for metadata, value in zip(metadatas, passes, strict=True):
            groups[str(metadata.get("tag", "all")) if isinstance(metadata, Mapping) else "all"].append(value)
    return GroupedRewards(
        scores, passes, list(passes), dict(groups), {tag: list(values) for tag, values in groups.items()}
    )
