"""Tables of GenEval 2: Soft-TIFA over prompts, per skill and per number of atoms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from formalimg.reports.box_answer_tables import box_answer_table
from formalimg.reports.comparison_model import HowCounted, SeenImage, SeenRun, table_of_rates
from formalimg.reports.tables.format import level_head, level_word, rule_text
from formalimg.reports.tables.model import Cell, Column, Number, TableRow
from formalimg.types import Benchmark, Table

_SKILLS = ("object", "attribute", "count", "position", "verb")
"""The skills in the order of the paper; others follow."""

_SOFT, _HARD = "log-probabilities", "right or wrong"


class _Answers(NamedTuple):
    """The answers of an image: a number from 0 to 1 for each question, by skill; None if it has no verdict."""

    level: int
    scores: tuple[tuple[str, float], ...] | None

    @property
    def am(self) -> float | None:
        """The mean over the questions."""
        return fmean(score for _, score in self.scores) if self.scores else None

    @property
    def gm(self) -> float | None:
        """The geometric mean over the questions."""
        if not self.scores:
            return None
        if min(score for _, score in self.scores) <= 0:
            return 0.0
        return math.exp(fmean(math.log(score) for _, score in self.scores))


def soft_tifa_tables(suite: Benchmark, runs: Sequence[SeenRun], how: HowCounted) -> tuple[Table, ...]:
    """Return the tables of runs whose questions were answered in one word; some may have no rows."""
    read = {run.name: _read(run, how) for run in runs}
    return _by_skill(read, how), _by_level(suite, read, how), box_answer_table(runs, how)


def _read(run: SeenRun, how: HowCounted) -> tuple[str, list[_Answers]]:
    """Return what the numbers of a run are made of, and its answers."""
    asked = _questions(run)
    # Soft for the whole run, or not at all: means over both kinds of numbers would be neither.
    soft = any(image.parts for image in run.images) and all(
        part.p_yes is not None for image in run.images for part in image.parts
    )
    return (_SOFT if soft else _HARD), [_answers(image, asked, soft, how) for image in run.images]


def _questions(run: SeenRun) -> Callable[[str], Sequence[str]]:
    """Return a function from items to the skills of their questions, for images without an answer that count as 0."""
    known: dict[str, Sequence[str]] = {}

    def skills(item: str) -> Sequence[str]:
        if not known:
            for one in run.record.suite_items():
                known[one.id] = [question.category for question in getattr(one.spec, "questions", ())]
        return known.get(item, ())

    return skills


def _answers(image: SeenImage, skills: Callable[[str], Sequence[str]], soft: bool, how: HowCounted) -> _Answers:
    if image.parts:
        scores = ((part.kind, (part.p_yes or 0.0) if soft else part.score) for part in image.parts)
        return _Answers(image.level, tuple(scores))
    if image.by_rule or how.missing == "fail":
        return _Answers(image.level, tuple((skill, 0.0) for skill in skills(image.item)))
    return _Answers(image.level, None)


def _by_skill(read: Mapping[str, tuple[str, list[_Answers]]], how: HowCounted) -> Table:
    there = {skill for _, answers in read.values() for one in answers for skill, _ in one.scores or ()}
    skills = [*(skill for skill in _SKILLS if skill in there), *sorted(there.difference(_SKILLS))]
    rows = []
    for name, (made_of, answers) in read.items():
        means: list[Cell] = [_mean(one.am for one in answers), _mean(one.gm for one in answers)]
        for skill in skills:
            found = [score for one in answers for kind, score in one.scores or () if kind == skill]
            means.append(Number(fmean(found) if found else None))
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
        f"images; by skill, the mean over questions. {_made_of(read)}{rule_text(how.missing)}.",
    )


def _by_level(suite: Benchmark, read: Mapping[str, tuple[str, list[_Answers]]], how: HowCounted) -> Table:
    levels = sorted({one.level for _, answers in read.values() for one in answers})
    rows = []
    for name, (made_of, answers) in read.items():
        by_level = [[one for one in answers if one.level == level] for level in levels]
        rows.append(TableRow((name, made_of, "AM", *(_mean(one.am for one in those) for those in by_level)), name))
        rows.append(TableRow((name, made_of, "GM", *(_mean(one.gm for one in those) for those in by_level)), name))
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
        f"AM and GM as in the table before. {_made_of(read)}{rule_text(how.missing)}.",
    )


def _mean(values: Iterable[float | None]) -> Number:
    """Return the mean of the numbers that are known, with their counts."""
    given = list(values)
    known = [value for value in given if value is not None]
    return Number(fmean(known) if known else None, scored=len(known), expected=len(given))


def _made_of(read: Mapping[str, tuple[str, list[_Answers]]]) -> str:
    """Return the sentence about runs that are not soft; empty if all are."""
    if all(made_of == _SOFT for made_of, _ in read.values()):
        return ""
    return (
        f"{_HARD}: a judge gave no log-probabilities, so an answer counts 1 or 0, and the numbers are TIFA and not "
        "Soft-TIFA; use a judge whose server gives them (-J logprobs=true). "
    )
