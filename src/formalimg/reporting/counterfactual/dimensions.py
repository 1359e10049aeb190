"""What images lack: scores by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from formalimg.reporting.counterfactual.columns import intervals_told, level_heads, levels_of, mean_figures
from formalimg.reporting.counterfactual.summary import means
from formalimg.reporting.reading import GradedImage, HowCounted, SeenRun
from formalimg.reporting.run_columns import run_cell, run_head, with_figures
from formalimg.reporting.tables import Table, TableRow
from formalimg.reporting.words import rule_text
from formalimg.suites import DIMENSIONS, Suite


def by_dimension(suite: Suite, runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """Means by dimension and level, as the judge gave the scores."""
    levels = levels_of(runs)
    rows = []
    for dimension in _dimensions(runs):
        for run in runs:
            here = [_of_dimension(one, dimension) for one in run.graded if dimension in one.asked]
            if any(one.counting is not None for one in here):
                figures = mean_figures(means(here, how), levels)
                rows.append(TableRow(run.name, (dimension, *run_cell(run.name, runs), *figures)))
    return Table(
        "dimensions",
        "Scores by dimension",
        "Of each image the mean score of its questions of the dimension, without the gate; images that failed by "
        "rule have their score, 0, in each. "
        f"{intervals_told(how)}. {rule_text(how.missing, of_scores=True)}.",
        ("dimension", *run_head(runs), *level_heads(suite, levels)),
        with_figures(rows),
    )


def _dimensions(runs: Sequence[SeenRun]) -> list[str]:
    known: tuple[str, ...] = DIMENSIONS
    return sorted({kind for run in runs for one in run.graded for kind in one.asked}, key=known.index)


def _of_dimension(image: GradedImage, dimension: str) -> GradedImage:
    """The image with what its questions of a dimension give. One that failed as a whole failed each of them."""
    if not image.parts:
        return image._replace(counting=image.score)
    scores = [part.score for part in image.parts if part.kind == dimension]
    return image._replace(counting=fmean(scores) if scores else None)
