"""What it cost to have the images graded."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.reporting.reading import SeenRun
from formalimg.reporting.tables import Figure, Table, TableRow


def grading_cost(runs: Sequence[SeenRun]) -> Table:
    """Mean and total of what the verdicts cost; not there where all were free."""
    rows = [row for row in map(_row, runs) if row is not None]
    return Table(
        "cost of grading",
        "Cost of grading, in US dollars",
        "Of the images that the judge looked at. Those whose price nobody knows are in neither mean nor total.",
        ("run", "graded", "mean per image", "total", "price unknown"),
        tuple(rows),
    )


def _row(run: SeenRun) -> TableRow | None:
    costs = [image.cost for image in run.images if image.looked_at]
    known = [cost for cost in costs if cost is not None]
    if not any(known) and len(known) == len(costs):
        return None
    total = sum(known)
    return TableRow(
        run.name,
        (
            run.name,
            Figure(len(costs), "count"),
            Figure(total / len(known) if known else None, "dollars"),
            Figure(total if known else None, "dollars"),
            Figure(len(costs) - len(known), "count"),
        ),
    )
