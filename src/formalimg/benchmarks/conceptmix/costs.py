"""What runs of ConceptMix take: seconds per image (Table 7), and the cost of grading (appendix D.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from formalimg.reports.comparison_model import HowCounted, SeenRun
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.stats.intervals import mean_interval
from formalimg.stats.observations import Interval
from formalimg.types import Table

_PREMADE = "folder/"
_PUBLISHED: Mapping[str, float] = {
    "SD v1.4": 2.17,
    "SDXL Turbo": 0.34,
    "SD v2.1": 3.99,
    "SDXL Base": 10.03,
    "DeepFloyd IF XL v1": 18.69,
    "DALL-E 3": 12.58,
    "Playground v2.5": 10.17,
    "PixArt alpha": 4.41,
}
"""Seconds per image as printed in Table 7 of ConceptMix: on one NVIDIA A6000, DALL-E 3 by its server."""


def generation_seconds(runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """Return how long images took, by run; without rows where nothing was recorded. Premade images take no time."""
    by_folder = {run.record.folder: run for run in reversed(runs)}  # a run is there once for each of its judges
    rows = [row for run in runs if by_folder[run.record.folder] is run and (row := _seconds_row(run, how)) is not None]
    if rows and how.references:
        rows += [
            TableRow((f"{model} (published)", None, Number(seconds), None, None), model, model)
            for model, seconds in _PUBLISHED.items()
        ]
    published = " Published: ConceptMix, Table 7, on one NVIDIA A6000." if how.references else ""
    return Table(
        "seconds per image",
        "Seconds per image",
        (
            Column("run"),
            Column("images", "count"),
            Column("mean", "number"),
            Column("median", "number"),
            Column("total", "decimal"),
        ),
        tuple(rows),
        (
            "From the request to the image, with all attempts at it; images of a batch share its time. Requests that "
            "run side by side take longer each: for the time of a model alone, set its concurrency to 1. With the "
            f"{100 * how.confidence:g} % interval of the mean.{published}",
        ),
    )


def _seconds_row(run: SeenRun, how: HowCounted) -> TableRow | None:
    seconds = run.record.image_seconds()
    if not seconds or run.record.manifest.model.name.startswith(_PREMADE):
        return None
    found = mean_interval(seconds, how.confidence)
    mean = Number(fmean(seconds), None if found is None else Interval(max(0.0, found.low), found.high))
    return TableRow((run.name, len(seconds), mean, median(seconds), sum(seconds)), run.name)


def grading_cost(runs: Sequence[SeenRun]) -> Table:
    """Return mean and total cost of the verdicts; without rows where all were free."""
    return Table(
        "cost of grading",
        "Cost of grading, in US dollars",
        (
            Column("run"),
            Column("graded", "count"),
            Column("mean per image", "dollars"),
            Column("total", "dollars"),
            Column("price unknown", "count"),
        ),
        tuple(row for row in map(_cost_row, runs) if row is not None),
        ("Of the images that the judge looked at. Those with unknown prices are in neither mean nor total.",),
    )


def _cost_row(run: SeenRun) -> TableRow | None:
    costs = [image.cost for image in run.images if image.looked_at]
    known = [cost for cost in costs if cost is not None]
    if not any(known) and len(known) == len(costs):
        return None
    total = sum(known)
    mean = total / len(known) if known else None
    return TableRow((run.name, len(costs), mean, total if known else None, len(costs) - len(known)), run.name)
