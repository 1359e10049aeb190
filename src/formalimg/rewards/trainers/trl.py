"""The reward for TRL's GRPO, for completions that are images or image layouts written by a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack, cast

from formalimg.errors import FormalimgError
from formalimg.models.structured_output import find_json, strip_thoughts
from formalimg.rewards.inputs import ImageLike, load_scene, require_task
from formalimg.rewards.reward_functions import BatchScorer
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import TaskLike
from formalimg.rewards.trainers.settings import NoReward, TrainerOptions, TrainerSettings
from formalimg.types import Unscored

CompletionReward: TypeAlias = Callable[..., list[float]]
"""A reward function as TRL calls it: with prompts and completions, and every other column of the data set."""

_MAX_TEXT = 1_000_000  # Characters of a completion that are read


def completion_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
    """Compute the rewards of completions. Pass this function directly to `GRPOTrainer`.

    A completion is an image (a PIL image, an array, bytes), or a text with a plan of one: a layout in the grounding
    format, as in `{"objects": [{"label", "color", "box_2d"}]}`. A text without a plan that can be read is a failure of
    the model, and has 0. The columns say what each is to show: `metadata`, as `formalimg export --trainer trl` writes
    it, or `suite` and `id`, or `formula` and `vocabulary`.

    FORMALIMG_URL, or FORMALIMG_GROUNDER and FORMALIMG_JUDGE, or formalimg.toml say who looks at images; the options of
    `completion_reward_function` do too. An image that cannot be scored is an error; TRL sums NaN as 0, so choose
    FORMALIMG_MISSING=nan only beside a reward that is always there.

    Args:
        prompts: the prompts, by which items are found where the columns name none.
        completions: texts, lists of messages, or images.
        columns: the other columns, one value for each completion.
    """
    return _score_completions(completions, {"prompt": prompts, **columns}, TrainerSettings.choose("error"))


def completion_reward_function(
    scorer: BatchScorer | None = None, **options: Unpack[TrainerOptions]
) -> CompletionReward:
    """Return a version of `completion_reward` with a custom grounder, judge, server or scorer."""
    if scorer is None:
        settings = TrainerSettings.choose("error", **options)
    elif any(value for name, value in options.items() if name != "missing"):
        raise FormalimgError("a scorer has its own grounder and judge: leave out either the scorer or these")
    else:
        settings = TrainerSettings(missing=cast(NoReward, options.get("missing") or "error"))

    def completion_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
        return _score_completions(completions, {"prompt": prompts, **columns}, settings, scorer)

    return completion_reward  # a function: TRL calls its reward by its __name__


def _score_completions(
    completions: Sequence[Any], columns: Mapping[str, Any], settings: TrainerSettings, scorer: BatchScorer | None = None
) -> list[float]:
    scorer = scorer or settings.scorer
    columns = {
        key: column
        for key, column in columns.items()
        if isinstance(column, Sequence) and not isinstance(column, str | bytes)
    }
    tasks: list[TaskLike] = []
    for index in range(len(completions)):
        row = {key: column[index] for key, column in columns.items() if index < len(column)}
        tasks.append(require_task(row, f"row {index}"))
    if isinstance(scorer, Scorer):  # so that a wrong row is an error even if no completion has a plan
        tasks = [scorer.prepare(task) for task in tasks]
    images = {index: _find_image(completion) for index, completion in enumerate(completions)}
    pairs = {index: (image, tasks[index]) for index, image in images.items() if image is not None}
    rewards = dict(zip(pairs, scorer.score_all(pairs.values(), parts=False), strict=True))
    return [settings.value(rewards[index], index) if index in rewards else 0.0 for index in images]


def _find_image(completion: Any) -> ImageLike | None:
    content = _read_content(completion)
    if not isinstance(content, str):
        return content
    layout = _find_layout(content)  # never a path: the text is the model's own
    scene = None if layout is None else load_scene(layout)
    return None if isinstance(scene, Unscored) else scene


def _find_layout(text: str) -> Mapping[str, Any] | None:
    try:
        values = [match.value for match in find_json(strip_thoughts(text[:_MAX_TEXT]), lists=False)]
    except (ValueError, RecursionError):
        return None
    match values:
        case [dict() as layout]:
            return layout
        case [list() as objects]:
            return {"objects": objects}
    return None  # nothing, or plans that contradict each other


def _read_content(completion: Any) -> Any:
    """Return the content of the last message of a conversation, preferring its image, or the completion itself."""
    if not (isinstance(completion, list) and completion and isinstance(completion[-1], Mapping)):
        return completion
    content = completion[-1].get("content", "")
    if not isinstance(content, list):
        return content
    for part in reversed(content):
        if isinstance(part, Mapping) and part.get("type") == "image":
            return part.get("image")
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
