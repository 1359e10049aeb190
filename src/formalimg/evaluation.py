"""Evaluate an image model in one call: `evaluate` and `run`; judge the images of a run again: `judge`."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from formalimg import __version__
from formalimg.config import default_judge, load_defaults
from formalimg.errors import FormalimgError
from formalimg.judges import CallableJudge, Judge, Protocol, check_protocol, open_judge
from formalimg.models import (
    CallableModel,
    ChatModel,
    ImageModel,
    Setting,
    open_chat_model,
    open_image_model,
    option_texts,
    require_parameters,
)
from formalimg.results import Evaluation
from formalimg.runs import (
    MAX_FAILURES,
    Identity,
    Progress,
    RunBuilder,
    RunConfig,
    Safeguards,
    execute,
    judge_run,
    preflight_by_default,
    run_name,
    script_progress,
)
from formalimg.scenes import Scene
from formalimg.suites import Condition, Item, StyleText

_log = logging.getLogger(__name__)

JudgeFunction: TypeAlias = Callable[[Any, Item[Any]], Any]
"""Takes a PIL image and an item; see `CallableJudge` for what it may return."""

ProgressCallback: TypeAlias = Callable[[Progress], None]


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

    The same call again resumes where the last one ended, whatever ended it. What a function as a judge does is unknown,
    so with one each call is a new run, unless `folder` names the run to resume.

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
        adaptive: whether to climb level by level and stop as soon as G is clear, instead of making all images; a rate
            such as 0.5 is the one that a held level has to reach, in place of the suite's.
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
    model = _opened_model(model, model_options)
    is_new = folder is None and _is_function(judge)
    judge = _opened_judge(suite, model.name, judge, judge_options, protocol)
    if style != "auto":
        condition = replace(condition or Condition(), style=style)
    if against is not None and adaptive is False:
        raise FormalimgError("a run is compared with another one look by look: give adaptive=True too")
    builder = RunBuilder(
        suite,
        f"formalimg {__version__}",
        items,
        levels=levels,
        per_level=per_level,
        samples=samples,
        seed=seed,
        size=size,
        condition=condition,
        auto_style=style == "auto" and (condition is None or condition.style == "none"),
        layouts=layouts,
        budget=_budget(budget),
        rewriter=open_chat_model(rewriter) if isinstance(rewriter, str) else rewriter,
        kind="adaptive" * (adaptive is not False) + (f" against {Path(against).absolute().name}" if against else ""),
    )
    place = builder.folder(model, load_defaults().runs.value) if folder is None else Path(folder)
    safeguards = Safeguards(preflight_by_default() if preflight is None else preflight, max_failures)
    config = builder.config(model, place)
    work = execute if adaptive is False else _adaptive(config, judge, adaptive, against)
    place = _new_folder(_dated(place)) if is_new else place
    with _shown(_title(config), progress, on_progress) as callback:
        done = work(config, place, judge, on_progress=callback, safeguards=safeguards)
    return Evaluation(place, done, _identity(judge))


def evaluate(
    generate: Callable[..., Any],
    suite: str = "knolling",
    *,
    name: str = "",
    settings: Mapping[str, Setting] | None = None,
    model_options: Mapping[str, Setting] | None = None,
    batch: int = 1,
    concurrency: int = 1,
    folder: str | Path | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate any Python function that generates images.

    What a function does is unknown, so each call is a new run, unless `folder` names the run to resume.

    Args:
        generate: takes a prompt, and also `seed` and `size` if it has parameters of these names; returns a PIL image,
            the bytes of a PNG, JPEG or WebP file, or the path of one. None means that it declines.
        suite: the benchmark, such as `knolling`.
        name: the name of the model in tables.
        settings: what shapes its images and should be on record.
        model_options: further arguments of the function, which are recorded too: `{"steps": 30}`.
        batch: with more than 1, the function takes a list of prompts (and of seeds) and returns a list.
        concurrency: the maximum number of concurrent calls.
        folder: the run folder; None for a new one in `runs`.
        options: as for `run`: judge, judge_options, protocol, items, levels, per_level, adaptive, against, samples,
            seed, size, condition, style, layouts, rewriter, budget, preflight, max_failures, progress, on_progress.
    """
    given = dict(model_options or {})
    function = functools.partial(generate, **given) if given and callable(generate) else generate
    named = name or f"python/{getattr(generate, '__qualname__', type(generate).__name__)}"
    require_parameters(generate, given, named)
    model = CallableModel(
        function, name=named, settings={**given, **(settings or {})}, batch=batch, concurrency=concurrency
    )
    if folder is None:
        if options.get("judge") is None:  # a refusal leaves no folder behind
            default_judge(suite, model.name, protocol=options.get("protocol", "default"), words="python")
        folder = _new_folder(_dated(load_defaults().runs.value / run_name(suite, model.name)))
    return run(suite, model, folder=folder, **options)


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

    Verdicts of other judges stay: an earlier `Evaluation` of the same folder still shows those of its own judge.

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
    place = run.folder if isinstance(run, Evaluation) else Path(run)
    manifest = Evaluation(place).run.manifest
    opened = _opened_judge(
        manifest.suite, manifest.model.name, judge, judge_options, protocol, manifest.task, making=False
    )
    title = f"judging {manifest.suite}, {manifest.model.name}, by {opened.name}"
    with _shown(title, progress, on_progress) as callback:
        return Evaluation(place, judge_run(place, opened, budget=budget, on_progress=callback), _identity(opened))


def _adaptive(
    config: RunConfig, judge: Judge, adaptive: bool | float, against: str | Path | None
) -> Callable[..., Progress]:
    """Return what executes an adaptive run."""
    from formalimg.runs import execute_adaptive, plan_adaptive  # here, because few runs are adaptive

    epsilon = None if adaptive is True else adaptive
    plan = plan_adaptive(config, judge, epsilon=epsilon, against=None if against is None else Path(against))
    return functools.partial(execute_adaptive, plan=plan)


def _opened_model(model: str | ImageModel, options: Mapping[str, object] | None) -> ImageModel:
    if isinstance(model, str):
        return open_image_model(model, option_texts(options or {}))
    if options:
        raise FormalimgError(f"model_options are for models by name: give them to {model.name} when it is opened")
    return model


def _opened_judge(
    suite: str,
    model: str,
    judge: str | Judge | JudgeFunction | None,
    options: Mapping[str, object] | None,
    protocol: Protocol,
    task: str = "image",
    *,
    making: bool = True,
) -> Judge:
    """Open a judge by its name, or the default for the images of a model; functions become judges."""
    if judge is None or isinstance(judge, str):
        texts = option_texts(options or {})
        if judge is None:
            default = default_judge(suite, model, task=task, protocol=protocol, making=making, words="python")
            if default is not None:
                _log.warning("%s", default)
                judge, texts = default.name, {**default.options, **texts}
        return open_judge(suite, judge, texts, task, protocol)
    check_protocol(protocol)
    if protocol != "default":
        raise FormalimgError(
            f"the protocol {protocol} needs a judge by its name: open it with open_judge(…, protocol=…)"
        )
    if not _is_function(judge):
        if options:
            raise FormalimgError("judge_options are for judges by name, and functions: set them when it is opened")
        return judge  # type: ignore[return-value]
    known = ("name", "settings", "concurrency", "threshold")
    for option in options or {}:
        if option not in known:
            raise FormalimgError(f"a function as a judge has no option {option!r}: it has {', '.join(known)}")
    arguments: dict[str, Any] = dict(options or {})
    return CallableJudge(judge, **arguments)  # type: ignore[arg-type]


def _is_function(judge: object) -> bool:
    return callable(judge) and not hasattr(judge, "judge")


def _identity(judge: Judge) -> Identity:
    return Identity(judge.name, judge.settings)


def _title(config: RunConfig) -> str:
    style = config.condition.style
    return f"{config.items[0].suite}, {config.model.name}" + (f", {style} style text" if style != "none" else "")


@contextlib.contextmanager
def _shown(title: str, progress: bool, on_progress: ProgressCallback | None) -> Iterator[ProgressCallback]:
    """Yield the callback of a run: it shows progress, if that is wanted, and calls the user's."""
    own = on_progress or (lambda _: None)
    if not progress:
        yield own
        return
    with script_progress(title) as shown:

        def both(now: Progress) -> None:
            shown(now)
            own(now)

        yield both


def _dated(place: Path) -> Path:
    return place.with_name(f"{place.name}-{datetime.now():%Y%m%d-%H%M%S}")


def _budget(given: float | None) -> float | None:
    """Return the budget that was given or, with None, the one that is configured; infinity is none."""
    budget = load_defaults().budget.value if given is None else given
    return None if budget is not None and math.isinf(budget) else budget


def _new_folder(preferred: Path) -> Path:
    """Create and return a folder that did not exist: two calls in one second are two runs."""
    preferred.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        place = preferred if number == 1 else preferred.with_name(f"{preferred.name}-{number}")
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            return place
    raise FileExistsError(preferred)
