"""Table of the questions that can be decided from boxes, and how often those answers agree with the judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.agreement import consistency
from formalimg.types import RunRecord, Table, Verdict

_ALL = "all"


def box_answer_table(runs: Sequence[SeenRun], rules: HowCounted) -> Table:
    """Return the table of box answers for runs whose judge used a grounder, with no rows if none did."""
    columns = (
        *run_column(runs),
        Column("grounder"),
        Column("skill"),
        Column("questions", "count"),
        Column("decided", "percent"),
        Column("agree", "percent", starts=True),
        Column("only judge", "count", group="has the expected answer for", starts=True),
        Column("only boxes", "count", group="has the expected answer for"),
    )
    rows = [row for run in runs for row in _run_rows(run, runs, rules)]
    note = (
        "Counts, presence, colours and positions in the plane are decided by logic from the boxes that the grounder "
        "found, once for each image; materials, depth and verbs are not, nor what it cannot look for or see. decided: "
        "the share of questions with an answer of the judge that boxes decide; agree: of these, the share of which "
        "both say the same, with its interval over items. Verdicts are those of the judge."
    )
    return Table("boxes", "What boxes decide, and whether the judge says the same", columns, tuple(rows), (note,))


def _run_rows(run: SeenRun, runs: Sequence[SeenRun], rules: HowCounted) -> Iterator[TableRow]:
    grounder, answers = _read_answers(run.record)
    if not grounder:
        return
    for skill in (_ALL, *sorted({skill for _, skill, *_ in answers})):
        total = sum(skill in (_ALL, kind) for _, kind, *_ in answers)
        decided = [
            (item, (by_judge, by_boxes))
            for item, kind, by_judge, by_boxes in answers
            if skill in (_ALL, kind) and by_boxes is not None
        ]
        pairs = [pair for _, pair in decided]
        same = consistency(pairs, items=[item for item, _ in decided], confidence=rules.confidence)
        cells: tuple[Cell, ...] = (
            *run_cell(run.name, runs),
            grounder,
            skill,
            Number(total),
            Number(len(decided) / total, passed=len(decided), scored=total) if total else "",
            Number(same.value, same.interval, passed=same.equal, scored=same.n) if decided else "",
            Number(pairs.count((True, False))),
            Number(pairs.count((False, True))),
        )
        yield TableRow(cells, run.name)


def _read_answers(record: RunRecord) -> tuple[str, list[tuple[str, str, bool, bool | None]]]:
    """Return the grounder's name (or an empty string) and the item, skill and two answers of each question.

    They are whether judge and boxes have the expected answer; None if boxes do not decide.
    """
    grounder = ""
    answers = []
    for judged in record.judged():
        boxes = judged.verdict.evidence.get("by_boxes") if isinstance(judged.verdict, Verdict) else None
        if not isinstance(boxes, Mapping) or not isinstance(judged.verdict, Verdict):
            continue
        grounder = str(boxes.get("grounder") or grounder)
        stored, parts = boxes.get("answers"), judged.verdict.parts
        by_boxes = stored if isinstance(stored, list) and len(stored) == len(parts) else []
        for part, answer in zip(parts, by_boxes, strict=False):
            decided = answer if isinstance(answer, bool) else None
            answers.append((judged.outcome.item, part.kind, part.score >= 0.5, decided))
    return grounder, answers
