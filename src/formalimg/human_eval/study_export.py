"""Export of human ratings to the CSV and JSONL files that `formalimg agree` and `calibrate` read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from formalimg._util.io import atomic_write
from formalimg._util.text import csv_table
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.attention_checks import passed_check
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.pairs import passed_pair_check, preferred_run
from formalimg.human_eval.protocol import RatingProtocol, RatingStep
from formalimg.human_eval.records import GivenAnswer, RatedTask, StudyRecord, mean_ratings, read_study
from formalimg.human_eval.rules import excluded_raters

PEOPLE = "people"
"""The rater name of votes that combine the ratings of several raters."""

_VALUE_COLUMN = {"votes": "vote", "labels": "label", "scores": "score", "likert": "rating"}
"""The name of the column with the answers, by file."""


class RaterSummary(NamedTuple):
    """Progress and attention of a rater."""

    rater: str  # the pseudonym
    finished: int  # number of finished tasks and of all tasks, including attention checks
    of: int
    checks: int  # number of finished attention checks, and of those passed
    checks_passed: int
    seconds: float  # total time of all answers
    median_seconds: float | None  # median time of a finished task; None if there is none
    cannot_tell: int = 0  # number of final answers that the rater cannot tell, without attention checks
    excluded: str = ""  # why the rater is excluded by the rules of the study; empty for those who count


@dataclass(frozen=True)
class ExportedStudy:
    """Result of an export."""

    files: tuple[Path, ...]  # the written files
    raters: tuple[RaterSummary, ...]  # summary of each rater, also of those left out
    finished: int  # number of finished tasks in the files, without attention checks and raters left out
    unfinished: int  # number of such tasks that are still unfinished


def export_study(folder: str | Path, out: str | Path, *, leave_out: Collection[str] = ()) -> ExportedStudy:
    """Write the ratings so far; raters may go on meanwhile.

    In all cases `answers.jsonl` (every answer, also corrected, unfinished and checks, with seconds and time) and
    `raters.csv` (progress, attention, seconds). Of finished tasks, without checks:

    - `questions`: `votes.csv` for `formalimg agree --votes`; where raters say whether objects can be recognised,
      `labels.csv` for `calibrate`;
    - `scores`: `scores.csv` for `formalimg agree --scores`;
    - `likert`: `likert.csv`, `compliance.csv` (mean and pass of each image), and `votes.csv`, in which `people` have
      one vote on each image that has all its ratings, by the rule of the study;
    - `boxes`: `boxes.jsonl`, the scenes found by the judge and the corrected ones;
    - `ab`: `preferences.csv`, which of two images each rater prefers.

    Raters who are excluded by the rules of the study are left out as well.
    """
    study = read_study(folder)
    texts = export_files(study, leave_out)
    home = Path(out)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write to {home}: {error.strerror}") from error
    for name, text in texts.items():
        atomic_write(home / name, [text.encode()])
    raters = summarize_raters(study)
    counted = _counted(study, {*leave_out, *(rater.rater for rater in raters if rater.excluded)})
    done = sum(bool(task.finished) for task in counted)
    return ExportedStudy(tuple(home / name for name in texts), raters, done, len(counted) - done)


def export_files(study: StudyRecord, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Return the content of the files that `export_study` writes, by name."""
    raters = summarize_raters(study)
    unknown = sorted(set(leave_out) - {rater.rater for rater in raters})
    if unknown:
        raise FormalimgError(f"unknown rater {unknown[0]!r}: raters are {raters[0].rater} and so on")
    left_out = {*leave_out, *(rater.rater for rater in raters if rater.excluded)}
    counted = _counted(study, left_out)
    done = [task for task in counted if task.finished]
    if not done and left_out:
        raise FormalimgError("only raters left out have finished an image: leave out fewer, or wait for others")
    if not done:
        raise FormalimgError("no rater has finished an image yet: collect ratings first")
    return {
        "answers.jsonl": _lines(_answer_record(task, it) for task in study.tasks for it in task.history),
        "raters.csv": _raters(raters, study.manifest.schema),
        **_by_protocol(study.manifest, counted, done),
    }


def summarize_raters(study: StudyRecord) -> tuple[RaterSummary, ...]:
    """Summarize each rater, in the order of their numbers."""
    by_rater: dict[str, list[RatedTask]] = {f"rater-{number}": [] for number in range(1, study.manifest.raters + 1)}
    for task in study.tasks:
        by_rater[task.rater].append(task)
    found = [_summary(rater, tasks, study.manifest.protocol) for rater, tasks in by_rater.items()]
    excluded = dict(excluded_raters(found, study.manifest.rules))
    return tuple(it._replace(excluded=excluded.get(it.rater, "")) for it in found)


def _raters(raters: Sequence[RaterSummary], schema: int) -> str:
    """Return the table of raters; studies of schema 1 keep the columns that they had."""
    columns = len(RaterSummary._fields) - (2 if schema == 1 else 0)
    return csv_table([RaterSummary._fields[:columns], *(rater[:columns] for rater in raters)])


def _counted(study: StudyRecord, leave_out: Collection[str]) -> list[RatedTask]:
    return [task for task in study.tasks if not task.is_check and task.rater not in leave_out]


def _summary(rater: str, tasks: Sequence[RatedTask], protocol: RatingProtocol) -> RaterSummary:
    done = [task for task in tasks if task.finished]
    checks = [task for task in done if task.is_check]
    passed = [
        passed_pair_check(task)
        if protocol == "ab"
        else passed_check(protocol, task.steps, {name: it.value for name, it in task.answers.items()})
        for task in checks
    ]
    given = [it.value for task in done if not task.is_check for it in task.answers.values()]
    return RaterSummary(
        rater,
        len(done),
        len(tasks),
        len(checks),
        sum(passed),
        round(sum(task.seconds for task in tasks), 3),
        round(median(task.seconds for task in done), 3) if done else None,
        given.count(CANNOT_TELL),
    )


def _by_protocol(manifest: StudyManifest, counted: Sequence[RatedTask], done: Sequence[RatedTask]) -> dict[str, str]:
    match manifest.protocol:
        case "questions":
            labels = done[0].steps[0].name == "recognisable"
            return {"labels.csv": _sheet("labels", done)} if labels else {"votes.csv": _sheet("votes", done)}
        case "scores":
            return {"scores.csv": _sheet("scores", done)}
        case "ab":
            return {"preferences.csv": _preferences(done)}
        case "boxes":
            return {"boxes.jsonl": _lines(_corrected(task) for task in done)}
        case "likert":
            sums = mean_ratings(counted, manifest.label_rule)
            means = [
                (*it[:4], len(it.ratings), it.wanted, "" if it.mean is None else f"{it.mean:.4g}", _bit(it.passed))
                for it in sums
            ]
            votes = [(*it[:3], "all", PEOPLE, _bit(it.passed)) for it in sums if it.passed is not None]
            heads = ("model", "item", "sample", "level", "ratings", "wanted", "mean", "passed")
            return {
                "likert.csv": _sheet("likert", done),
                "compliance.csv": csv_table([heads, *means]),
                "votes.csv": csv_table([("model", "item", "sample", "question", "rater", "vote"), *votes]),
            }


def _sheet(kind: str, tasks: Sequence[RatedTask]) -> str:
    """Return a CSV table with one row per final answer."""
    heads = ("model", "item", "sample", "question", "rater", _VALUE_COLUMN[kind], "seconds", "at")
    rows = [
        (task.run, task.item, task.sample, step.question or "all", task.rater, _cell(step, it), it.seconds, it.at)
        for task in tasks
        for step in task.steps
        for it in [task.answers[step.name]]
    ]
    return csv_table([heads, *rows])


def _preferences(tasks: Sequence[RatedTask]) -> str:
    """Return a CSV table with one row per comparison of two images."""
    heads = ("item", "sample", "level", "left", "right", "rater", "preferred", "seconds", "at")
    rows = []
    for task in tasks:
        assert task.other is not None  # nothing else is ever stored
        preferred, last = preferred_run(task), task.answers["preference"]
        said = CANNOT_TELL if preferred is None else preferred or "tie"
        where = (task.item, task.sample, task.level, task.run, task.other.run)
        rows.append((*where, task.rater, said, task.seconds, last.at))
    return csv_table([heads, *rows])


def _cell(step: RatingStep, answer: GivenAnswer) -> str:
    value = answer.value
    if isinstance(value, bool):
        return _bit(value)
    return f"{value:.2f}" if step.kind == "score" and not isinstance(value, str) else str(value)


def _bit(value: bool | None) -> str:
    return "" if value is None else str(int(value))


def _answer_record(task: RatedTask, answer: GivenAnswer) -> Mapping[str, object]:
    return {
        "model": task.run,
        "item": task.item,
        "sample": task.sample,
        "rater": task.rater,
        **answer._asdict(),
        "counts": task.answers[answer.step] is answer,
        "finished": bool(task.finished),
        "check": task.is_check,
        **({} if task.other is None else {"beside": task.other.run}),
        "words_of": task.words_of,
    }


def _corrected(task: RatedTask) -> Mapping[str, object]:
    last = task.answers["boxes"]
    return {
        "model": task.run,
        "item": task.item,
        "sample": task.sample,
        "rater": task.rater,
        "grounded": task.grounded,
        "corrected": last.value,
        "seconds": task.seconds,
        "at": last.at,
    }


def _lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
