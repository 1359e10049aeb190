"""What experiment trackers are told about a run: settings, numbers, rates by level, and failures with their images."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from formalimg.reports.comparison import compare
from formalimg.reports.results.failures import Failures
from formalimg.reports.results.result import Evaluation
from formalimg.reports.tables.format import level_word
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Profile

MAX_FAILURES = 24
"""The most failures that are logged, spread over the levels."""


@dataclass(frozen=True)
class TrackedRun:
    """A run as trackers show it."""

    name: str  # its name: that of its folder, with the judge where the run has several
    key: str  # a text of 32 hexadecimal digits by which the same run and judge are found again
    settings: Mapping[str, str | int | float | bool]  # what the run was asked to do, and by which version
    # the numbers of the whole run, by name: rate or score with its interval, coverage, counts, cost
    numbers: Mapping[str, float]
    levels: Mapping[int, Mapping[str, float]]  # the numbers of each level, by name
    level_word: str  # what a level is called, such as `K`
    failures: Failures = field(repr=False)  # images that failed


def tracked_run(
    folder: str | Path,
    judge: Identity | None = None,
    *,
    max_failures: int = MAX_FAILURES,
    profile: Profile | None = None,
) -> TrackedRun:
    """Return what trackers are told about a run."""
    path = Path(folder)
    with closing(open_run(path, judge)) as run:
        section = compare([run], profile=profile).sections[0]
        several = len(run.judges()) > 1
    row = section.rows[0]
    manifest, summary = row.manifest, row.summary
    measure = "score" if section.suite.has_scores else "pass_rate"
    numbers = {
        **_rate(measure, summary.overall.value, summary.overall.interval),
        "coverage": summary.overall.coverage,
        "images": float(summary.overall.expected),
        "scored": float(summary.overall.scored),
        "cost_dollars": row.spent.dollars,
        "unpriced_calls": float(row.spent.unpriced),
    }
    held = summary.generalizability
    if held is not None and held.value is not None:
        numbers["generalizability"] = float(held.value)
    for name, band in summary.bands.items():
        if band.value is not None:
            numbers[f"band/{name}"] = band.value
    evaluation, name = Evaluation(path, judge=judge), path.resolve().name
    with closing(evaluation.run):
        failures = evaluation.failures(limit=max_failures)
    return TrackedRun(
        f"{name}, {manifest.judge.name}" if several and manifest.judge else name,
        _key(manifest),
        _settings(manifest),
        numbers,
        {
            level: {**_rate(measure, rate.value, rate.interval), "coverage": rate.coverage}
            for level, rate in summary.levels.items()
        },
        level_word(section.suite) or "level",
        failures,
    )


def _rate(name: str, value: float | None, interval: tuple[float, float] | None) -> dict[str, float]:
    """Return a rate and the ends of its interval; nothing where there is no value, which is never 0."""
    if value is None:
        return {}
    ends = {} if interval is None else {f"{name}_low": interval[0], f"{name}_high": interval[1]}
    return {name: value, **ends}


def _settings(manifest: RunManifest) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {
        "suite": manifest.suite,
        "suite_version": manifest.suite_version,
        "items_digest": manifest.items_digest,
        "model": manifest.model.name,
        "judge": manifest.judge.name if manifest.judge else "none",
        "samples": manifest.samples,
        "seed": manifest.seed,
        "size": manifest.size,
        "task": manifest.task,
        "condition": manifest.condition or "plain",
        "style": manifest.style,
        "created": manifest.created,
        "made_with": manifest.made_with,
    }
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        for name, value in (party.settings if party else {}).items():
            found[f"{role}.{name}"] = "none" if value is None else value
    return found


def _key(manifest: RunManifest) -> str:
    judge = manifest.judge
    known = (manifest.created, manifest.images_id, manifest.items_digest, manifest.suite, manifest.model, judge)
    return hashlib.sha256(repr(known).encode("utf-8", "surrogatepass")).hexdigest()[:32]
