"""`formalimg items census`: count the features of the items in a suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.odd_records import odd_lines
from formalimg.benchmarks.registry import suite as suite_of
from formalimg.cli.commands import argument, option
from formalimg.cli.output import Figures, FiguresAs, figure_formats, write_figures
from formalimg.cli.streams import echo
from formalimg.types import Item


def census_command(
    suites: Annotated[list[str], argument("SUITE...", "The benchmark, such as knolling, or several.")],
    items: Annotated[
        Path | None, option("PATH", "Load the items from here. Default: the suite shipped with formalimg.")
    ] = None,
    figures: Figures = None,
    figures_as: FiguresAs = "svg,png",
) -> None:
    """Count what the items of a suite are made of.

    Predicates and classes, concepts, or fields and questions, with their frequencies. Figures of several suites of one
    benchmark have them side by side.
    """
    formats = figure_formats(figures, figures_as)
    loaded = {suite: load_with_skipped(suite, items) for suite in suites}
    if figures is not None:
        from formalimg.reports.figures.charts import item_figures

        all_items = [item for suite_items in loaded.values() for item in suite_items.items]
        write_figures(item_figures(all_items), figures, formats, "there are no items")
    for number, (suite, suite_items) in enumerate(loaded.items()):
        if len(loaded) > 1:
            echo(f"\n{suite}" if number else suite)
        show_census(suite, suite_items.items)
        for line in suite_items.repairs:
            echo(line)
        if odd := odd_lines(suite_items.items, suite_items.skipped):
            echo("\nodd records, by tag:")
            for line in odd:
                echo(f"  {line}")


def show_census(suite: str, items: Sequence[Item[Any]]) -> None:
    """Print the number of occurrences of each feature in the items."""
    for line in suite_of(suite).census_lines(items) or (f"{len(items)} items of {suite}",):
        echo(line)
