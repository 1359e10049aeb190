"""What comes of comparing judges and people, figure by figure: for spreadsheets, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

from formalimg.analysis.figure_rows import COLUMNS, numbers
from formalimg.analysis.judges_compared import JudgesCompared
from formalimg.analysis.naming_judges import judge_names
from formalimg.analysis.people import PeopleStudied
from formalimg.analysis.people_figures import figures_of_people
from formalimg.analysis.scores_compared import ScoresCompared
from formalimg.analysis.scores_compared_tables import figures_of_scores
from formalimg.analysis.tables_in_words import rows_as_csv


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
            return figures_of_people(study)


def _exported(field: str) -> str:
    """Return the key of a field in exported JSON, which keeps the names of earlier exports."""
    return {"images": "pictures", "without_image": "without_picture", "objects": "things"}.get(field, field)


def plain(value: object) -> object:
    """Any result of a study as plain data, for JSON: named fields become keys, and so do levels."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_exported(field.name): plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {_exported(name): plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {"all" if key is None else str(key): plain(inner) for key, inner in value.items()}
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
            yield {"figure": figure, **who, **numbers(whole)}
            for level, part in levels.items():
                yield {"figure": figure, **who, "level": level, **numbers(part)}
    who = {"run": study.run, "figure": "agreement", "first": names[0], "second": names[1]}
    yield {**who, "of": "pictures", **numbers(study.passed)}
    for level, it in study.passed_by_level.items():
        yield {**who, "of": "pictures", "level": level, **numbers(it)}
    yield {**who, "of": "questions", **numbers(study.questions)}
    for level, it in study.questions_by_level.items():
        yield {**who, "of": "questions", "level": level, **numbers(it)}
    for kind, it in study.questions_by_kind.items():
        yield {**who, "of": "questions", "kind": kind, **numbers(it)}
