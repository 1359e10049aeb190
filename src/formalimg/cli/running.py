"""What the commands that run something share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from formalimg import __version__
from formalimg.cli.foretelling import show_forecast, warnings_about
from formalimg.cli.options import options_of, read_levels, read_options
from formalimg.cli.output import print_table
from formalimg.cli.progress import run_progress
from formalimg.cli.workforce import Workforce
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.cluster import Opened
    from formalimg.judges import Judge
    from formalimg.models import ImageModel
    from formalimg.runs import RunConfig
    from formalimg.scenes import Scene
    from formalimg.suites import Condition, FormulaSpec, Item


@dataclass(frozen=True)
class Asked:
    """What the options of `run` and `generate` ask for, by their names."""

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
        if self.task == "layout" and self.suite != "knolling":
            raise FormalimgError(
                f"only knolling can be planned as a layout: boxes cannot show what {self.suite} asks for"
            )
        if self.condition != "plain" and self.suite != "knolling":
            raise FormalimgError(f"{self.suite} has no layouts to give to a model: use --condition plain")
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

    @property
    def workforce(self) -> Workforce:
        """Who does the work."""
        return Workforce(self.engine, self.address, self.workers, self.gpus_per_worker, self.cpus_per_worker)

    def open_judges(self) -> list[Opened[Judge]]:
        """Who is to judge, in their order."""
        return open_judges(self.suite, self.judge, self.judge_option, self.prompts, self.task)

    def open_model(self, name: str) -> Opened[ImageModel]:
        """Who is to make images, or layouts."""
        from formalimg.baselines import open_planner
        from formalimg.cluster import Opened
        from formalimg.models import open_image_model
        from formalimg.runs import require_covered

        given = read_options(self.model_option)
        if self.task == "layout":
            return Opened.by(partial(open_planner, name, given, self.prompts))
        model = Opened.by(partial(open_image_model, name, given))
        require_covered(model.here, self.suite)
        return model

    def condition_for(self, model: ImageModel) -> Condition:
        """How items are put to a model."""
        from formalimg.runs import style_for
        from formalimg.suites import Condition

        if self.task == "layout":
            return Condition()
        style = style_for(self.suite, model) if self.style == "auto" else self.style
        return Condition(self.condition, self.words == "with", style, self.prompts)


def open_judges(
    suite: str, names: list[str] | None, given: list[str] | None, prompts: Path | None, task: str
) -> list[Opened[Judge]]:
    """The judges of these names, each with its options; the one that works offline if there are no names."""
    from formalimg.cluster import Opened
    from formalimg.judges import open_judge

    opened = []
    for number, name in enumerate(names or [None], 1):
        own = options_of(given, number, len(names or [None]))
        # Texts of the user's own are an option as well, of judges that send any.
        if prompts is not None and name is not None and not name.startswith(("builtin/", "detector/")):
            own.setdefault("prompts", str(prompts))
        opened.append(Opened.by(partial(open_judge, suite, name, own, task)))
    return opened


class Done(NamedTuple):
    """The folders of some runs, and who judged them."""

    folders: list[Path]
    judges: list[Judge]


def execute_all(asked: Asked, *, judging: bool) -> Done:
    """Do one run for each model, or say what it would do."""
    from formalimg.runs import RunConfig, Selection, estimate, images_url, run_name
    from formalimg.suites import load, suite

    suite(asked.suite)  # a slip in its name is told before one in a model's
    workforce = asked.workforce
    opened = [asked.open_model(name) for name in asked.model]
    judges = asked.open_judges() if judging else []
    names = [*(model.here.name for model in opened), *(judge.here.name for judge in judges)]
    require_prices(asked.budget, names)
    items = load(asked.suite, asked.items)
    selection = Selection(None if asked.levels is None else read_levels(asked.levels), asked.per_level)
    layouts, layouts_from = _layouts(asked, items)
    for warning in warnings_about(asked.suite, [*selection.of(items).values()], asked.items):
        typer.echo(warning, err=True)
    folders = []
    for model in opened:
        condition = asked.condition_for(model.here)
        kind = "layout" if asked.task == "layout" else condition.name
        folder = asked.out or asked.runs / run_name(asked.suite, model.here.name, kind)
        order = RunConfig(
            items,
            model.here,
            selection,
            samples=asked.samples,
            seed=asked.seed,
            size=asked.size,
            made_with=f"formalimg {__version__}",
            condition=condition,
            layouts=layouts,
            budget=asked.budget,
            task=asked.task,
            layouts_from=layouts_from,
            images=images_url(asked.images, folder) if asked.images else "",
        )
        if asked.dry_run:
            show_forecast(
                order,
                folder,
                [estimate(order, folder, judge.here) for judge in judges] or [estimate(order, folder, None)],
            )
        else:
            _execute(order, model, folder, judges, workforce)
        folders.append(folder)
    return Done(folders, [judge.here for judge in judges])


def show_numbers(done: Done) -> None:
    """Print the table of these runs, a row for each judge, and where they lie."""
    from formalimg.reporting import compare, terminal_table
    from formalimg.runs import Identity, open_run

    parties = [Identity(judge.name, judge.settings) for judge in done.judges]
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(open_run(folder, party))) for folder in done.folders for party in parties]
        print_table(terminal_table(compare(runs)))
    for folder in done.folders:
        typer.echo(f"run in {folder}")


def judge_images(folder: Path, judge: Opened[Judge], title: str, budget: float | None, workforce: Workforce) -> None:
    """Let a judge look at the images of a run that it has not scored yet."""
    from formalimg.runs import judge_run

    with workforce.at_work(None, judge) as crew, run_progress(title, crew.told) as told:
        assert crew.judge is not None, "who was given comes back"
        done = judge_run(folder, crew.judge, budget=budget, on_progress=told)
    stop_if_stopped(done.stopped, folder, over_budget=done.over_budget)


def stop_if_stopped(stopped: bool, folder: Path, *, over_budget: bool = False) -> None:
    """End the command if it was interrupted."""
    if stopped:
        how = "with a larger budget goes on: this one is used up" if over_budget else "goes on"
        typer.echo(f"stopped; all that is done is kept in {folder}. The same command {how}.", err=True)
        raise typer.Exit(130)


def require_prices(budget: float | None, names: Sequence[str]) -> None:
    """Refuse a budget that nobody could keep, before anything is paid for."""
    from formalimg.models import UNKNOWN, price

    for name in names:
        if budget is not None and price(name) == UNKNOWN:
            raise FormalimgError(
                f"nobody knows what {name} costs, so no budget can be kept: give its price in prices.toml"
            )


def _execute(
    order: RunConfig, model: Opened[ImageModel], folder: Path, judges: Sequence[Opened[Judge]], workforce: Workforce
) -> None:
    """Make the images while the first judge looks at them; then the others look."""
    from formalimg.runs import execute

    title = f"{order.items[0].suite}, {order.model.name}"
    with workforce.at_work(model, next(iter(judges), None)) as crew, run_progress(title, crew.told) as told:
        done = execute(
            replace(order, model=crew.model or order.model),
            folder,
            crew.judge,
            on_progress=told,
            matched=lambda matching: typer.echo(matching.told(), err=True),
        )
    stop_if_stopped(done.stopped, folder, over_budget=done.over_budget)
    for judge in judges[1:]:
        judge_images(folder, judge, f"{title}, judged by {judge.here.name}", order.budget, workforce)


def _layouts(asked: Asked, items: Sequence[Item[FormulaSpec]]) -> tuple[Mapping[str, Scene], str]:
    """The layouts of the items, if the condition needs any, and where they come from."""
    if asked.condition == "plain":
        return {}, ""
    if asked.layouts == "solver":
        return {item.id: item.spec.witness for item in items if item.spec.witness is not None}, "solver"
    from formalimg.runs import layouts_of, open_run

    with closing(open_run(asked.layouts)) as run:
        return layouts_of(run), f"{run.manifest.model.name}, begun {run.manifest.created}"
