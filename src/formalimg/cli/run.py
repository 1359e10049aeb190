"""`formalimg run` and `formalimg generate`: their options, and the run builder that they make."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from formalimg import __version__
from formalimg.cli import options
from formalimg.cli.adaptive_options import Adaptive, Against, folder_kind, print_adaptive, require_adaptive
from formalimg.cli.engine_options import EngineOptions
from formalimg.cli.log import LogTo, log_runs, read_trackers
from formalimg.cli.price_options import GivenPrices, Prices
from formalimg.cli.run_execution import execute_all, exit_if_nothing_made, open_judges, print_rates
from formalimg.cli.safeguard_options import MaxFailures, MinCoverage, NoPreflight
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.judges import Judge
    from formalimg.models import ChatModel, ImageModel
    from formalimg.runs import Reopenable, RunBuilder


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
    condition: Literal["plain", "rewritten", "text-layout", "image-layout"]
    rewriter: str | None
    rewriter_option: list[str] | None
    words: Literal["with", "without"]
    layouts: str
    style: Literal["auto", "long", "short", "none"]
    prompts: Path | None
    price: list[str] | None
    budget: float | None
    dry_run: bool
    no_preflight: bool
    max_failures: int | None
    engine: Literal["local", "ray"]
    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    cpus_per_worker: float | None
    images: str | None
    runs: Path | None
    out: Path | None
    restart: bool
    judge: list[str] | None = None
    judge_option: list[str] | None = None
    protocol: Literal["default", "published", "paper", "official-code"] = "default"
    min_coverage: float | None = None
    adaptive: bool = False
    against: Path | None = None
    log_to: list[str] | None = None

    def __post_init__(self) -> None:
        if self.out is not None and len(self.model) > 1:
            raise FormalimgError("one run folder holds one model: give --runs instead of --out for several models")
        if self.restart and self.dry_run:
            raise FormalimgError("--dry-run changes nothing, and --restart moves the old run aside: give one of them")
        require_adaptive(self)
        if self.task == "layout" or self.condition in ("text-layout", "image-layout"):
            self._require_layouts()
        if (self.condition == "rewritten") != (self.rewriter is not None) or (
            self.rewriter_option and not self.rewriter
        ):
            raise FormalimgError(
                "--condition rewritten, --rewriter and -R belong together: give the first two, or none"
            )
        if self.task == "layout" and self.condition != "plain":
            raise FormalimgError("the layout task asks for a layout: it cannot be given one, use --condition plain")
        if self.task == "layout" and self.style != "auto":
            raise FormalimgError(
                "the layout task has a text of its own: leave --style out, use --prompts to replace it"
            )
        if self.condition in ("plain", "rewritten") and self.layouts != "solver":
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

    @property
    def given_prices(self) -> GivenPrices:
        """The prices that were given by hand."""
        rewriters = [self.rewriter] if self.rewriter else []
        return GivenPrices(self.price, {"model": self.model, "judge": self.judge or [], "rewriter": rewriters})

    def open_judges(self, model: str) -> list[Reopenable[Judge]]:
        """Open the judges of a model's images, in their order."""
        return open_judges(
            self.suite,
            model,
            self.judge,
            self.judge_option,
            self.prompts,
            self.task,
            self.protocol,
            self.given_prices,
        )

    def open_model(self, name: str) -> Reopenable[ImageModel]:
        """Open the model that generates images, or plans layouts."""
        from formalimg.models import open_image_model
        from formalimg.runs import Reopenable, require_supported

        given = options.read_options(self.model_option) | self.given_prices.option("model", name)
        if self.task == "layout":
            from formalimg.baselines import open_planner

            published = self.protocol != "default"
            return Reopenable.open(partial(open_planner, name, given, self.prompts, published=published))
        model = Reopenable.open(partial(open_image_model, name, given))
        require_supported(model.instance, self.suite)
        return model

    def open_rewriter(self) -> ChatModel | None:
        """Open the chat model that rewrites prompts; None if nothing is rewritten."""
        from formalimg.models import open_chat_model

        if self.rewriter is None:
            return None
        given = options.read_options(self.rewriter_option) | self.given_prices.option("rewriter", self.rewriter)
        return open_chat_model(self.rewriter, given)

    def builder(self, rewriter: ChatModel | None = None) -> RunBuilder:
        """Return the builder of the runs of all models."""
        from formalimg.runs import RunBuilder, load_layouts, open_run
        from formalimg.suites import Condition

        builder = RunBuilder(
            self.suite,
            f"formalimg {__version__}",
            self.items,
            levels=None if self.levels is None else options.read_levels(self.levels),
            per_level=self.per_level,
            samples=self.samples,
            seed=self.seed,
            size=self.size,
            budget=self.budget,
            task=self.task,
            images=self.images,
            kind=folder_kind(self),
        )
        if self.task == "layout":
            return builder
        style = "none" if self.style == "auto" else self.style
        condition = Condition(self.condition, self.words == "with", style, self.prompts)
        builder = replace(builder, condition=condition, auto_style=self.style == "auto", rewriter=rewriter)
        if self.layouts == "solver":
            return builder
        with closing(open_run(self.layouts)) as run:
            origin = f"{run.manifest.model.name}, begun {run.manifest.created}"
            return replace(builder, layouts=load_layouts(run), layouts_from=origin)


def run_command(
    suite: options.SuiteName,
    model: options.ModelNames,
    judge: options.JudgeNames = None,
    model_option: options.ModelOptions = None,
    judge_option: options.JudgeOptions = None,
    protocol: options.ProtocolName = "default",
    min_coverage: MinCoverage = None,
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    per_level: options.PerLevel = None,
    adaptive: Adaptive = False,
    against: Against = None,
    samples: options.Samples = 1,
    seed: options.Seed = 1,
    size: options.Size = 1024,
    task: options.Task = "image",
    condition: options.ConditionName = "plain",
    rewriter: options.RewriterName = None,
    rewriter_option: options.RewriterOptions = None,
    words: options.Words = "with",
    layouts: options.Layouts = "solver",
    style: options.Style = "auto",
    prompts: options.Prompts = None,
    price: Prices = None,
    budget: options.Budget = None,
    dry_run: options.DryRun = False,
    no_preflight: NoPreflight = False,
    max_failures: MaxFailures = None,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
    images: options.Images = None,
    runs: options.RunsFolder = None,
    out: options.RunFolder = None,
    restart: options.Restart = False,
    log_to: LogTo = None,
) -> None:
    """Generate the images of a suite, judge them and print the pass rates.

    Run the same command again to resume. Ctrl-C stops cleanly. Exit code 1 if nothing could be scored.
    """
    asked = RunOptions(**locals())
    from formalimg.runs import Identity  # here, so that help screens come up faster

    trackers = read_trackers(log_to)
    done = execute_all(asked, judging=True)
    if adaptive and not dry_run:
        print_adaptive(done.folders)
    if dry_run:
        return
    try:
        print_rates(done, min_coverage)
    finally:  # what could not be scored is a result too
        log_runs([(folder, Identity(judge.name, judge.settings)) for folder, judge in done.judged], trackers)


def generate_command(
    suite: options.SuiteName,
    model: options.ModelNames,
    model_option: options.ModelOptions = None,
    protocol: options.ProtocolName = "default",
    items: options.ItemsPath = None,
    levels: options.Levels = None,
    per_level: options.PerLevel = None,
    samples: options.Samples = 1,
    seed: options.Seed = 1,
    size: options.Size = 1024,
    task: options.Task = "image",
    condition: options.ConditionName = "plain",
    rewriter: options.RewriterName = None,
    rewriter_option: options.RewriterOptions = None,
    words: options.Words = "with",
    layouts: options.Layouts = "solver",
    style: options.Style = "auto",
    prompts: options.Prompts = None,
    price: Prices = None,
    budget: options.Budget = None,
    dry_run: options.DryRun = False,
    no_preflight: NoPreflight = False,
    max_failures: MaxFailures = None,
    engine: options.EngineName = "local",
    address: options.RayAddress = None,
    workers: options.Workers = None,
    gpus_per_worker: options.GpusPerWorker = None,
    cpus_per_worker: options.CpusPerWorker = None,
    images: options.Images = None,
    runs: options.RunsFolder = None,
    out: options.RunFolder = None,
    restart: options.Restart = False,
) -> None:
    """Generate the images of a suite, to be judged later with `judge`.

    Exit code 1 if no image could be made.
    """
    asked = RunOptions(**locals())
    if protocol != "default" and task != "layout":
        raise FormalimgError(
            "--protocol is about judging, and about --task layout: give it to `formalimg judge` for these images"
        )
    from formalimg.config import has_default_judge  # here, so that other commands start faster
    from formalimg.runs import images_url  # here, because no option is called so

    folders = execute_all(asked, judging=False).folders
    if dry_run:
        return
    for folder, name in zip(folders, model, strict=True):
        place = images_url(images, folder) if images else folder / "images"
        judge = "" if has_default_judge(suite, name, task) else " --judge JUDGE"
        echo(f"images in {place}; judge them with: formalimg judge {folder}{judge}")
    exit_if_nothing_made(folders)
