"""Tables of GenEval 2: Soft-TIFA over prompts, per skill and per number of atoms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from formalimg.reports.comparison_model import HowCounted, SeenRun, table_of_rates
from formalimg.reports.judge_tables import box_answer_table
from formalimg.reports.tables.format import level_head, level_word, rule_text
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.types import Benchmark, Table

_SKILLS = ("object", "attribute", "count", "position", "verb")  # The skills in the order of the paper; others follow
_SOFT, _HARD = "log-probabilities", "right or wrong"


class _Answers(NamedTuple):
    """An image's scores from 0 to 1 by skill, one per question, or None without a verdict."""

    level: int
    scores: tuple[tuple[str, float], ...] | None

    @property
    def am(self) -> float | None:
        """The arithmetic mean of the scores."""
        return fmean(score for _, score in self.scores) if self.scores else None

    @property
    def gm(self) -> float | None:
        """The geometric mean of the scores."""
        if not self.scores:
            return None
        if min(score for _, score in self.scores) <= 0:
            return 0.0
        return math.exp(fmean(math.log(score) for _, score in self.scores))


def soft_tifa_tables(suite: Benchmark, runs: Sequence[SeenRun], rules: HowCounted) -> tuple[Table, ...]:
    """Return the Soft-TIFA tables of runs with one-word answers, some possibly without rows."""
    read = {run.name: _read_run(run, rules) for run in runs}
    return _by_skill(read, rules), _by_level(suite, read, rules), box_answer_table(runs, rules)


def _read_run(run: SeenRun, rules: HowCounted) -> tuple[str, list[_Answers]]:
    """Return the score type of a run and the answers for its images; images without answers may count as 0."""
    parts = [part for image in run.images for part in image.parts]
    # Soft for the whole run, or not at all: means over both kinds of numbers would be neither.
    soft = bool(parts) and all(part.p_yes is not None for part in parts)
    specs = (
        {} if all(image.parts for image in run.images) else {item.id: item.spec for item in run.record.suite_items()}
    )
    images = []
    for image in run.images:
        scores: tuple[tuple[str, float], ...] | None = None
        if image.parts:
            scores = tuple((part.kind, (part.p_yes or 0.0) if soft else part.score) for part in image.parts)
        elif image.by_rule or rules.missing == "fail":
            questions = getattr(specs.get(image.item), "questions", ())
            scores = tuple((question.category, 0.0) for question in questions)
        images.append(_Answers(image.level, scores))
    return (_SOFT if soft else _HARD), images


def _by_skill(read: Mapping[str, tuple[str, list[_Answers]]], rules: HowCounted) -> Table:
    present = {skill for _, answers in read.values() for image in answers for skill, _ in image.scores or ()}
    skills = [*(skill for skill in _SKILLS if skill in present), *sorted(present.difference(_SKILLS))]
    rows = []
    for name, (made_of, answers) in read.items():
        means: list[Cell] = [_mean_number(image.am for image in answers), _mean_number(image.gm for image in answers)]
        for skill in skills:
            scores = [score for image in answers for kind, score in image.scores or () if kind == skill]
            means.append(Number(fmean(scores) if scores else None))
        rows.append(TableRow((name, made_of, *means), name))
    return table_of_rates(
        "soft-tifa",
        "Soft-TIFA: how likely the judge gives the expected answers",
        (
            Column("run"),
            Column("from"),
            Column("AM", "percent"),
            Column("GM", "percent"),
            *(Column(skill, "percent", group="AM of questions", starts=n == 0) for n, skill in enumerate(skills)),
        ),
        rows,
        "AM and GM: the arithmetic and the geometric mean over the questions of an image, and the mean of these over "
        f"images; by skill, the mean over questions. {_describe_source(read)}{rule_text(rules.missing)}.",
    )


def _by_level(suite: Benchmark, read: Mapping[str, tuple[str, list[_Answers]]], rules: HowCounted) -> Table:
    levels = sorted({image.level for _, answers in read.values() for image in answers})
    rows = []
    for name, (made_of, answers) in read.items():
        by_level = [[image for image in answers if image.level == level] for level in levels]
        for mean in ("AM", "GM"):
            means = (_mean_number(getattr(image, mean.lower()) for image in group) for group in by_level)
            rows.append(TableRow((name, made_of, mean, *means), name))
    return table_of_rates(
        "soft-tifa by level",
        f"Soft-TIFA by number of {suite.level}",
        (
            Column("run"),
            Column("from"),
            Column("mean"),
            *(
                Column(f"{suite.level} {level}", "percent", short=level_head(suite, level), group=level_word(suite))
                for level in levels
            ),
        ),
        rows,
        f"AM and GM as in the table before. {_describe_source(read)}{rule_text(rules.missing)}.",
    )


def _mean_number(values: Iterable[float | None]) -> Number:
    listed = list(values)
    numbers = [value for value in listed if value is not None]
    return Number(fmean(numbers) if numbers else None, scored=len(numbers), expected=len(listed))


def _describe_source(read: Mapping[str, tuple[str, list[_Answers]]]) -> str:
    """Return a note on runs without soft scores, or an empty string if there are none."""
    if all(made_of == _SOFT for made_of, _ in read.values()):
        return ""
    return (
        f"{_HARD}: a judge gave no log-probabilities, so an answer counts 1 or 0, and the numbers are TIFA and not "
        "Soft-TIFA; use a judge whose server gives them (-J logprobs=true). "
    )
