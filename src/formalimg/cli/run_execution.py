"""Execute runs from the command line: the options and steps that `run`, `generate` and `judge` share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from formalimg import __version__
from formalimg.cli.engine_options import EngineOptions
from formalimg.cli.estimate_output import print_estimates, unscorable_warnings
from formalimg.cli.options import options_of, read_levels, read_options
from formalimg.cli.output import print_table
from formalimg.cli.progress import run_progress
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import Judge
    from formalimg.models import ImageModel
    from formalimg.runs import Reopenable, RunBuilder, RunConfig


@dataclass(frozen=True)
class RunOptions:
    """The options of `run` and `generate`, by their names."""

    suite: str
    model: list[str]
    model_option: list[str] | None
    items: Path | None
    levels: str | None
    per_level: int | None
    samples: int
    seed: int
    size: int
    task: Literal["image", "layout"]
    condition: Literal["plain", "text-layout", "image-layout"]
    words: Literal["with", "without"]
    layouts: str
    style: Literal["auto", "long", "short", "none"]
    prompts: Path | None
    budget: float | None
    dry_run: bool
    engine: Literal["local", "ray"]
    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None
    images: str | None
    runs: Path
    out: Path | None
    judge: list[str] | None = None
    judge_option: list[str] | None = None

    def __post_init__(self) -> None:
        if self.out is not None and len(self.model) > 1:
            raise FormalimgError("one run folder holds one model: give --runs instead of --out for several models")
        if self.task == "layout" or self.condition != "plain":
            self._require_layouts()
        if self.task == "layout" and self.condition != "plain":
            raise FormalimgError("the layout task asks for a layout: it cannot be given one, use --condition plain")
        if self.task == "layout" and self.style != "auto":
            raise FormalimgError(
                "the layout task has a text of its own: leave --style out, use --prompts to replace it"
            )
        if self.condition == "plain" and self.layouts != "solver":
            raise FormalimgError(
                "plain words come without a layout: choose --condition text-layout or image-layout too"
            )

    def _require_layouts(self) -> None:
        """Refuse suites whose images are not judged by boxes alone: boxes cannot show what their items require."""
        from formalimg.suites import suite, suite_names  # here, so that other commands start faster

        supported = [name for name in suite_names() if suite(name).judge == "scene"]
        if suite(self.suite).name in supported:
            return
        if self.task == "layout":
            raise FormalimgError(
                f"only {' and '.join(supported)} can be planned as a layout: "
                f"boxes cannot show what {self.suite} asks for"
            )
        raise FormalimgError(f"{self.suite} has no layouts to give to a model: use --condition plain")

    @property
    def engine_options(self) -> EngineOptions:
        """The options about the engine."""
        return EngineOptions(self.engine, self.address, self.workers, self.gpus_per_worker, self.cpus_per_worker)

    def open_judges(self) -> list[Reopenable[Judge]]:
        """Open the judges, in their order."""
        return open_judges(self.suite, self.judge, self.judge_option, self.prompts, self.task)

    def open_model(self, name: str) -> Reopenable[ImageModel]:
        """Open the model that generates images, or plans layouts."""
        from formalimg.models import open_image_model
        from formalimg.runs import Reopenable, require_supported

        options = read_options(self.model_option)
        if self.task == "layout":
            from formalimg.baselines import open_planner

            return Reopenable.open(partial(open_planner, name, options, self.prompts))
        model = Reopenable.open(partial(open_image_model, name, options))
        require_supported(model.instance, self.suite)
        return model

    def builder(self) -> RunBuilder:
        """Return the builder of the runs of all models."""
        from formalimg.runs import RunBuilder, load_layouts, open_run
        from formalimg.suites import Condition

        builder = RunBuilder(
            self.suite,
            f"formalimg {__version__}",
            self.items,
            levels=None if self.levels is None else read_levels(self.levels),
            per_level=self.per_level,
            samples=self.samples,
            seed=self.seed,
            size=self.size,
            budget=self.budget,
            task=self.task,
            images=self.images,
        )
        if self.task == "layout":
            return builder
        style = "none" if self.style == "auto" else self.style
        condition = Condition(self.condition, self.words == "with", style, self.prompts)
        builder = replace(builder, condition=condition, auto_style=self.style == "auto")
        if self.layouts == "solver":
            return builder
        with closing(open_run(self.layouts)) as run:
            origin = f"{run.manifest.model.name}, begun {run.manifest.created}"
            return replace(builder, layouts=load_layouts(run), layouts_from=origin)


def open_judges(
    suite: str, names: list[str] | None, options: list[str] | None, prompts: Path | None, task: str
) -> list[Reopenable[Judge]]:
    """Open the judges of these names, each with its options; the one that works offline if there are no names."""
    from formalimg.judges import open_judge
    from formalimg.runs import Reopenable

    opened = []
    for number, name in enumerate(names or [None], 1):
        own = options_of(options, number, len(names or [None]))
        # Prompt texts of the user are an option as well, of judges that send any.
        if prompts is not None and name is not None and not name.startswith(("builtin/", "detector/")):
            own.setdefault("prompts", str(prompts))
        opened.append(Reopenable.open(partial(open_judge, suite, name, own, task)))
    return opened


class FinishedRuns(NamedTuple):
    """The folders of some runs, and their judges."""

    folders: list[Path]
    judges: list[Judge]


def execute_all(options: RunOptions, *, judging: bool) -> FinishedRuns:
    """Execute one run for each model, or print what it would do."""
    from formalimg.runs import estimate
    from formalimg.suites import suite

    suite(options.suite)  # a typo in its name is reported before one in a model's
    engine = options.engine_options
    models = [options.open_model(name) for name in options.model]
    judges = options.open_judges() if judging else []
    names = [*(model.instance.name for model in models), *(judge.instance.name for judge in judges)]
    require_prices(options.budget, names)
    builder = options.builder()
    for warning in unscorable_warnings(options.suite, [*builder.selection.of(builder.items).values()], options.items):
        typer.echo(warning, err=True)
    folders = []
    for model in models:
        folder = options.out or builder.folder(model.instance, options.runs)
        config = builder.config(model.instance, folder)
        if options.dry_run:
            estimates = [estimate(config, folder, judge.instance) for judge in judges]
            print_estimates(config, folder, estimates or [estimate(config, folder, None)])
        else:
            _execute(config, model, folder, judges, engine)
        folders.append(folder)
    return FinishedRuns(folders, [judge.instance for judge in judges])


def print_rates(finished: FinishedRuns) -> None:
    """Print the table of these runs, a row for each judge, and their folders."""
    from formalimg.reporting import compare, terminal_table
    from formalimg.runs import Identity, open_run

    judges = [Identity(judge.name, judge.settings) for judge in finished.judges]
    with ExitStack() as opened:
        runs = [
            opened.enter_context(closing(open_run(folder, judge))) for folder in finished.folders for judge in judges
        ]
        print_table(terminal_table(compare(runs)))
    for folder in finished.folders:
        typer.echo(f"run in {folder}")


def judge_images(
    folder: Path, judge: Reopenable[Judge], title: str, budget: float | None, engine: EngineOptions
) -> None:
    """Judge the images of a run that this judge has not scored yet."""
    from formalimg.runs import judge_run

    with engine.open(None, judge) as opened, run_progress(title, opened.rates_text) as on_progress:
        assert opened.judge is not None, "an engine returns the judge it was given"
        result = judge_run(folder, opened.judge, budget=budget, on_progress=on_progress)
    exit_if_stopped(result.stopped, folder, over_budget=result.over_budget)


def exit_if_stopped(stopped: bool, folder: Path, *, over_budget: bool = False) -> None:
    """End the command if the run was interrupted."""
    if stopped:
        advice = "with a larger budget goes on: this one is used up" if over_budget else "goes on"
        typer.echo(f"stopped; all that is done is kept in {folder}. The same command {advice}.", err=True)
        raise typer.Exit(130)


def require_prices(budget: float | None, names: Sequence[str]) -> None:
    """Refuse a budget if a price is unknown, before anything is paid for."""
    from formalimg.models import UNKNOWN_PRICE, get_price

    for name in names:
        if budget is not None and get_price(name) == UNKNOWN_PRICE:
            raise FormalimgError(
                f"nobody knows what {name} costs, so no budget can be kept: give its price in prices.toml"
            )


def _execute(
    config: RunConfig,
    model: Reopenable[ImageModel],
    folder: Path,
    judges: Sequence[Reopenable[Judge]],
    engine: EngineOptions,
) -> None:
    """Generate the images while the first judge judges them; then let the other judges judge."""
    from formalimg.runs import execute

    title = f"{config.items[0].suite}, {config.model.name}"
    first = next(iter(judges), None)
    with engine.open(model, first) as opened, run_progress(title, opened.rates_text) as on_progress:
        result = execute(
            replace(config, model=opened.model or config.model),
            folder,
            opened.judge,
            on_progress=on_progress,
            on_match=lambda matching: typer.echo(matching.summary(), err=True),
        )
    exit_if_stopped(result.stopped, folder, over_budget=result.over_budget)
    for judge in judges[1:]:
        judge_images(folder, judge, f"{title}, judged by {judge.instance.name}", config.budget, engine)
