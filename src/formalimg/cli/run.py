"""`formalimg run`: define its options and execute runs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from formalimg.cli import options
from formalimg.cli.commands import SECTIONS, option
from formalimg.cli.options import parameters_of, read_options
from formalimg.cli.run_output import (
    check_classes,
    check_drawable,
    console_output,
    default_budget,
    default_runs,
    exit_if_nothing_made,
    finish_run,
    print_adaptive,
    print_estimates,
    print_rates,
)
from formalimg.cli.streams import echo, warn
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.runs.config import RunOptions
    from formalimg.runs.parties import Reopenable
    from formalimg.types import ChatModel, ImageModel, Judge

_WHAT, _MODEL, _JUDGE, _, _WHERE = SECTIONS


def _check_samples(context: typer.Context, samples: int) -> int:
    from formalimg.runs.config import MAX_SAMPLES  # here, so that help screens come up faster

    return _check_range(context, samples, 1, MAX_SAMPLES)


def _check_size(context: typer.Context, size: int) -> int:
    from formalimg.runs.config import MAX_SIZE, MIN_SIZE

    return _check_range(context, size, MIN_SIZE, MAX_SIZE)


def _check_range(context: typer.Context, value: int, low: int, high: int) -> int:
    if not context.resilient_parsing and not low <= value <= high:
        raise typer.BadParameter(f"{value} is out of range: give {low} to {high}")
    return value


@dataclass(frozen=True)
class RunArguments:
    """The options of `run`, with their types, defaults and help texts."""

    suite: options.SuiteName
    model: Annotated[
        list[str],
        option(
            "--model -m MODEL",
            "The image model, as in builtin/reader, openai/gpt-image-2, diffusers/PATH, folder/PATH; "
            "`formalimg models` lists the providers. Repeatable: one run each.",
            panel=_MODEL,
        ),
    ]
    judge: options.JudgeNames = None
    no_judge: Annotated[
        bool, option("--no-judge", "Only generate; judge later with `formalimg judge`.", panel=_JUDGE)
    ] = False
    model_option: options.ModelOptions = None
    judge_option: options.JudgeOptions = None
    protocol: options.ProtocolName = "default"
    profile: options.SumProfile = None
    min_coverage: options.MinCoverage = None
    items: options.ItemsPath = None
    levels: options.Levels = None
    per_level: Annotated[
        int | None, option("N", "The first N of each level.", panel=_WHAT, min=1, max=options.MAX_COUNT)
    ] = None
    adaptive: Annotated[bool, option("--adaptive", "Climb level by level; stop when G is clear.", panel=_WHAT)] = False
    against: Annotated[
        Path | None, option("--against RUN", "With --adaptive: stop when better or worse than it.", panel=_WHAT)
    ] = None
    samples: Annotated[int, option("N", "Images per item, with a seed each.", panel=_WHAT, callback=_check_samples)] = 1
    seed: Annotated[
        int, option("N", "Base seed of all images.", panel=_WHAT, min=-options.MAX_SEED, max=options.MAX_SEED)
    ] = 1
    size: Annotated[int, option("PIXELS", "Width and height.", panel=_MODEL, callback=_check_size)] = 1024
    task: Annotated[
        Literal["image", "layout"],
        option("layout: chat models (or builtin/solver) plan a layout instead of an image.", panel=_WHAT),
    ] = "image"
    condition: Annotated[
        Literal["plain", "rewritten", "text-layout", "image-layout"],
        option("Rewrite the prompt by a chat model, or add a layout, as text or image.", panel=_MODEL),
    ] = "plain"
    rewriter: Annotated[
        str | None, option("--rewriter MODEL", "Chat model for --condition rewritten.", panel=_MODEL)
    ] = None
    rewriter_option: Annotated[list[str] | None, options.key_value_option("-R", "rewriter", _MODEL)] = None
    words: Annotated[
        Literal["with", "without"],
        option("without: give the model the layout alone, without the prompt.", panel=_MODEL),
    ] = "with"
    layouts: Annotated[
        str, option("solver|RUN", "Source of the layouts: the solver, or a run of the layout task.", panel=_MODEL)
    ] = "solver"
    style: Annotated[
        Literal["auto", "long", "short", "none"],
        option("Style text before the prompt. auto: the longest the model takes.", panel=_MODEL),
    ] = "auto"
    prompts: options.Prompts = None
    price: options.Prices = None
    budget: options.Budget = None
    dry_run: options.DryRun = False
    no_preflight: options.NoPreflight = False
    max_failures: options.MaxFailures = None
    engine: options.EngineName = "local"
    address: options.RayAddress = None
    workers: options.Workers = None
    gpus_per_worker: options.GpusPerWorker = None
    cpus_per_worker: options.CpusPerWorker = None
    images: Annotated[
        str | None,
        option(
            "URL", "Store images on an object store, as in s3://bucket/prefix. Needs formalimg[stores].", panel=_WHERE
        ),
    ] = None
    runs: options.RunsFolder = None
    out: options.RunFolder = None
    restart: Annotated[bool, option("--restart", "Start over; the old run is moved aside.", panel=_WHERE)] = False
    log_to: Annotated[
        list[str] | None, option("--log-to TRACKER", "wandb, mlflow or tensorboard; repeatable.", panel=_WHERE)
    ] = None

    def __post_init__(self) -> None:
        for message in self._conflicts():
            raise FormalimgError(message)

    def _conflicts(self) -> Iterator[str]:
        """Yield why options cannot be combined."""
        needs_layout = self.condition in ("text-layout", "image-layout")
        judging = {
            "--judge": self.judge,
            "-J": self.judge_option,
            "--protocol": self.protocol != "default" and self.task != "layout",
            "--profile": self.profile,
            "--min-coverage": self.min_coverage is not None,
            "--adaptive": self.adaptive,
            "--log-to": self.log_to,
        }
        if self.no_judge and (names := [name for name, value in judging.items() if value]):
            yield (
                f"--no-judge only generates: give {' and '.join(names)} to `formalimg judge` for these images, or "
                "leave --no-judge out"
            )
        if self.out is not None and len(self.model) > 1:
            yield "a run folder is for one model: give --runs instead of --out for several models"
        if self.restart and self.dry_run:
            yield "--dry-run changes nothing, and --restart moves the old run aside: give one of them"
        if self.against is not None and not self.adaptive:
            yield "--against is for adaptive runs: give --adaptive too"
        if self.adaptive and self.engine != "local":
            yield "--adaptive makes few images at a time, in this process: leave --engine out"
        if self.adaptive and len(self.judge or ()) > 1:
            yield "one judge decides an adaptive run: name one, and run others later with `formalimg judge`"
        if self.task == "layout" or needs_layout:
            yield from self._layout_conflict()
        if (self.condition == "rewritten") != (self.rewriter is not None) or (
            self.rewriter_option and not self.rewriter
        ):
            yield "--condition rewritten, --rewriter and -R belong together: give the first two, or none"
        if self.task == "layout" and self.condition != "plain":
            yield "the layout task asks for a layout, so no layout can be given: use --condition plain"
        if self.task == "layout" and self.style != "auto":
            yield "the layout task has its own text: leave --style out, use --prompts to replace it"
        if not needs_layout and self.layouts != "solver":
            yield "--layouts has no effect without a layout: choose --condition text-layout or image-layout too"

    def _layout_conflict(self) -> Iterator[str]:
        """Yield why the suite has no layouts, unless its images are judged by boxes alone."""
        from formalimg.benchmarks.registry import suite, suite_names  # here, so that other commands start faster

        if suite(self.suite).is_grounded:
            return
        if self.task == "layout":
            names = " and ".join(name for name in suite_names() if suite(name).is_grounded)
            yield f"only {names} can be planned as a layout: boxes cannot show what {self.suite} asks for"
        yield f"{self.suite} has no layouts to give to a model: use --condition plain"

    def price_of(self, role: str, name: str) -> dict[str, str]:
        """Return the `price` option of a model or judge if given on the command line."""
        if not self.price:
            return {}
        rewriters = [self.rewriter] if self.rewriter else []
        roles = {"model": self.model, "judge": self.judge or [], "rewriter": rewriters}
        return options.PriceOptions(self.price, roles).option(role, name)

    def open_models(self) -> list[Reopenable[ImageModel]]:
        """Open the image models or layout planners."""
        from formalimg.runs.parties import open_model

        return [
            open_model(
                name,
                read_options(self.model_option) | self.price_of("model", name),
                self.suite,
                task=self.task,
                protocol=self.protocol,
                prompts=self.prompts,
            )
            for name in self.model
        ]

    def open_judges(self, models: Sequence[str]) -> dict[str, list[Reopenable[Judge]]]:
        """Open the judges for each model, sharing instances between models with the same defaults."""
        from formalimg.runs.defaults.settings import is_built_in

        opened: dict[bool, list[Reopenable[Judge]]] = {}
        for model in sorted(models, key=is_built_in):  # the refusals first
            kind = is_built_in(model)
            if kind not in opened:
                named = self.suite, model, self.judge, self.judge_option, partial(self.price_of, "judge")
                opened[kind] = open_named_judges(*named, task=self.task, protocol=self.protocol, prompts=self.prompts)
        return {model: opened[is_built_in(model)] for model in models}

    def open_rewriter(self) -> ChatModel | None:
        """Open the chat model that rewrites prompts, or return None if prompts are not rewritten."""
        if self.rewriter is None:
            return None
        from formalimg.models.registry import open_chat_model

        settings = read_options(self.rewriter_option) | self.price_of("rewriter", self.rewriter)
        return open_chat_model(self.rewriter, settings)

    def run_options(self, budget: float | None, runs: Path, rewriter: ChatModel | None) -> RunOptions:
        """Return the run options that apply to all models, including defaults."""
        from formalimg.benchmarks.conditions import Condition
        from formalimg.runs.config import RunOptions
        from formalimg.runs.parties import MAX_FAILURES, EngineOptions

        shared = {field.name for field in fields(RunOptions)} & {field.name for field in fields(self)}
        values: dict[str, Any] = {name: getattr(self, name) for name in shared - {"condition", "layouts"}}
        values |= {
            "rewriter": rewriter,
            "budget": budget,
            "runs": runs,
            "folder": self.out,
            "levels": None if self.levels is None else options.read_levels(self.levels),
            "preflight": False if self.no_preflight else None,
            "max_failures": MAX_FAILURES if self.max_failures is None else self.max_failures,
            "engine": EngineOptions(
                self.engine, self.address, self.workers, self.gpus_per_worker, self.cpus_per_worker
            ),
        }
        if self.task == "image":
            values["condition"] = Condition(self.condition, self.words == "with", prompts=self.prompts)
        if self.layouts != "solver":
            from formalimg.runs.reader import load_layouts, open_run

            with closing(open_run(self.layouts)) as run:
                origin = f"{run.manifest.model.name}, begun {run.manifest.created}"
                values |= {"layouts": load_layouts(run), "layouts_from": origin}
        return RunOptions(**values)


def open_named_judges(
    suite: str,
    model: str,
    names: list[str] | None,
    texts: list[str] | None,
    price_of: Callable[[str], dict[str, str]],
    **settings: Any,
) -> list[Reopenable[Judge]]:
    """Open the judges by name with their options and prices, warning about judges that cannot read the images."""
    from formalimg.runs.defaults.settings import unreadable_drawings_warning
    from formalimg.runs.parties import open_judges

    def options_of(number: int, name: str | None) -> dict[str, str]:
        settings = options.options_of(texts, number, len(names or [None]))
        return settings | (price_of(name) if name is not None else {})

    judges = open_judges(suite, model, names, options_of, on_notice=warn, **settings)
    for warning in dict.fromkeys(unreadable_drawings_warning(judge.instance.name, model) for judge in judges):
        if warning:
            warn(warning)
    return judges


RunsByJudge: TypeAlias = list[tuple[Path, "Judge | None"]]  # run folders, once for every judge, or without one


def _execute_all(arguments: RunArguments, *, judging: bool) -> RunsByJudge:
    """Execute (or estimate) a run for each model and return the run folders with their judges."""
    from formalimg.benchmarks.registry import suite as suite_of
    from formalimg.runs.prepared_run import prepare_run

    suite = suite_of(arguments.suite)  # a typo in its name is reported before one in a model's
    budget = default_budget(arguments.budget)
    runs = default_runs(arguments.runs, needed=arguments.out is None)
    models = arguments.open_models()
    names = [model.instance.name for model in models]
    by_model = arguments.open_judges(names) if judging else {}
    judges = list({id(judge): judge.instance for judges in by_model.values() for judge in judges}.values())
    rewriter = arguments.open_rewriter()
    options.require_prices(budget, [model.instance for model in models], per_image=arguments.task == "image")
    options.require_prices(budget, [*judges, *([rewriter] if rewriter else [])])
    run_options = arguments.run_options(budget, runs, rewriter)
    selected = [*run_options.selected.values()]
    source = f" --items {shlex.quote(str(arguments.items))}" if arguments.items else ""
    census = f"`formalimg items census {suite.name}{source}`"
    for warning in (
        *(suite.warnings(selected, census) or ()),
        *check_drawable(names, suite.name, selected),
        *check_classes(judges, selected),
    ):
        warn(warning)
    if issues := run_options.selected_odd:
        warn(f"odd records among the items: {issues}; {census} lists them")
    results: RunsByJudge = []
    for model in models:
        run = prepare_run(run_options, model, by_model.get(model.instance.name, []))
        if arguments.dry_run:
            print_estimates(run)
        else:
            for progress in run.execute(console_output()):
                finish_run(progress, run.folder)
        results += [(run.folder, judge.instance) for judge in run.judges] or [(run.folder, None)]
    return results


@parameters_of(RunArguments)
def run_command(arguments: RunArguments) -> None:
    """Generate the images of a suite, judge them and print the pass rates.

    Run the same command again to resume. Ctrl-C stops cleanly. Exit code 1 if nothing could be scored, or, with
    --no-judge, generated.
    """
    if arguments.no_judge:
        _generate(arguments)
        return
    trackers = []
    if arguments.log_to:
        from formalimg.cli.share import read_trackers

        trackers = read_trackers(arguments.log_to)
    judged = [(folder, judge) for folder, judge in _execute_all(arguments, judging=True) if judge is not None]
    if arguments.dry_run:
        return
    if arguments.adaptive:
        print_adaptive(folder for folder, _ in judged)
    try:
        print_rates(judged, arguments.min_coverage, arguments.profile)
    finally:  # unscored images are logged too
        if trackers:
            from formalimg.cli.share import log_runs
            from formalimg.runs.manifest import Identity

            identities = [(folder, Identity(judge.name, judge.settings)) for folder, judge in judged]
            log_runs(identities, trackers, None, arguments.profile)


def _generate(arguments: RunArguments) -> None:
    from formalimg.runs.config import images_url  # these here, so that help screens come up faster
    from formalimg.runs.defaults.settings import has_default_judge

    folders = [folder for folder, _ in _execute_all(arguments, judging=False)]
    if arguments.dry_run:
        return
    for folder, name in zip(folders, arguments.model, strict=True):
        images = images_url(arguments.images, folder) if arguments.images else folder / "images"
        judge = "" if has_default_judge(arguments.suite, name, arguments.task) else " --judge JUDGE"
        echo(f"images in {images}; judge them with: formalimg judge {folder}{judge}")
    exit_if_nothing_made(folders)
