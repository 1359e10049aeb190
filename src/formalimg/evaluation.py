"""Evaluating an image model in one call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from formalimg import __version__
from formalimg.judges import Judge, open_judge
from formalimg.models import CallableModel, ImageModel, Setting, open_image_model
from formalimg.runs import Progress, RunConfig, Selection, StoredRun, execute, open_run, run_name, style_for
from formalimg.scenes import Scene
from formalimg.stats import Missing, Summary
from formalimg.suites import Condition, Item, load

RUNS = Path("runs")
"""Where runs lie unless told otherwise, seen from the current folder."""


@dataclass(frozen=True)
class Evaluation:
    """What came of a run.

    Attributes:
        folder: the run folder; everything is in it.
        progress: what this call did; what an earlier call had done already is not in it.
    """

    folder: Path
    progress: Progress

    @cached_property
    def run(self) -> StoredRun:
        """The run, opened for reading."""
        return open_run(self.folder)

    def summary(self, *, missing: Missing = "exclude", epsilon: float | None = None) -> Summary:
        """The numbers: rates per level, bands, G_ε, or what the suite has in their place, with intervals and coverage.

        Args:
            missing: what is done with images that have no verdict: `exclude`, `fail` or `error`.
            epsilon: the rate to hold; the suite's own if None.
        """
        from formalimg.reporting import compare  # here, because it is large

        return compare([self.run], missing=missing, epsilon=epsilon).sections[0].rows[0].summary

    def table(self, *, missing: Missing = "exclude") -> str:
        """The numbers as a table in Markdown."""
        from formalimg.reporting import compare, render  # here, because most programs only want the numbers

        return render(compare([self.run], missing=missing), "md")

    def write_report(self, path: str | Path, *, missing: Missing = "exclude") -> Path:
        """Write the report as one self-contained HTML file; its path is given back."""
        from formalimg.reporting import write_html

        write_html([self.run], Path(path), missing=missing)
        return Path(path)


def run(
    suite: str = "knolling",
    model: str | ImageModel = "builtin/reader",
    judge: str | Judge | None = None,
    *,
    items: str | Path | Iterable[Item[Any]] | None = None,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    samples: int = 1,
    seed: int = 1,
    size: int = 1024,
    condition: Condition | None = None,
    layouts: Mapping[str, Scene] | None = None,
    budget: float | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Evaluation:
    """Let an image model make the images of a suite, judge them, and keep everything in a run folder.

    The same call again goes on where the last one ended, whatever ended it.

    Args:
        suite: the benchmark, such as `knolling`.
        model: the image model, by name (`builtin/reader`, `folder/…`) or itself.
        judge: who judges, by name or itself; None for the judge of the suite that works offline.
        items: where the items lie, or the items; None for the default suite.
        levels: only items of these levels.
        per_level: the first so many items of each level.
        samples: images per item.
        seed: another seed, other images, from models that can be seeded.
        size: width and height to ask for, in pixels.
        condition: how items are put to the model; None for their words, behind the style text that suits the model.
        layouts: the layouts of the items, by id, for conditions that need them; None for their witnesses.
        budget: stop, resumably, when the folder has cost so many US dollars in all.
        folder: the run folder; None for one named after suite and model in `runs`.
        on_progress: is called after each step with how far the run is.

    Raises:
        FormalimgError: if something was asked for that cannot be; the message says what to do.
    """
    model = open_image_model(model) if isinstance(model, str) else model
    place = (
        Path(folder) if folder is not None else RUNS / run_name(suite, model.name, condition.name if condition else "")
    )
    judge = open_judge(suite, judge) if judge is None or isinstance(judge, str) else judge
    found: list[Item[Any]] = list(load(suite, items)) if items is None or isinstance(items, str | Path) else list(items)
    if condition is None:
        condition = Condition(style=style_for(suite, model))
    given_layouts = layouts is not None
    if not given_layouts and condition.needs_layout:
        layouts = {item.id: item.spec.witness for item in found if item.spec.witness is not None}
    order = RunConfig(
        found,
        model,
        Selection(levels, per_level),
        samples=samples,
        seed=seed,
        size=size,
        made_with=f"formalimg {__version__}",
        condition=condition,
        layouts=layouts or {},
        budget=budget,
        layouts_from="given" if given_layouts else "solver",
    )
    return Evaluation(place, execute(order, place, judge, on_progress=on_progress))


def evaluate(
    generate: Callable[..., Any],
    suite: str = "knolling",
    *,
    name: str = "",
    settings: Mapping[str, Setting] | None = None,
    batch: int = 1,
    concurrency: int = 1,
    folder: str | Path | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate any Python function that makes images.

    Nothing is known of what a function does, so each call is a new run, unless `folder` names the run to go on with.

    Args:
        generate: takes a prompt, and also `seed` and `size` if it has parameters of these names; gives back a PIL
            image, the bytes of a PNG, JPEG or WebP file, or the path of one. None means that it declines.
        suite: the benchmark, such as `knolling`.
        name: what to call the model in tables.
        settings: what shapes its images and should be on record.
        batch: with more than 1, the function takes a list of prompts (and of seeds) and gives back a list.
        concurrency: how many calls may run at the same time.
        folder: the run folder; None for a new one in `runs`.
        options: as for `run`: judge, items, levels, per_level, samples, seed, size, condition, layouts, budget, told.
    """
    model = CallableModel(generate, name=name, settings=settings, batch=batch, concurrency=concurrency)
    if folder is None:
        folder = _new_folder(RUNS / f"{run_name(suite, model.name)}-{datetime.now():%Y%m%d-%H%M%S}")
    return run(suite, model, folder=folder, **options)


def _new_folder(wished: Path) -> Path:
    """A folder that was not there before: two calls in one second are two runs."""
    wished.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        place = wished if number == 1 else wished.with_name(f"{wished.name}-{number}")
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            return place
    raise FileExistsError(wished)
