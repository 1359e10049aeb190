"""What comes of comparing judges and people, figure by figure: for spreadsheets, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

from formalimg.stats import Consistency, Correlation, Estimate, MeanConsistency, Rate, Reliability
from formalimg.studies.agreement_tables import figures_of_judge
from formalimg.studies.judges_compared import Fraction, JudgesCompared
from formalimg.studies.naming_judges import judge_names
from formalimg.studies.panels import JUDGE, MAJORITY, Panel
from formalimg.studies.people import PeopleStudied, Share
from formalimg.studies.scores_compared import ScoresCompared
from formalimg.studies.scores_compared_tables import figures_of_scores
from formalimg.studies.tables_in_words import rows_as_csv

COLUMNS = (
    "figure",
    "of",
    "run",
    "first",
    "second",
    "level",
    "kind",
    "value",
    "low",
    "high",
    "n",
    "left_out",
    "kappa",
)
"""What each line tells: which figure, of what (pictures or questions), for whom, for which part; shares are 0 to 1."""


def agreement_csv(studies: Iterable[JudgesCompared | ScoresCompared | PeopleStudied]) -> str:
    """One line for each figure; what is not known or does not apply is empty."""
    return rows_as_csv(COLUMNS, (row for study in studies for row in _rows(study)))


def _rows(study: JudgesCompared | ScoresCompared | PeopleStudied) -> Iterator[dict[str, object]]:
    match study:
        case JudgesCompared():
            return _of_judges(study)
        case ScoresCompared():
            return figures_of_scores(study)
        case PeopleStudied():
            return _of_people(study)


def plain(value: object) -> object:
    """Any result of a study as plain data, for JSON: named fields become keys, and so do levels."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def _of_judges(study: JudgesCompared) -> Iterator[dict[str, object]]:
    names = judge_names([study.first.judge, study.second.judge])
    for name, scores in zip(names, (study.first, study.second), strict=True):
        who = {"run": study.run, "first": name, "of": "pictures"}
        for figure, whole, levels in (
            ("full mark", scores.full_mark, scores.full_mark_by_level),
            ("fraction", scores.fraction, scores.fraction_by_level),
        ):
            yield {"figure": figure, **who, **_numbers(whole)}
            for level, part in levels.items():
                yield {"figure": figure, **who, "level": level, **_numbers(part)}
    who = {"run": study.run, "figure": "agreement", "first": names[0], "second": names[1]}
    yield {**who, "of": "pictures", **_numbers(study.passed)}
    for level, it in study.passed_by_level.items():
        yield {**who, "of": "pictures", "level": level, **_numbers(it)}
    yield {**who, "of": "questions", **_numbers(study.questions)}
    for level, it in study.questions_by_level.items():
        yield {**who, "of": "questions", "level": level, **_numbers(it)}
    for kind, it in study.questions_by_kind.items():
        yield {**who, "of": "questions", "kind": kind, **_numbers(it)}


def _of_people(study: PeopleStudied) -> Iterator[dict[str, object]]:
    for of, panel in (
        ("whole pictures", study.whole),
        ("all questions", study.all_questions),
        ("questions", study.questions),
    ):
        if panel is not None:
            yield from ({"of": of, **line} for line in _of_panel(panel))
    for level, it in [(None, study.divergence), *study.divergence_by_level.items()]:
        if it is not None:
            who = {"of": "whole pictures and all questions", "level": level}
            yield {"figure": "same in both steps", **who, **_numbers(it.agreement)}
            yield {"figure": "yes, then no", **who, **_numbers(it.yes_then_no)}
            yield {"figure": "no, then yes", **who, **_numbers(it.no_then_yes)}


def _of_panel(panel: Panel) -> Iterator[dict[str, object]]:
    for score in panel.scores:
        for figure, who, rate in (
            ("score", MAJORITY, score.people),
            ("score", JUDGE, score.judge),
            ("score on what both decided", MAJORITY, score.people_of_both),
            ("score on what both decided", JUDGE, score.judge_of_both),
        ):
            yield {"figure": figure, "run": score.run, "level": score.level, "first": who, **_numbers(rate)}
    both = {"figure": "agreement", "first": MAJORITY, "second": JUDGE}
    for level, it in panel.with_judge_by_level.items():
        yield {**both, "level": level, **_numbers(it)}
    for run, it in panel.with_judge_by_run.items():
        yield {**both, "run": run, **_numbers(it)}
    for kind, it in panel.with_judge_by_kind.items():
        yield {**both, "kind": kind, **_numbers(it)}
    names = list(panel.matrix)
    for number, first in enumerate(names):
        for second in names[number + 1 :]:
            yield {"figure": "agreement", "first": first, "second": second, **_numbers(panel.matrix[first][second])}
    yield {"figure": "mean agreement of people", **_numbers(panel.people)}
    yield {"figure": "Krippendorff's alpha of people", **_numbers(panel.alpha)}
    for name, figure_of in figures_of_judge(panel.classified).items():
        whole = {"n": panel.classified.n, "left_out": panel.classified.left_out}
        yield {"figure": name, "first": MAJORITY, "second": JUDGE, **whole, **_numbers(figure_of)}
    for run, r in panel.r_by_level.items():
        yield {"figure": "r from level to level", "run": run, "first": MAJORITY, "second": JUDGE, **_numbers(r)}
    for level, r in panel.r_by_run.items():
        yield {"figure": "r from run to run", "level": level, "first": MAJORITY, "second": JUDGE, **_numbers(r)}
    ranks = {"figure": "rank correlation of runs", "first": MAJORITY, "second": JUDGE}
    for level, r in panel.ranks.by_level.items():
        yield {**ranks, "level": level, **_numbers(r)}
    mean = {"value": panel.ranks.mean, "n": panel.ranks.levels, "left_out": panel.ranks.left_out}
    yield {**ranks, "figure": "mean rank correlation of runs", **mean}


def _numbers(
    figure: Rate | Fraction | Consistency | MeanConsistency | Correlation | Reliability | Share | Estimate,
) -> dict[str, object]:
    found: dict[str, object] = {"value": figure.value}
    match figure:
        case Rate():
            found |= {"n": figure.scored, "left_out": figure.expected - figure.scored}
        case MeanConsistency():
            return found | {"n": figure.pairs, "left_out": figure.left_out}
        case Share():
            found |= {"n": figure.n}
        case Estimate():
            pass
        case _:
            found |= {"n": figure.n, "left_out": figure.left_out}
    if isinstance(figure, Consistency):
        found["kappa"] = figure.kappa
    if figure.interval is not None:
        found |= {"low": figure.interval.low, "high": figure.interval.high}
    return found
