"""Reward functions: rewards in a single call, in the format of RL trainers (Flow-GRPO), and the models they use."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.judges.base import part_to_json
from formalimg.judges.factory import DETECTORS, DRAWN, ICONS, JUDGE_OPTIONS, OCR
from formalimg.rewards.inputs import ImageLike, require_task
from formalimg.rewards.result import Missing, RewardScore
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.tasks import TaskLike
from formalimg.runs.defaults.settings import ConfiguredJudge, load_defaults

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FOR_GROUNDERS_ONLY = ("boxes",)  # options of a chat model that say how it is asked for boxes and nothing else
_scorers: dict[str, Scorer] = {}  # scorers by their models
_log = logging.getLogger(__name__)


class TrainerRewards(NamedTuple):
    """The result of a reward function."""

    scores: NDArray[np.float64]  # one number for each image
    # `passed`, `reason` and `parts` of each image, and `unscored`: how many have no score of their own
    details: dict[str, Any]


class BatchScorer(Protocol):
    """An object that scores batches, such as a `Scorer` or a client of a reward server."""

    def score_all(self, pairs: Iterable[tuple[ImageLike, TaskLike]], *, parts: bool = True) -> list[RewardScore]:
        """Score the pairs in order, with or without parts."""
        ...


class RewardFunction(Protocol):
    """A reward function as called by Flow-GRPO trainers, with images, prompts and metadata."""

    def __call__(
        self, images: Iterable[ImageLike], prompts: Sequence[str], metadata: Sequence[Mapping[str, Any]]
    ) -> TrainerRewards:
        """Return the rewards of a batch."""
        ...


def reward(
    images: Iterable[ImageLike],
    items: Iterable[TaskLike],
    *,
    grounder: str | None = None,
    grounder_options: Mapping[str, Any] | None = None,
    judge: str | None = None,
    judge_options: Mapping[str, Any] | None = None,
    scorer: BatchScorer | None = None,
    missing: Missing = "none",
) -> list[float | None]:
    """Return the dense rewards of images: from 0 to 1, and 1 if and only if an image passes.

    Args:
        images: images (bytes, paths, PIL images, arrays, tensors, also a batch of them as one), or scenes.
        items: what each is to show: an item, suite and id, a formula, or questions.
        grounder: finds the objects in images: `detector/…`, or a chat model that can see. None: FORMALIMG_GROUNDER, or
            `grounder` of formalimg.toml, or the judge, or `builtin/icons`, for drawings by formalimg.
        grounder_options: its options, such as `{"base_url": "http://127.0.0.1:8000/v1"}`.
        judge: the chat model that judges all else. None: FORMALIMG_JUDGE, or `judge` of formalimg.toml.
        judge_options: its options.
        scorer: a scorer of your own, or a client of a reward server, in place of these.
        missing: the value for an image that cannot be scored. None by default: a 0 would teach a model to avoid
            images that the judge cannot read.
    """
    if scorer is None:
        models = choose_models(grounder, judge, grounder_options=grounder_options, judge_options=judge_options)
        scorer = models.scorer
    elif any((grounder, grounder_options, judge, judge_options)):
        raise FormalimgError("a scorer has its own grounder and judge: leave out either the scorer or these")
    _require_choice(missing, get_args(Missing))
    scores = _score_batch(images, items, scorer, parts=False)
    return [score.number(missing, index) for index, score in enumerate(scores)]


def reward_function(
    scorer: BatchScorer | None = None, *, missing: Literal["nan", "zero", "error"] = "error", parts: bool = True
) -> RewardFunction:
    """Return a reward function for Flow-GRPO trainers that maps `(images, prompts, metadata)` to `(scores, details)`.

    The metadata of an image say what it is to show: `suite` and `id`, or `formula` and `vocabulary`, or `questions`.
    Otherwise, its prompt must be that of an item. Other keys in them, such as `tag`, are ignored.

    Args:
        scorer: the scorer; None for one as `reward` has it.
        missing: the value for an image that cannot be scored. An error by default, because training should not continue
            with made-up numbers.
        parts: whether the details have parts and reasons. Without them, the same scores are returned sooner.
    """
    _require_choice(missing, ("nan", "zero", "error"))
    return _TrainerFunction(scorer, missing, parts)


@dataclass(frozen=True)
class _TrainerFunction:
    """A picklable reward function, for processes that load data."""

    scorer: BatchScorer | None
    missing: Missing
    parts: bool

    def __call__(
        self, images: Iterable[ImageLike], prompts: Sequence[str], metadata: Sequence[Mapping[str, Any]]
    ) -> TrainerRewards:
        import numpy as np

        rewards = _score_batch(images, build_tasks(prompts, metadata), self.scorer, parts=self.parts)
        numbers = [reward.number(self.missing, index) for index, reward in enumerate(rewards)]
        details = {
            "passed": [reward.passed for reward in rewards],
            "reason": [reward.reason for reward in rewards],
            "parts": [[part_to_json(part) for part in reward.parts] for reward in rewards],
            "unscored": sum(reward.score is None for reward in rewards),
        }
        return TrainerRewards(np.asarray(numbers, np.float64), details)


def _score_batch(
    images: Iterable[ImageLike], tasks: Iterable[TaskLike], scorer: BatchScorer | None, *, parts: bool
) -> list[RewardScore]:
    if isinstance(images, str | bytes | bytearray | Mapping) or not isinstance(images, Iterable):
        raise FormalimgError("give a list of images, even for one")
    if isinstance(tasks, str | bytes | Mapping):
        raise FormalimgError("give a list of items, one for each image")
    images, tasks = list(images), list(tasks)
    if len(images) != len(tasks):
        raise FormalimgError(f"{len(images)} images and {len(tasks)} items: give one item for each image")
    return (scorer or choose_models().scorer).score_all(zip(images, tasks, strict=True), parts=parts)


def _require_choice(missing: str, choices: Sequence[str]) -> None:
    if missing not in choices:
        raise FormalimgError(f"unknown value {missing!r} for missing rewards: use {', '.join(choices)}")


def build_tasks(prompts: Sequence[str], metadata: Sequence[object]) -> list[Mapping[str, Any]]:
    """Return the task of each image from its metadata, or find the item by prompt."""
    rows = zip_longest(list(metadata or ()), list(prompts if prompts is not None else ()))
    return [require_task(row, f"metadata {index}", prompt) for index, (row, prompt) in enumerate(rows)]


# --- the models


@dataclass(frozen=True)
class RewardModels:
    """The grounder and judges used for rewards."""

    # finds the objects, for formulas over boxes and colours
    grounder: ConfiguredJudge = field(default_factory=lambda: ConfiguredJudge(ICONS))
    judge: ConfiguredJudge | None = None  # the chat model that judges all else; None for none
    judges: Mapping[str, ConfiguredJudge] = field(default_factory=dict)  # those of single suites, in its place

    @property
    def lines(self) -> list[str]:
        """A line for each model configured by the environment or a file."""
        roles = {"grounder": self.grounder, "judge": self.judge}
        roles |= {f"judge of {name}": judge for name, judge in self.judges.items()}
        return [f"{role} {model.name} from {model.source}" for role, model in roles.items() if model and model.source]

    def open(self, **options: Any) -> Scorer:
        """Open a scorer with these models."""
        return Scorer(
            **{"grounder": self.grounder.name, "grounder_options": self.grounder.options, **options},
            judge=None if self.judge is None else self.judge.name,
            judge_options=None if self.judge is None else self.judge.options,
            judges=self.judges,
        )

    @property
    def scorer(self) -> Scorer:
        """A scorer with these models, shared so that formulas are prepared only once."""
        key = repr(self)
        if key not in _scorers:
            for line in self.lines:
                _log.info("%s", line)
            _scorers[key] = self.open()
        return _scorers[key]


def choose_models(
    grounder: str | None = None,
    judge: str | None = None,
    *,
    grounder_options: Mapping[str, Any] | None = None,
    judge_options: Mapping[str, Any] | None = None,
) -> RewardModels:
    """Choose the grounder and judge from the arguments, the environment, formalimg.toml or the defaults.

    As in runs, a judge that can find objects is also the grounder, unless a grounder is named or configured.
    """
    defaults = load_defaults()
    chosen_judge = _choose_model(judge, judge_options, defaults.judge())
    if chosen_judge is None and judge_options:
        raise FormalimgError("judge options need a judge: name one, or leave them out")
    chosen_grounder = _choose_model(grounder, grounder_options, defaults.grounder)
    judges: dict[str, ConfiguredJudge] = {}
    if judge is None:
        for name in {name: None for file in defaults.files for name in file.suites}:
            model = defaults.judge(name)
            if model and (
                chosen_judge is None or (model.name, model.source) != (chosen_judge.name, chosen_judge.source)
            ):
                judges[name] = model
    if grounder is not None:
        judges = {name: suite_judge for name, suite_judge in judges.items() if not suite(name).is_grounded}
    if chosen_grounder is None:
        chosen_grounder, chosen_judge = _split_judge(chosen_judge, _option_texts(grounder_options))
    elif chosen_judge is not None and _finds_objects_only(chosen_judge.name):
        if judge is not None:
            raise FormalimgError(f"{judge} only detects objects: name it as the grounder")
        chosen_judge = None
    return RewardModels(chosen_grounder, chosen_judge, judges)


def _choose_model(
    name: str | None, options: Mapping[str, Any] | None, configured: ConfiguredJudge | None
) -> ConfiguredJudge | None:
    texts = _option_texts(options)
    if name is not None:
        return ConfiguredJudge(name, texts)
    return configured and ConfiguredJudge(configured.name, {**configured.options, **texts}, configured.source)


def _split_judge(
    judge: ConfiguredJudge | None, options: Mapping[str, str]
) -> tuple[ConfiguredJudge, ConfiguredJudge | None]:
    """Split a configured judge into a default grounder, if it can find objects, and a judge."""
    if judge is None or judge.name == DRAWN or judge.name.startswith(OCR):
        return ConfiguredJudge(ICONS, options), judge
    if _finds_objects_only(judge.name):
        return ConfiguredJudge(judge.name, {**judge.options, **options}, judge.source), None
    for_grounder = {
        key: value for key, value in judge.options.items() if key not in JUDGE_OPTIONS or key in _FOR_GROUNDERS_ONLY
    }
    for_judge = {key: value for key, value in judge.options.items() if key not in _FOR_GROUNDERS_ONLY}
    grounder = ConfiguredJudge(judge.name, {**for_grounder, **options}, judge.source)
    return grounder, ConfiguredJudge(judge.name, for_judge, judge.source)


def _finds_objects_only(name: str) -> bool:
    return name == ICONS or name.startswith(DETECTORS)


def _option_texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Convert options to text, as on a command line."""
    return {
        key: ("on" if value else "off") if isinstance(value, bool) else str(value)
        for key, value in (options or {}).items()
    }
