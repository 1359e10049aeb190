"""The run of one model and its judges, from its plan to its end: for Python (`api.py`) and for the command line."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.runs.config import RunConfig, RunOptions
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.parties import UNGUARDED, EngineOptions, Reopenable, Safeguards
from formalimg.runs.progress import Progress
from formalimg.types import ImageModel, Judge

if TYPE_CHECKING:
    from formalimg.runs.adaptive import AdaptivePlan
    from formalimg.runs.cost_estimate import RunEstimate

_log = logging.getLogger(__name__)

ProgressCallback: TypeAlias = Callable[[Progress], None]


class Output(NamedTuple):
    """Where runs report to."""

    # shows the progress of a run, by its title and a text about its workers, and yields its callback
    progress: Callable[[str, Callable[[], str]], contextlib.AbstractContextManager[ProgressCallback]]
    warning: Callable[[str], None] = _log.warning  # called with lines that everybody should see
    notice: Callable[[str], None] = lambda text: None  # called with lines for those who watch a run


@dataclass(frozen=True)
class PreparedRun:
    """The run of one model, of which nothing is done yet."""

    options: RunOptions  # what was asked for
    config: RunConfig  # what the run does
    folder: Path  # its folder
    model: Reopenable[ImageModel]  # the model
    # the judges. The first judges images while others are made, the others follow one after the other
    judges: Sequence[Reopenable[Judge]]
    plan: AdaptivePlan | None = None  # the plan of the looks, if it is adaptive

    @property
    def title(self) -> str:
        """What is run, in words."""
        return f"{self.options.suite}, {self.model.instance.name}"

    def estimates(self) -> list[RunEstimate]:
        """Return what the run would do and cost, with each of its judges."""
        from formalimg.runs.cost_estimate import estimate  # here, so that real runs do not load it

        judges: list[Judge | None] = [judge.instance for judge in self.judges]
        return [estimate(self.config, self.folder, judge) for judge in judges or [None]]

    def execute(self, output: Output, title: str = "") -> Iterator[Progress]:
        """Do it: yield what was done when the first judge is done, and after each other judge."""
        if self.options.restart:
            self._set_aside(output)
        title = title or self.title
        others = [judge.instance for judge in self.judges[1:]]
        guards = self.options.safeguards(others, output.warning)
        if self.config.condition.style != "none":
            text = f"the {self.config.condition.style} style text goes before each prompt"
            output.notice(f"{title}: {text} (--style none sends the prompt alone)")
        first = next(iter(self.judges), None)
        work: Callable[..., Progress] = execute
        if self.plan is not None:
            from formalimg.runs.adaptive import execute_adaptive  # here, because few runs are adaptive

            work = functools.partial(execute_adaptive, plan=self.plan)
        with (
            self.options.engine.open(self.model, first, output.notice) as place,
            output.progress(title, place.rates_text) as on_progress,
        ):
            done = work(
                replace(self.config, model=place.model or self.config.model),
                self.folder,
                place.judge,
                on_progress=on_progress,
                on_match=lambda matching: output.notice(matching.summary()),
                safeguards=guards,
                on_resume=lambda earlier: output.notice(f"{self.folder}: {earlier}"),
            )
        yield done
        guards = replace(guards, judges=())
        for judge in self.judges[1:]:
            by = f"{title}, judged by {judge.instance.name}"
            yield judge_images(
                self.folder,
                judge,
                by,
                output,
                budget=self.config.budget,
                engine=self.options.engine,
                safeguards=guards,
            )

    def _set_aside(self, output: Output) -> None:
        """Move an earlier run in this folder aside, and say where it is."""
        from formalimg.runs.folder import set_aside

        moved = set_aside(self.folder)
        if moved is not None:
            output.notice(f"the earlier run is in {moved}")


def prepare_run(
    options: RunOptions, model: Reopenable[ImageModel], judges: Sequence[Reopenable[Judge]] = ()
) -> PreparedRun:
    """Check the options of a run with this model and these judges, and plan it; nothing is written."""
    config, plan = options.config(model.instance), None
    if options.adaptive is not False:
        from formalimg.runs.adaptive import plan_adaptive  # here, because few runs are adaptive

        epsilon = None if options.adaptive is True else options.adaptive
        against = None if options.against is None else Path(options.against)
        plan = plan_adaptive(config, judges[0].instance, epsilon=epsilon, against=against)
        config = replace(config, adaptive=str(plan.looks))
    return PreparedRun(options, config, options.folder_of(model.instance), model, judges, plan)


def judge_images(
    folder: Path,
    judge: Reopenable[Judge],
    title: str,
    output: Output,
    *,
    budget: float | None = None,
    engine: EngineOptions | None = None,
    safeguards: Safeguards = UNGUARDED,
) -> Progress:
    """Judge the images of a run that this judge has not scored yet."""
    with (
        (engine or EngineOptions()).open(None, judge, output.notice) as place,
        output.progress(title, place.rates_text) as on_progress,
    ):
        assert place.judge is not None, "an engine returns the judge it was given"
        return judge_run(
            folder,
            place.judge,
            budget=budget,
            on_progress=on_progress,
            on_resume=lambda earlier: output.notice(f"{folder}: {earlier}"),
            safeguards=safeguards,
        )
