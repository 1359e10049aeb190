"""Table of questions that boxes can decide: how many, and how often they say what the judge says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.comparison_model import HowCounted, SeenRun, run_cell, run_column
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.stats.agreement import consistency
from formalimg.types import RunRecord, Table, Verdict

_ALL = "all"


class _BoxAnswer(NamedTuple):
    """What a judge and boxes say of one question: whether it has the expected answer; None if boxes do not decide."""

    item: str
    skill: str
    by_judge: bool
    by_boxes: bool | None


def box_answer_table(runs: Sequence[SeenRun], how: HowCounted) -> Table:
    """Return the table of runs whose judge had a grounder; without rows if none had."""
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
    rows = [row for run in runs for row in _rows(run, runs, how)]
    note = (
        "Counts, presence, colours and positions in the plane are decided by logic from the boxes that the grounder "
        "found, once for each image; materials, depth and verbs are not, nor what it cannot look for or see. decided: "
        "the share of questions with an answer of the judge that boxes decide; agree: of these, the share of which "
        "both say the same, with its interval over items. Verdicts are those of the judge."
    )
    return Table("boxes", "What boxes decide, and whether the judge says the same", columns, tuple(rows), (note,))


def _rows(run: SeenRun, runs: Sequence[SeenRun], how: HowCounted) -> Iterator[TableRow]:
    grounder, answers = _compared(run.record)
    if not grounder:
        return
    skills = dict.fromkeys(one.skill for one in answers)
    for skill in (_ALL, *sorted(skills)):
        those = [one for one in answers if skill in (_ALL, one.skill)]
        decided = [one for one in those if one.by_boxes is not None]
        pairs = [(one.by_judge, one.by_boxes) for one in decided]
        same = consistency(pairs, items=[one.item for one in decided], confidence=how.confidence)
        cells: tuple[Cell, ...] = (
            *run_cell(run.name, runs),
            grounder,
            skill,
            Number(len(those)),
            Number(len(decided) / len(those), passed=len(decided), scored=len(those)) if those else "",
            Number(same.value, same.interval, passed=same.equal, scored=same.n) if decided else "",
            Number(pairs.count((True, False))),
            Number(pairs.count((False, True))),
        )
        yield TableRow(cells, run.name)


def _compared(record: RunRecord) -> tuple[str, list[_BoxAnswer]]:
    """Return the name of the grounder, empty if there is none, and all answers with what boxes say."""
    grounder = ""
    found: list[_BoxAnswer] = []
    for judged in record.judged():
        if not isinstance(judged.verdict, Verdict):
            continue
        boxes = judged.verdict.evidence.get("by_boxes")
        if not isinstance(boxes, Mapping):
            continue
        grounder = str(boxes.get("grounder") or grounder)
        said = boxes.get("answers")
        answers = said if isinstance(said, list) and len(said) == len(judged.verdict.parts) else []
        for part, by_boxes in zip(judged.verdict.parts, answers, strict=False):
            decided = by_boxes if isinstance(by_boxes, bool) else None
            found.append(_BoxAnswer(judged.outcome.item, part.kind, part.score >= 0.5, decided))
    return grounder, found
