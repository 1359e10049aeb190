"""What a reader must know before comparing the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from formalimg.analysis import judge_names
from formalimg.reporting.comparison import PublishedRow, Row
from formalimg.reporting.figures import listed
from formalimg.reporting.parties import party_text
from formalimg.runs import PlannedItem, RunRecord, StoredRun


def notes_on(
    runs: Sequence[RunRecord], rows: Sequence[Row], published: Sequence[PublishedRow], computed: Sequence[str]
) -> Iterator[str]:
    """In what the runs differ besides their models, and what else keeps their figures from being compared.

    Args:
        runs: the runs.
        rows: their rows, in the same order.
        published: the figures of others beside them.
        computed: the figures among these that were worked out from the others.
    """
    if len({run.manifest.items_digest for run in runs}) > 1:
        shared = len(set.intersection(*({_asked(item) for item in run.items.values()} for run in runs)))
        counts = _by_value(rows, lambda row: f"{row.items:,}")
        yield f"The runs are over different items: {counts}; {shared:,} are the same in all. Compare them with care."
    for what, tell in _DIFFERENCES.items():
        if len({tell(row) for row in rows}) > 1:
            yield f"The runs differ in their {what}: {_by_value(rows, tell)}."
    yield from _note_on_judges(rows)
    for row in rows:
        if row.manifest.judge is None:
            yield f"{row.name}: nobody has judged the images yet."
    yield from _note_on_hidden_judges(runs, rows)
    if published:
        sources = "; ".join(dict.fromkeys(row.source for row in published))
        verb = "is" if len(computed) == 1 else "are"
        made = f" Only {listed(computed)} {verb} worked out from them here." if computed else ""
        yield f"Published figures are as their authors gave them, on their items and by their judge: {sources}.{made}"


def _note_on_judges(rows: Sequence[Row]) -> Iterator[str]:
    """That judges differ; and who judged which run, unless the names of the runs say it."""
    judges = [row.manifest.judge for row in rows if row.manifest.judge]
    names = dict(zip(map(party_text, judges), judge_names(judges), strict=True))

    def judge_of(row: Row) -> str:
        return names[party_text(row.manifest.judge)] if row.manifest.judge else "none"

    if len(set(map(judge_of, rows))) > 1:
        is_told = all(row.name.endswith(f"by {judge_of(row)}") for row in rows)
        yield f"The runs differ in their judges{'' if is_told else f': {_by_value(rows, judge_of)}'}."


def _note_on_hidden_judges(runs: Sequence[RunRecord], rows: Sequence[Row]) -> Iterator[str]:
    """Whose verdicts are there, but not shown: a run shows those of one judge."""
    shown = {(run.folder, party_text(run.manifest.judge)) for run in runs}
    hidden: dict[str, str] = {}
    for run, row in zip(runs, rows, strict=True):
        others = [
            judge
            for judge in (run.judges() if isinstance(run, StoredRun) else ())
            if (run.folder, party_text(judge)) not in shown
        ]
        if others:
            names = judge_names([*others, *([row.manifest.judge] if row.manifest.judge else [])])
            hidden[row.name] = listed(list(dict.fromkeys(names[: len(others)])))
    if hidden:
        found = _by_value([row for row in rows if row.name in hidden], lambda row: hidden[row.name])
        yield f"Verdicts of other judges are there, and not shown: {found}. See all with formalimg report --judges all."


def _asked(item: PlannedItem) -> tuple[str, str, str]:
    return item.id, item.prompt, item.formula


_DIFFERENCES: dict[str, Callable[[Row], str]] = {
    "tasks": lambda row: row.manifest.task,
    "conditions": lambda row: row.manifest.condition or "words alone",
    "style texts": lambda row: row.manifest.style,
    "layouts": lambda row: row.manifest.layouts or "none",
    "versions of the suite": lambda row: row.manifest.suite_version or "unknown",
    "images per item": lambda row: str(row.manifest.samples),
    "sizes of images": lambda row: f"{row.manifest.size} px",
    "seeds": lambda row: str(row.manifest.seed),
}


def _by_value(rows: Sequence[Row], tell: Callable[[Row], str]) -> str:
    """Each value once, with the runs that have it."""
    names: dict[str, list[str]] = {}
    for row in rows:
        names.setdefault(tell(row), []).append(row.name)
    return "; ".join(f"{value} for {listed(those)}" for value, those in names.items())
