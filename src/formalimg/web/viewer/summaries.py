"""Run summaries for the runs page, cached on disk so that a new server need not read all results again."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from formalimg._util.io import atomic_write, read_plain_bytes
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.models.cache import cache_folder
from formalimg.reports.run_numbers import run_figures
from formalimg.runs.database import RunCost
from formalimg.runs.reader import StoredRun, open_run
from formalimg.stats.comparison import ItemMean, ItemMeans
from formalimg.stats.observations import Band, Interval
from formalimg.types import Benchmark
from formalimg.web.viewer.manifest_fields import ManifestField, manifest_fields
from formalimg.web.viewer.scored_images import ScoredImages, scored_images
from formalimg.web.viewer.sparkline import Sparkline, sparkline

_SCHEMA = 2  # The version of the files; others are not read
_MAX_BYTES = 64 * 1024 * 1024


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
    fields: tuple[ManifestField, ...]  # the manifest as labelled texts
    curve: Sparkline  # the rates by level
    overall: Band  # the mean over all levels of the suite, as in tables; without one, over all images of the run
    is_of_levels: bool  # whether it is over levels
    scored: int  # number of images with a verdict, and of all
    expected: int
    left: int  # number of images that were never finished
    spent: RunCost  # the cost
    means: ItemMeans  # the mean of each item, by which runs are compared
    given: ScoredImages | None = None  # for images that a user gave: the prompt and the scores; else None

    @property
    def about(self) -> Benchmark:
        """The suite of the run."""
        return suite(self.suite)

    @property
    def coverage(self) -> float:
        """The share of images that have a verdict."""
        return self.scored / self.expected if self.expected else 0.0


class UnreadableRun(NamedTuple):
    """A folder that cannot be read as a run, with the reason."""

    name: str
    error: str


def summarize_run(folder: Path) -> RunSummary:
    """Read and summarize a run."""
    run = open_run(folder)
    try:
        return _summary(run)
    finally:
        run.close()


def _summary(run: StoredRun) -> RunSummary:
    figures, manifest, counts = run_figures(run), run.manifest, run.counts()
    whole = figures.summary.overall
    band = figures.summary.bands.get("Overall")
    is_of_levels = band is not None and band.value is not None
    return RunSummary(
        manifest.model.name,
        manifest.condition,
        manifest.suite,
        manifest.items_label,
        manifest.created,
        manifest.items_digest,
        tuple(dict.fromkeys(judge.name for judge in run.judges())),
        tuple(manifest_fields(manifest, figures.items, figures.spent)),
        sparkline(figures.summary.levels, figures.levels),
        band if band is not None and is_of_levels else Band((), whole.value, whole.interval, whole.coverage),
        is_of_levels,
        whole.scored,
        whole.expected,
        counts.images - counts.done,
        figures.spent,
        {sys.intern(name): mean for name, mean in figures.means.items()},  # runs share the names of their items
        scored_images(run),
    )


# --- on disk


def cached_summary(folder: Path, state: Hashable) -> RunSummary | None:
    """Return the cached summary for the current state of a run, or None if there is none."""
    try:
        found = json.loads(read_plain_bytes(_file(folder), _MAX_BYTES))
        return _from_json(found["summary"]) if found["of"] == _key(state) else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None  # it is computed again


def cache_summary(folder: Path, state: Hashable, summary: RunSummary) -> None:
    """Store the summary of a run in the cache, ignoring failures."""
    file = _file(folder)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps({"of": _key(state), "summary": _to_json(summary)}, separators=(",", ":"))
        atomic_write(file, [data.encode()])
    except (OSError, ValueError, FormalimgError):
        return


def _file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return cache_folder() / "run-summaries" / f"{name}.json"


def _key(state: Hashable) -> str:
    """Return a cache key for a summary from the files of the run and the summarizing code."""
    return f"{_SCHEMA} {_code_stamp()} {state}"


@cache
def _code_stamp() -> str:
    """Return a stamp of the installed code, so that summaries by another version are not reused."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for package in ("logic", "runs", "stats", "benchmarks", "reports", "scoring", "web/viewer"):
        for file in sorted((root / package).rglob("*.py")) + sorted((root / package).rglob("*.toml")):
            stat = file.stat()
            found.update(f"{file.relative_to(root)} {stat.st_mtime_ns} {stat.st_size}\n".encode())
    return found.hexdigest()[:16]


def _to_json(summary: RunSummary) -> dict[str, object]:
    means = summary.means
    parts = {
        "names": [*means],
        "levels": [it.level for it in means.values()],
        "values": [it.value for it in means.values()],
    }
    return {**{name: getattr(summary, name) for name in RunSummary.__dataclass_fields__}, "means": parts}


def _from_json(found: Mapping[str, Any]) -> RunSummary:
    names, levels, values = (found["means"][name] for name in ("names", "levels", "values"))
    means = {sys.intern(name): ItemMean(*mean) for name, *mean in zip(names, levels, values, strict=True)}
    chosen, value, interval, coverage = found["overall"]
    line, band, ends, words = found["curve"]
    return RunSummary(
        **{
            **found,
            "given": ScoredImages(*found["given"]) if found["given"] else None,
            "judges": tuple(found["judges"]),
            "fields": tuple(ManifestField(*field) for field in found["fields"]),
            "curve": Sparkline(line, band, tuple(ends) if ends else None, words),
            "overall": Band(tuple(chosen), value, Interval(*interval) if interval else None, coverage),
            "spent": RunCost(*found["spent"]),
            "means": means,
        }
    )
