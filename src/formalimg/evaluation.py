"""Evaluate an image model in one call: `evaluate` and `run`."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from formalimg import __version__
from formalimg.config import default_judge, load_defaults
from formalimg.errors import FormalimgError
from formalimg.judges import Judge, Protocol, check_protocol, open_judge
from formalimg.models import CallableModel, ChatModel, ImageModel, Setting, open_chat_model, open_image_model
from formalimg.runs import Progress, RunBuilder, StoredRun, execute, open_run, run_name
from formalimg.scenes import Scene
from formalimg.stats import MissingPolicy, Summary
from formalimg.suites import Condition, Item

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evaluation:
    """The result of a run.

    Attributes:
        folder: the run folder, which holds everything.
        progress: what this call did, without what earlier calls had done.
    """

    folder: Path
    progress: Progress

    @cached_property
    def run(self) -> StoredRun:
        """The run, opened for reading."""
        return open_run(self.folder)

    def summary(self, *, missing: MissingPolicy = "exclude", epsilon: float | None = None) -> Summary:
        """Return the numbers: pass rates per level, bands, G_ε, or what the suite has in their place, with intervals.

        Args:
            missing: how images without a verdict count: `exclude`, `fail` or `error`.
            epsilon: the pass rate to hold; the suite's own if None.
        """
        from formalimg.reporting import compare  # here, because it is large

        return compare([self.run], missing=missing, epsilon=epsilon).sections[0].rows[0].summary

    def table(self, *, missing: MissingPolicy = "exclude") -> str:
        """Return the numbers as a Markdown table."""
        from formalimg.reporting import compare, render  # here, because it is large

        return render(compare([self.run], missing=missing), "md")

    def write_report(self, path: str | Path, *, missing: MissingPolicy = "exclude") -> Path:
        """Write the report as one self-contained HTML file and return its path."""
        from formalimg.reporting import write_html

        write_html([self.run], Path(path), missing=missing)
        return Path(path)


def run(
    suite: str = "knolling",
    model: str | ImageModel = "builtin/reader",
    judge: str | Judge | None = None,
    *,
    judge_options: Mapping[str, str] | None = None,
    protocol: Protocol = "default",
    items: str | Path | Iterable[Item[Any]] | None = None,
    levels: Collection[int] | None = None,
    per_level: int | None = None,
    samples: int = 1,
    seed: int = 1,
    size: int = 1024,
    condition: Condition | None = None,
    layouts: Mapping[str, Scene] | None = None,
    rewriter: str | ChatModel | None = None,
    budget: float | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Evaluation:
    """Generate the images of a suite with an image model, judge them, and store everything in a run folder.

    The same call again resumes where the last one ended, whatever ended it.

    Args:
        suite: the benchmark, such as `knolling`.
        model: the image model, by name (`builtin/reader`, `folder/…`) or as an object.
        judge: the judge, by name or as an object; None for `builtin/icons` if the model is built in, else for the judge
            of `FORMALIMG_JUDGE` or `formalimg.toml`.
        judge_options: options of a judge that is named, as text.
        protocol: how the judge asks and scores: `default`, or as `published`; `paper` and `official-code` where the
            paper and its published code differ. For judges that are named.
        items: the path of the items, or the items; None for the default suite.
        levels: only items of these levels.
        per_level: the first `per_level` items of each level.
        samples: images per item.
        seed: the base seed of all images, for models that can be seeded.
        size: width and height to request, in pixels.
        condition: how items are presented to the model; None for the prompt, behind the style text that suits the
            model.
        layouts: the layouts of the items, by id, for conditions that need them; None for their witnesses.
        rewriter: the chat model that rewrites the prompts, by name or as an object, for `Condition("rewritten")`.
        budget: stop, resumably, when the folder has cost this many US dollars in all; None for the budget of
            `formalimg.toml`, if there is one.
        folder: the run folder; None for one named after suite and model in `runs`, or where `formalimg.toml` says.
        on_progress: called after each step with the progress of the run.

    Raises:
        FormalimgError: if an argument is not valid, or there is no judge; the message says what to do.
    """
    model = open_image_model(model) if isinstance(model, str) else model
    if judge is None or isinstance(judge, str):
        judge = _open_judge(suite, model.name, judge, judge_options or {}, protocol)
    elif judge_options:
        raise FormalimgError("judge_options are for a judge by its name: give the options to the judge itself")
    elif protocol != "default":
        check_protocol(protocol)
        raise FormalimgError(
            f"the protocol {protocol} needs a judge by its name: open it with open_judge(…, protocol=…)"
        )
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
        auto_style=condition is None,
        layouts=layouts,
        budget=_budget(budget),
        rewriter=open_chat_model(rewriter) if isinstance(rewriter, str) else rewriter,
    )
    place = builder.folder(model, load_defaults().runs.value) if folder is None else Path(folder)
    return Evaluation(place, execute(builder.config(model, place), place, judge, on_progress=on_progress))


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
    """Evaluate any Python function that generates images.

    What a function does is unknown, so each call is a new run, unless `folder` names the run to resume.

    Args:
        generate: takes a prompt, and also `seed` and `size` if it has parameters of these names; returns a PIL image,
            the bytes of a PNG, JPEG or WebP file, or the path of one. None means that it declines.
        suite: the benchmark, such as `knolling`.
        name: the name of the model in tables.
        settings: what shapes its images and should be on record.
        batch: with more than 1, the function takes a list of prompts (and of seeds) and returns a list.
        concurrency: the maximum number of concurrent calls.
        folder: the run folder; None for a new one in `runs`.
        options: as for `run`: judge, judge_options, protocol, items, levels, per_level, samples, seed, size, condition,
            layouts, rewriter, budget, on_progress.
    """
    model = CallableModel(generate, name=name, settings=settings, batch=batch, concurrency=concurrency)
    if folder is None:
        if options.get("judge") is None:  # a refusal leaves no folder behind
            default_judge(suite, model.name, protocol=options.get("protocol", "default"), words="python")
        folder = _new_folder(
            load_defaults().runs.value / f"{run_name(suite, model.name)}-{datetime.now():%Y%m%d-%H%M%S}"
        )
    return run(suite, model, folder=folder, **options)


def _open_judge(suite: str, model: str, name: str | None, options: Mapping[str, str], protocol: Protocol) -> Judge:
    """Open a judge by its name, or the default for the images of a model."""
    if name is None:
        default = default_judge(suite, model, protocol=protocol, words="python")
        if default is not None:
            _log.warning("%s", default)
            name, options = default.name, {**default.options, **options}
    return open_judge(suite, name, options, protocol=protocol)


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
