"""How long the prompts are (Figure 12 of ConceptMix)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean, quantiles, stdev

from formalimg.reporting.reading import SeenRun
from formalimg.reporting.run_columns import run_cell, run_head
from formalimg.reporting.tables import Cell, Figure, Table, TableRow
from formalimg.suites import Suite

_MEASURES: Mapping[str, Callable[[str], int]] = {"words": lambda prompt: len(prompt.split()), "characters": len}


def prompt_lengths(suite: Suite, runs: Sequence[SeenRun]) -> Table:
    """Words and characters of the prompts by level; runs over the same items are told once."""
    by_items = {run.record.manifest.items_digest: run for run in reversed(runs)}
    shown = [run for run in runs if by_items[run.record.manifest.items_digest] is run]
    return Table(
        "prompt length",
        f"Length of the prompts by {suite.level}",
        "Over the items, whatever became of their images.",
        (
            *run_head(shown),
            "in",
            suite.level,
            "items",
            "mean",
            "sd",
            "lower quartile",
            "median",
            "upper quartile",
        ),
        tuple(row for run in shown for row in _rows(run, shown)),
    )


def _rows(run: SeenRun, shown: Sequence[SeenRun]) -> Iterator[TableRow]:
    items = run.record.items.values()
    for measure, length in _MEASURES.items():
        for level in sorted({item.level for item in items}):
            lengths = [length(item.prompt) for item in items if item.level == level]
            words = (*run_cell(run.name, shown), measure, str(level))
            yield TableRow(run.name if len(shown) > 1 else "", (*words, *_spread(lengths)))


def _spread(lengths: Sequence[int]) -> tuple[Cell, ...]:
    one = len(lengths) == 1
    quartiles = [lengths[0]] * 3 if one else quantiles(lengths, n=4, method="inclusive")
    return (
        Figure(len(lengths), "count"),
        Figure(fmean(lengths), "decimal"),
        Figure(None if one else stdev(lengths), "decimal"),
        *(Figure(quartile, "decimal") for quartile in quartiles),
    )
