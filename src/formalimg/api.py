"""Python API for runs: `run`, `evaluate` and `judge`."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from formalimg._util.argument_types import checks_types
from formalimg._util.lazy import lazy_exports
from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.errors import FormalimgError
from formalimg.runs.config import RunOptions
from formalimg.runs.manifest import Identity
from formalimg.runs.parties import (
    MAX_FAILURES,
    JudgeFunction,
    Reopenable,
    is_function,
    judge_of,
    model_of,
    rewriter_of,
)
from formalimg.runs.prepared_run import Output, ProgressCallback, judge_images, prepare_run
from formalimg.runs.progress import Progress
from formalimg.types import ChatModel, ImageModel, Item, Judge, Setting

if TYPE_CHECKING:
    from formalimg.judges.factory import Protocol
    from formalimg.reports.results.result import Evaluation
    from formalimg.rewards.reward_functions import reward
    from formalimg.scenes.scene import Scene
    from formalimg.scoring.scoring import score

__all__ = ["Evaluation", "evaluate", "judge", "reward", "run", "score"]

__getattr__, _ = lazy_exports(__name__)  # what is not defined here is imported when it is used

_log = logging.getLogger(__name__)


@checks_types(model="a function goes to formalimg.evaluate")
def run(
    suite: str = "knolling",
    model: str | ImageModel = "builtin/reader",
    judge: str | Judge | JudgeFunction | None = None,
    *,
    model_options: Mapping[str, object] | None = None,
    judge_options: Mapping[str, object] | None = None,
    protocol: Protocol = "default",
    items: str | Path | Iterable[Item[Any]] | None = None,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    adaptive: bool | float = False,
    against: str | Path | None = None,
    samples: int = 1,
    seed: int = 1,
    size: int = 1024,
    condition: Condition | None = None,
    style: Literal["auto"] | StyleText = "auto",
    layouts: Mapping[str, Scene] | None = None,
    rewriter: str | ChatModel | None = None,
    budget: float | None = None,
    folder: str | Path | None = None,
    preflight: bool | None = None,
    max_failures: int = MAX_FAILURES,
    progress: bool = True,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """Generate the images of a suite with an image model, judge them, and store everything in a run folder.

    Repeating the call resumes the run, however it ended. If the judge is a function, each call starts a new run unless
    `folder` names the run to resume.

    Args:
        suite: the benchmark, such as `knolling`.
        model: the image model, by name (`builtin/reader`, `folder/…`) or as an object.
        judge: the judge: by name, as an object, or any function `(image, item) -> bool | float | dict`, as
            `CallableJudge` takes it; None for `builtin/icons` if the model is built in, else for the judge of
            `FORMALIMG_JUDGE` or `formalimg.toml`.
        model_options: options of a model that is named, as `-M` on the command line: `{"quality": "low"}`.
        judge_options: options of a judge that is named, as `-J` on the command line; of a function those of
            `CallableJudge`: `name`, `settings`, `concurrency`, `threshold`.
        protocol: how the judge asks and scores: `default`, or as `published`; `paper` and `official-code` where the
            paper and its published code differ. For judges that are named.
        items: the path of the items, or the items; None for the default suite.
        levels: only items of these levels.
        per_level: the first `per_level` items of each level.
        adaptive: whether to climb level by level and stop as soon as G is clear, instead of making all images; a number
            such as 0.5 replaces the suite's pass rate for holding a level.
        against: with `adaptive`, the folder of a run: stop as soon as the model is better or worse than it.
        samples: images per item.
        seed: the base seed of all images, for models that can be seeded.
        size: width and height to request, in pixels.
        condition: how items are presented to the model; None for the prompt.
        style: the style text before the prompts: `long`, `short`, `none`; `auto` for that of the condition if it has
            one, else the one that suits the model, as on the command line.
        layouts: the layouts of the items, by id, for conditions that need them; None for their witnesses.
        rewriter: the chat model that rewrites the prompts, by name or as an object, for `Condition("rewritten")`.
        budget: stop, resumably, when the folder has cost this many US dollars in all; None for the budget of
            `formalimg.toml`, if there is one.
        folder: the run folder; None for one named after suite and model in `runs`, or where `formalimg.toml` says.
        preflight: whether judge and model are tried first, so that a run that cannot succeed costs nothing; None for
            yes, unless the environment variable FORMALIMG_PREFLIGHT is `no`.
        max_failures: stop, resumably, when model or judge have failed so often in a row; 0 for never. The `progress`
            of the result says so under `gave_up`.
        progress: whether progress is shown in a terminal or notebook, and now and then in a log file.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid, or there is no judge; the message says what to do.
    """
    arguments = locals()
    return _execute(arguments, model_of(model, model_options), is_new=folder is None and is_function(judge))


@checks_types(generate="formalimg.run takes models by name")
def evaluate(  # noqa: D417  # `run` describes the others
    generate: Callable[..., Any],
    suite: str = "knolling",
    judge: str | Judge | JudgeFunction | None = None,
    *,
    name: str = "",
    settings: Mapping[str, Setting] | None = None,
    model_options: Mapping[str, Setting] | None = None,
    batch: int = 1,
    concurrency: int = 1,
    judge_options: Mapping[str, object] | None = None,
    protocol: Protocol = "default",
    items: str | Path | Iterable[Item[Any]] | None = None,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    adaptive: bool | float = False,
    against: str | Path | None = None,
    samples: int = 1,
    seed: int = 1,
    size: int = 1024,
    condition: Condition | None = None,
    style: Literal["auto"] | StyleText = "auto",
    layouts: Mapping[str, Scene] | None = None,
    rewriter: str | ChatModel | None = None,
    budget: float | None = None,
    folder: str | Path | None = None,
    preflight: bool | None = None,
    max_failures: int = MAX_FAILURES,
    progress: bool = True,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """Evaluate any Python function that generates images.

    Each call starts a new run unless `folder` names the run to resume, because the function may have changed.

    Args:
        generate: takes a prompt, and also `seed` and `size` if it has parameters of these names; returns an image: a
            PIL image, an array or tensor, the bytes of a PNG, JPEG or WebP file, the path of one, or a list of one of
            these. None means that it declines. Or a diffusers pipeline, which gets a generator with the seed, a width
            and a height for each image.
        suite: the benchmark, such as `knolling`; like all parameters after `concurrency`, as for `run`.
        judge: the judge, as for `run`.
        name: the name of the model in tables.
        settings: other settings that affect its images, to be recorded.
        model_options: further arguments of the function, which are recorded too: `{"steps": 30}`.
        batch: with more than 1, the function takes a list of prompts (and of seeds) and returns a list; a pipeline
            generates this many images at once.
        concurrency: the maximum number of concurrent calls.

    Raises:
        FormalimgError: as for `run`.
    """
    arguments = locals()
    from formalimg.models.python_function import wrap_function

    model = wrap_function(
        generate, name=name, arguments=model_options, settings=settings, batch=batch, concurrency=concurrency
    )
    return _execute(arguments, model, is_new=folder is None)


@checks_types()
def judge(
    run: str | Path | Evaluation,
    judge: str | Judge | JudgeFunction | None = None,
    *,
    judge_options: Mapping[str, object] | None = None,
    protocol: Protocol = "default",
    budget: float | None = None,
    progress: bool = True,
    on_progress: ProgressCallback | None = None,
) -> Evaluation:
    """Judge the images of a run that this judge has not scored yet, and return its verdicts on all of them.

    Verdicts of other judges are kept: an earlier `Evaluation` of the same folder still shows those of its own judge.

    Args:
        run: the run folder, or the result of an earlier call.
        judge: the judge, by name, as an object, or as a function, as for `run`.
        judge_options: options of the judge, as for `run`.
        protocol: how the judge asks and scores, as for `run`.
        budget: stop, resumably, when the folder has cost this many US dollars in all.
        progress: whether progress is shown, as for `run`.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid; the message says what to do.
    """
    from formalimg.reports.results.result import Evaluation

    if not isinstance(run, str | Path | Evaluation):
        raise FormalimgError(f"run cannot be {run!r}: give a run folder, or what an earlier call returned")
    folder = run.folder if isinstance(run, Evaluation) else Path(run)
    manifest = Evaluation(folder).run.manifest
    by = judge_of(manifest.suite, manifest.model.name, judge, judge_options, protocol, manifest.task, making=False)
    title = f"judging {manifest.suite}, {manifest.model.name}, by {by.instance.name}"
    final_progress = judge_images(folder, by, title, _script_output(progress, on_progress), budget=budget)
    return _evaluation(folder, final_progress, by.instance)


def _execute(arguments: Mapping[str, Any], model: ImageModel, *, is_new: bool) -> Evaluation:
    """Execute a run from the arguments of an API call, in a new folder if `is_new`."""
    by = judge_of(arguments["suite"], model.name, arguments["judge"], arguments["judge_options"], arguments["protocol"])
    folder, adaptive = arguments["folder"], arguments["adaptive"]
    if arguments["against"] is not None and adaptive is False:
        raise FormalimgError("against= needs an adaptive run: give adaptive=True too")
    options_by_name = {option.name: arguments[option.name] for option in fields(RunOptions) if option.name in arguments}
    options_by_name |= {"rewriter": rewriter_of(arguments["rewriter"]), "budget": _budget(arguments["budget"])}
    options_by_name |= {"runs": _runs(folder), "folder": None if folder is None else Path(folder)}
    options = RunOptions(**options_by_name)
    options.safeguards((), _log.warning)  # which refuses wrong numbers before anything is written
    prepared = prepare_run(options, Reopenable.here(model), [by])
    style = prepared.config.condition.style
    title = prepared.title + (f", {style} style text" if style != "none" else "")
    output = _script_output(arguments["progress"], arguments["on_progress"])
    with _new_folder(_dated(prepared.folder)) if is_new else contextlib.nullcontext(prepared.folder) as new_folder:
        prepared = replace(prepared, folder=new_folder)
        (final_progress,) = prepared.execute(output, title)
    return _evaluation(prepared.folder, final_progress, by.instance)


def _evaluation(folder: Path, final_progress: Progress, judge: Judge) -> Evaluation:
    from formalimg.reports.results.result import Evaluation  # here, because commands print tables instead

    return Evaluation(folder, final_progress, Identity(judge.name, judge.settings))


def _script_output(progress: bool, on_progress: ProgressCallback | None) -> Output:
    """Return the output for an API call, with optional progress display and user callback."""
    callback = on_progress or (lambda _: None)

    @contextlib.contextmanager
    def open_display(title: str, _: Callable[[], str]) -> Iterator[ProgressCallback]:
        if not progress:
            yield callback
            return
        from formalimg.runs.progress import script_progress

        with script_progress(title) as show:

            def report_progress(current: Progress) -> None:
                show(current)
                callback(current)

            yield report_progress

    return Output(open_display)


def _dated(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-{datetime.now():%Y%m%d-%H%M%S}")


def _runs(folder: str | Path | None = None) -> Path:
    """Return the configured folder of runs, or an empty path if the run folder itself is given."""
    from formalimg.runs.defaults.settings import load_defaults

    return load_defaults().runs.value if folder is None else Path()


def _budget(budget: float | None) -> float | None:
    """Return the given budget, or the configured one if None; an infinite budget means no limit."""
    from formalimg.runs.defaults.settings import load_defaults

    budget = load_defaults().budget.value if budget is None else budget
    return None if budget is not None and math.isinf(budget) else budget


@contextlib.contextmanager
def _new_folder(preferred: Path) -> Iterator[Path]:
    """Create and yield a new folder, numbered if the preferred name exists; it is removed if it stays empty."""
    preferred.parent.mkdir(parents=True, exist_ok=True)
    numbered = (preferred.with_name(f"{preferred.name}-{number}") for number in range(2, 1000))
    for folder in (preferred, *numbered):
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            break
    else:
        raise FileExistsError(preferred)
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):  # unless it is empty
            folder.rmdir()
