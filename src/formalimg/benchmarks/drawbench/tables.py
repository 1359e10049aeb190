"""Table of DrawBench: how each category was judged, how many images were scored, and why others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from formalimg._util.text import truncate
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.reports.comparison_model import SeenRun, run_cell, run_column
from formalimg.reports.tables.format import level_name
from formalimg.reports.tables.model import Column, Number, TableRow
from formalimg.types import Benchmark, Table, Unscored, Verdict

_SHOWN = 140


def category_table(suite: Benchmark, runs: Sequence[SeenRun]) -> Table:
    """Return the table of categories."""
    columns = (
        *run_column(runs),
        Column(suite.level),
        Column("pass rate", "percent"),
        Column("scored", "scored"),
        Column("judged by"),
        Column("read in part", "count"),
        Column("unscored because"),
    )
    rows = [row for run in runs for row in _category_rows(suite, run, runs)]
    note = (
        "judged by: what prompts became, a formula for a detector, strings for a text reader, or a question for a chat "
        "model; read in part: images of whose prompt words are not checked, such as a place. Images "
        "without a verdict are left out of the rate, and counted in `scored`."
    )
    return Table("categories", "Categories: what was scored, and by what", columns, tuple(rows), (note,), "result")


def _category_rows(suite: Benchmark, run: SeenRun, runs: Sequence[SeenRun]) -> list[TableRow]:
    items = {item.id: item for item in run.record.suite_items()}
    forms: dict[int, Counter[str]] = {}
    reasons: dict[int, Counter[str]] = {}
    parts: Counter[int] = Counter()
    for judged in run.record.judged():
        level, verdict = judged.outcome.level, judged.verdict
        forms.setdefault(level, Counter())[_describe_judging(items[judged.outcome.item].spec)] += 1
        if isinstance(verdict, Unscored):
            reasons.setdefault(level, Counter())[verdict.detail or verdict.reason] += 1
        elif isinstance(verdict, Verdict):
            parts[level] += "not_checked" in verdict.evidence
    return [
        TableRow(
            (
                *run_cell(run.name, runs),
                level_name(suite, level),
                Number.of(run.summary.levels.get(level)),
                Number.of(run.summary.levels.get(level)),
                ", ".join(f"{count} {form}" for form, count in counted.most_common()),
                float(parts[level]),
                "; ".join(truncate(reason, _SHOWN, 20) for reason, _ in reasons.get(level, Counter()).most_common(1)),
            ),
            run.name,
        )
        for level, counted in sorted(forms.items())
    ]


def _describe_judging(spec: object) -> str:
    if not isinstance(spec, QuestionSpec) or (spec.formula is None and not spec.questions):
        return "nothing"
    if spec.formula is not None:
        return "formula"
    return "text" if all(question.category == "text" for question in spec.questions) else "question"
