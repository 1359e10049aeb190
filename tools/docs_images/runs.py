"""The runs that are photographed: how each is made, when it was made as far as pages say, and its tags."""

from __future__ import annotations

from typing import NamedTuple

MODELS = ("oracle", "reader", "scatter")

MADE_AT = "2026-01-15T12:00:00Z"
"""When runs were made, as far as pages say: the same image must not differ from day to day."""


class PlannedRun(NamedTuple):
    """A run: its folder, what is given to `formalimg run`, its date, its tags and its note."""

    folder: str
    arguments: tuple[str, ...]
    made_at: str = MADE_AT
    tags: tuple[str, ...] = ()
    note: str = ""


RUNS = tuple(
    PlannedRun(f"runs/{suite}-builtin-{model}", (suite, "--model", f"builtin/{model}", *how))
    for suite, how in (
        ("knolling", ("--per-level", "20", "--size", "768")),
        ("conceptmix", ("--per-level", "4", "--size", "512")),
    )
    for model in MODELS
)
"""The runs of most pages and of the reports."""


LEARNED_RUNS = (
    PlannedRun(
        "learned/knolling-tiny",
        ("knolling", "--model", "builtin/tiny", "--levels", "4", "--per-level", "4", "--size", "512"),
    ),
)
"""The run with the failing image that the first page of the docs shows."""


def _small(day: int, suite: str, name: str, *options: str, tags: tuple[str, ...] = (), note: str = "") -> PlannedRun:
    model = name.partition("-")[0]
    arguments = (suite, "--model", f"builtin/{model}", "--per-level", "6", "--size", "384", *options)
    made_at = f"2026-01-{day:02}T{8 + day % 9:02}:{day * 7 % 60:02}:00Z"
    return PlannedRun(f"many/{suite}-{name}", arguments, made_at, tags, note)


def _memory(count: int, seed: int = 1) -> tuple[str, ...]:
    return ("-M", f"memory={count}", "--seed", str(seed))


MANY_RUNS = (
    _small(5, "knolling", "oracle", tags=("ceiling",)),
    _small(5, "knolling", "scatter", tags=("floor",)),
    _small(6, "knolling", "reader", tags=("baseline",), note="All later runs are compared with this one."),
    _small(7, "knolling", "reader-2", *_memory(2), tags=("memory",)),
    _small(7, "knolling", "reader-4", *_memory(4), tags=("memory",)),
    _small(8, "knolling", "reader-6", *_memory(6), tags=("memory",)),
    _small(8, "knolling", "reader-8", *_memory(8), tags=("memory",)),
    _small(9, "knolling", "reader-1000", *_memory(1000), tags=("memory", "candidate")),
    _small(12, "knolling", "reader-seed-2", *_memory(12, 2), tags=("seeds",)),
    _small(12, "knolling", "reader-seed-3", *_memory(12, 3), tags=("seeds",)),
    _small(13, "knolling", "tiny", tags=("learned",)),
    _small(2, "knolling-counts", "oracle", tags=("ceiling",)),
    _small(2, "knolling-counts", "scatter", tags=("floor",)),
    _small(2, "knolling-counts", "reader"),
    _small(3, "conceptmix", "oracle", tags=("ceiling",)),
    _small(3, "conceptmix", "scatter", tags=("floor",)),
    _small(3, "conceptmix", "reader"),
    _small(4, "natural", "oracle", tags=("ceiling",)),
    _small(4, "natural", "reader"),
    _small(20, "knolling", "reader-seed-4", *_memory(12, 4), tags=("seeds",)),
    _small(21, "knolling", "reader-final", *_memory(1000, 3), tags=("candidate",), note="The one to report."),
)
"""The runs of a team: enough for the filters, the tags and the baseline of the first page."""
