"""Summaries of runs: their manifest, figures and curve as the runs page shows them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from formalimg._util.text import truncate
from formalimg.benchmarks.registry import suite
from formalimg.reports.run_numbers import run_figures
from formalimg.runs.database import RunCost
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.scoring.scores import summarize_scores
from formalimg.scoring.user_inputs import GIVEN
from formalimg.stats.comparison import ItemMean
from formalimg.stats.observations import Band, Rate
from formalimg.types import Benchmark

_MAX_TITLE = 300
_CURVE_WIDTH, _CURVE_HEIGHT, _CURVE_EDGE = 132, 34, 3


class ManifestField(NamedTuple):
    """A labelled line of a run's manifest."""

    name: str
    text: str


class ScoredImages(NamedTuple):
    """The title and labels that pages show for a run of images supplied by a user."""

    title: str  # the prompt, or the first of several
    has_one_prompt: bool
    mean: float | None  # of the scores; None if nothing is scored
    summary: str  # how many images, the mean, and how many pass


class Sparkline(NamedTuple):
    """A small curve of pass rates by level, as SVG coordinates."""

    line: str  # the path through the rates; broken where a level has none
    band: str  # the outline of the intervals; empty if there are none
    ends: tuple[str, str] | None  # the last point, if there is one
    words: str  # the alternative text


@dataclass(frozen=True)
class RunSummary:
    """The data of a run shown on the runs page and used to compare runs."""

    model: str  # as in the manifest
    condition: str
    suite: str
    items_label: str
    created: str
    digest: str
    judges: tuple[str, ...]  # the names of all judges, in the order in which they first ran
    fields: tuple[ManifestField, ...]
    curve: Sparkline
    overall: Band  # the mean over all levels of the suite, as in tables; without one, over all images of the run
    is_of_levels: bool  # whether it is over levels
    scored: int  # number of images with a verdict, and of all
    expected: int
    left: int  # number of images that were never finished
    spent: RunCost
    means: dict[str, ItemMean]  # by which runs are compared
    given: ScoredImages | None = None  # of images that a user supplied

    @property
    def about(self) -> Benchmark:
        """The suite of the run."""
        return suite(self.suite)

    @property
    def coverage(self) -> float:
        """The share of images that have a verdict."""
        return self.scored / self.expected if self.expected else 0.0


def summarize_run(folder: Path) -> RunSummary:
    """Read and summarize a run."""
    with closing(open_run(folder)) as run:
        figures, manifest, counts = run_figures(run), run.manifest, run.counts()
        whole = figures.summary.overall
        band = figures.summary.bands.get("Overall")
        is_of_levels = band is not None and band.value is not None
        return RunSummary(
            model=manifest.model.name,
            condition=manifest.condition,
            suite=manifest.suite,
            items_label=manifest.items_label,
            created=manifest.created,
            digest=manifest.items_digest,
            judges=tuple(dict.fromkeys(judge.name for judge in run.judges())),
            fields=tuple(manifest_fields(manifest, figures.items, figures.spent)),
            curve=sparkline(figures.summary.levels, figures.levels),
            overall=band if band and is_of_levels else Band((), whole.value, whole.interval, whole.coverage),
            is_of_levels=is_of_levels,
            scored=whole.scored,
            expected=whole.expected,
            left=counts.images - counts.done,
            spent=figures.spent,
            means={sys.intern(name): mean for name, mean in figures.means.items()},  # runs share the names of items
            given=summarize_user_images(run),
        )


def manifest_fields(manifest: RunManifest, items: int, spent: RunCost) -> list[ManifestField]:
    """Return the manifest of a run as labelled lines of text."""
    imported = bool(manifest.imported)
    fields = {
        "model": _identity_text(manifest.model),
        "judge": _identity_text(manifest.judge) if manifest.judge else "none yet",
        "suite": ", ".join(filter(None, [manifest.suite, manifest.items_label])),
        "items": f"{items:,}, {manifest.samples} image{'s' * (manifest.samples != 1)} of each",
        "task": manifest.task if manifest.task != "image" else "",
        "condition": manifest.condition,
        "style text": manifest.style if manifest.style != "none" else "",
        "layouts": manifest.layouts,
        "texts": manifest.prompts,
        "imported": f"{manifest.imported}; the images are not here" if imported else "",
        "seed": "" if imported else str(manifest.seed),
        "size": "" if imported else f"{manifest.size} px",
        "digest": manifest.items_digest,
        "begun": manifest.created,
        "made with": manifest.made_with,
        "cost": _cost_text(spent),
    }
    return [ManifestField(name, text) for name, text in fields.items() if text]


def _identity_text(identity: Identity) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in identity.settings.items())
    return f"{identity.name} ({settings})" if settings else identity.name


def _cost_text(spent: RunCost) -> str:
    if not spent.dollars and not spent.unpriced:
        return ""
    return f"${spent.dollars:,.2f}" + (f" and {spent.unpriced:,} at unknown prices" if spent.unpriced else "")


def summarize_user_images(run: StoredRun) -> ScoredImages | None:
    """Return the title and labels for a run of supplied images, or None for other runs."""
    if run.manifest.model.name != GIVEN:
        return None
    prompts = Counter(item.prompt for item in run.items.values())
    title = truncate(next(iter(prompts), "no prompt"), _MAX_TITLE, _MAX_TITLE // 4)
    if len(prompts) > 1:
        title = f"{title} (and {len(prompts) - 1:,} more prompt{'s' * (len(prompts) > 2)})"
    summary = summarize_scores(run.outcomes())
    return ScoredImages(title, len(prompts) <= 1, summary.mean, str(summary))


def image_path(judged: Judged) -> str:
    """Return the path of a supplied image, or the ID of its item if that path is unknown."""
    return str(judged.served.get("file", judged.outcome.item))


def sparkline(rates: Mapping[int, Rate], levels: Sequence[int]) -> Sparkline:
    """Return the curve of a run, which is empty if there is only one level."""
    values = {level: rate.value for level in levels if (rate := rates.get(level)) and rate.value is not None}
    words = ", ".join(f"{level}: {value:.2f}" for level, value in values.items())
    if len(levels) < 2:
        return Sparkline("", "", None, words)
    line, ends, command = "", None, "M"
    low: list[str] = []
    high: list[str] = []
    for index, level in enumerate(levels):
        if level not in values:
            command = "M"
            continue
        x = f"{_CURVE_EDGE + (_CURVE_WIDTH - 2 * _CURVE_EDGE) * (index + 0.5) / len(levels):.1f}"
        ends = (x, _y(values[level]))
        line += f"{command}{x} {ends[1]}"
        command = "L"
        interval = rates[level].interval
        if interval is not None:
            low.append(f"{x} {_y(interval.low)}")
            high.append(f"{x} {_y(interval.high)}")
    band = f"M{'L'.join(high + low[::-1])}Z" if len(low) > 1 else ""
    return Sparkline(line, band, ends, words or "no figures yet")


def _y(rate: float) -> str:
    return f"{_CURVE_EDGE + (_CURVE_HEIGHT - 2 * _CURVE_EDGE) * (1 - rate):.1f}"
