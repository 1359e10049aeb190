"""Additional tables of FormalImg: changes by layout (Table 3), and long prompts of low K (Table 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from formalimg.logic.syntax import COUNT_BOUNDS
from formalimg.reports.comparison_model import HowCounted, SeenRun, name_with_task
from formalimg.reports.tables.format import level_head, level_name, level_word
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.observations import Observation, Rate
from formalimg.stats.summary import summarize
from formalimg.types import Benchmark, Table

if TYPE_CHECKING:
    from formalimg.reports.published import Published, ReferenceRow

_OVERALL = "Overall"
_SHORT_LEVELS, _LONGEST = (1, 2), 10
_MANY_OBJECTS = 10  # The objects of the controlled subset of Table 4; at K = 10 an item has about as many


def formula_tables(suite: Benchmark, runs: Sequence[SeenRun], counting: HowCounted) -> tuple[Table, ...]:
    """Return the additional tables, which have no rows if no run is relevant to them."""
    return changes_by_layout(suite, runs, counting), prompt_length_control(suite, runs, counting)


def changes_by_layout(suite: Benchmark, runs: Sequence[SeenRun], counting: HowCounted) -> Table:
    """Return the table of each layout run's numbers minus those of the same model's run on plain prompts."""
    pairs = [(run, plain) for run in runs if (plain := _plain_run(run, runs)) is not None]
    levels = sorted({level for run, plain in pairs for level in run.summary.levels.keys() & plain.summary.levels})
    rows = [TableRow((run.name, *_change_cells(run, plain, levels, counting)), run.name) for run, plain in pairs]
    conditions = dict.fromkeys(run.record.manifest.condition for run, _ in pairs)
    published = [
        row
        for condition in conditions
        for row in (_reference_rows(suite.name, condition=condition) if counting.references else ())
        if row.condition
    ]
    rows += _list_published_changes(suite.name, published, levels)
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    return Table(
        "changes by layout",
        "What a layout changes",
        (
            Column("run"),
            *(
                Column(level_name(suite, level), "points", short=level_head(suite, level), group=level_word(suite))
                for level in levels
            ),
            Column(_OVERALL, "points", starts=True),
            Column("G", "steps"),
            Column("same items", "points", starts=True),
        ),
        tuple(rows),
        (
            "Numbers of the main table, in percentage points (G: in levels), minus those of the same model's run with "
            "the words alone; + is better with the layout. same items: the mean difference over the items that both "
            f"runs have a verdict for, with its {100 * counting.confidence:g} % interval."
            + (f" Published: {sources}, minus Table 1." if sources else ""),
        ),
    )


def prompt_length_control(suite: Benchmark, runs: Sequence[SeenRun], counting: HowCounted) -> Table:
    """Return the table of pass rates at K 1 and 2 with ten objects, compared with those at K = 10.

    The two rates come from separate runs unless one run has both kinds of items; each model has one row.
    """
    rows = []
    for run in runs:
        chosen = {
            item.id
            for item in run.record.items.values()
            if item.level in _SHORT_LEVELS and _count_objects(item.formula) >= _MANY_OBJECTS
        }
        if chosen:
            observed = [observation for observation in _list_observations(run) if observation.item in chosen]
            of_short = summarize(
                observed, bands={}, epsilon=None, missing=counting.missing, confidence=counting.confidence
            )
            longest = _at_longest(run, runs)
            rows.append(TableRow((run.name, Number.of(of_short.overall), Number.of(longest)), run.name))
    published = _reference_rows(suite.name, "controlled") if rows and counting.references else ()
    rows += [
        TableRow((row.name, row.printed["controlled"], row.printed["full"]), row.name, row.model, row.judge, row.source)
        for row in published
    ]
    sources = "; ".join(dict.fromkeys(row.source for row in published))
    return Table(
        "prompt length control",
        "Long prompts of low complexity",
        (
            Column("run"),
            Column(f"{suite.level} 1 and 2, {_MANY_OBJECTS} objects", "percent"),
            Column(level_name(suite, _LONGEST), "percent"),
        ),
        tuple(rows),
        (
            f"Pass rates in percent of items of {suite.level} 1 and 2 that have {_MANY_OBJECTS} or more objects, and "
            f"of all items of {suite.level} {_LONGEST}, from another run of the same model and judge where the run has "
            "none: what length and number of objects do without complexity."
            + (f" Published: {sources}." if sources else ""),
        ),
    )


def _at_longest(run: SeenRun, runs: Sequence[SeenRun]) -> Rate | None:
    """Return the rate at the highest level, from the run itself or another run of the same model and setting."""

    def setting(candidate: SeenRun) -> tuple[object, ...]:
        manifest = candidate.record.manifest
        return manifest.model, manifest.judge, manifest.task, manifest.condition, manifest.style

    alike = (candidate for candidate in runs if setting(candidate) == setting(run))
    rates = (candidate.summary.levels.get(_LONGEST) for candidate in (run, *alike))
    return next((rate for rate in rates if rate is not None), None)


def _plain_run(run: SeenRun, runs: Sequence[SeenRun]) -> SeenRun | None:
    """Return the same model's run on plain prompts, preferably with the same judge; None if there is none."""
    manifest = run.record.manifest
    if not manifest.condition or manifest.task != "image":
        return None
    plain_runs = [
        candidate
        for candidate in runs
        if candidate.record.manifest.model == manifest.model
        and candidate.record.manifest.task == "image"
        and not candidate.record.manifest.condition
    ]
    return min(plain_runs, key=lambda plain: plain.record.manifest.judge != manifest.judge, default=None)


def _change_cells(run: SeenRun, plain: SeenRun, levels: Sequence[int], counting: HowCounted) -> Iterator[Cell]:
    changed, base = run.summary, plain.summary
    for level in levels:
        values = (summary.levels[level].value if level in summary.levels else None for summary in (changed, base))
        yield _subtract_numbers(*values)
    yield _subtract_numbers(changed.bands[_OVERALL].value, base.bands[_OVERALL].value)
    steps = (summary.generalizability and summary.generalizability.value for summary in (changed, base))
    yield _subtract_numbers(*steps)
    from formalimg.stats.comparison import compare_paired  # here, because few runs are of one model

    paired = compare_paired(_list_observations(run), _list_observations(plain), confidence=counting.confidence)
    yield Number(paired.estimate, paired.interval)


def _list_published_changes(suite: str, rows: Sequence[ReferenceRow], levels: Sequence[int]) -> Iterator[TableRow]:
    """Yield the published results minus those of the same model on plain prompts."""
    plain = {row.model: row for row in (_reference_rows(suite) if rows else ()) if not row.judge}
    for row in rows:
        if row.model in plain:
            words = plain[row.model]
            cells: list[Cell] = [_subtract_numbers(row.rates.get(level), words.rates.get(level)) for level in levels]
            cells += [
                _subtract_numbers(row.printed.get(_OVERALL), words.printed.get(_OVERALL)),
                _subtract_numbers(row.held, words.held),
            ]
            name = name_with_task(row.model, row.task, row.condition)
            yield TableRow((name, *cells, None), name, row.model, row.judge, row.source)


def _reference_rows(suite: str, quantity: Published = "rate", condition: str = "") -> Sequence[ReferenceRow]:
    from formalimg.reports.published import reference_rows  # here, because most reports are without published rows

    return reference_rows(suite, quantity, condition=condition)


def _subtract_numbers(value: float | None, subtracted: float | None) -> float | None:
    return None if value is None or subtracted is None else value - subtracted


def _list_observations(run: SeenRun) -> list[Observation]:
    return [Observation(image.item, image.level, image.passed) for image in run.images]


def _count_objects(formula: str) -> int:
    return sum(formula.count(f"({quantifier} ") for quantifier in ("exists", "forall", *COUNT_BOUNDS))
