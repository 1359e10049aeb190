"""Export of a rating study: answers as CSV and JSONL for `formalimg agree` and `calibrate`, and recruitment links."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg._util.io import atomic_write
from formalimg._util.text import csv_table
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import CANNOT_TELL
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.records import RatedTask, StudyRecord, mean_ratings, read_study, summarize_raters

PEOPLE = "people"  # The rater name of votes that combine the ratings of several raters
_RATER_COLUMNS = (
    *("rater", "finished", "of", "checks", "checks_passed", "seconds", "median_seconds"),
    *("cannot_tell", "excluded"),  # studies of schema 1 keep the columns that they had, without these
)
_PREFERENCE_COLUMNS = ("item", "sample", "level", "left", "right", "rater", "preferred", "seconds", "at")


class ExportedStudy(NamedTuple):
    """The result of an export."""

    files: tuple[Path, ...]  # the written files
    raters: tuple[RaterSummary, ...]  # summary of each rater, also of those left out
    finished: int  # number of finished tasks in the files, without attention checks and raters left out
    unfinished: int  # number of such tasks that are still unfinished


def export_study(folder: str | Path, out: str | Path, *, leave_out: Collection[str] = ()) -> ExportedStudy:
    """Write the ratings collected so far; raters may continue to answer.

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
    paths = _write_files(out, export_files(study, leave_out))
    raters, tasks = _select_tasks(study, leave_out)
    finished = sum(bool(task.finished) for task in tasks)
    return ExportedStudy(paths, raters, finished, len(tasks) - finished)


def export_files(study: StudyRecord, leave_out: Collection[str] = ()) -> dict[str, str]:
    """Return the contents of the files written by `export_study`, keyed by file name."""
    raters, tasks = _select_tasks(study, leave_out)
    unknown = sorted({*leave_out} - {rater.rater for rater in raters})
    if unknown:
        raise FormalimgError(f"unknown rater {unknown[0]!r}: raters are {raters[0].rater} and so on")
    finished = [task for task in tasks if task.finished]
    if not finished and (leave_out or any(rater.excluded for rater in raters)):
        raise FormalimgError("only raters left out have finished an image: leave out fewer, or wait for others")
    if not finished:
        raise FormalimgError("no rater has finished an image yet: collect ratings first")
    answers = (
        {
            **_identify_task(task),
            **answer._asdict(),
            "counts": task.answers[answer.step] is answer,
            "finished": bool(task.finished),
            "check": task.is_check,
            **({} if task.other is None else {"beside": task.other.run}),
            "words_of": task.words_of,
        }
        for task in study.tasks
        for answer in task.history
    )
    columns = _RATER_COLUMNS[: -2 if study.manifest.schema == 1 else None]
    return {
        "answers.jsonl": _format_lines(answers),
        "raters.csv": csv_table([columns, *([getattr(rater, column) for column in columns] for rater in raters)]),
        **_export_ratings(study.manifest, tasks, finished),
    }


def _select_tasks(study: StudyRecord, leave_out: Collection[str]) -> tuple[tuple[RaterSummary, ...], list[RatedTask]]:
    raters = summarize_raters(study)
    left_out = {*leave_out, *(rater.rater for rater in raters if rater.excluded)}
    return raters, [task for task in study.tasks if not task.is_check and task.rater not in left_out]


def _export_ratings(
    manifest: StudyManifest, tasks: Sequence[RatedTask], finished: Sequence[RatedTask]
) -> dict[str, str]:
    match manifest.protocol:
        case "questions" if finished[0].steps[0].name == "recognisable":
            return {"labels.csv": _format_answers("label", finished)}
        case "questions":
            return {"votes.csv": _format_answers("vote", finished)}
        case "scores":
            return {"scores.csv": _format_answers("score", finished)}
        case "ab":
            preferences = [
                (
                    *(task.item, task.sample, task.level, task.run, task.other.run, task.rater),
                    CANNOT_TELL if task.preferred is None else task.preferred or "tie",
                    *(task.seconds, task.answers["preference"].at),
                )
                for task in finished
                if task.other is not None
            ]
            return {"preferences.csv": csv_table([_PREFERENCE_COLUMNS, *preferences])}
        case "boxes":
            corrections = (
                {
                    **_identify_task(task),
                    "grounded": task.grounded,
                    "corrected": task.answers["boxes"].value,
                    "seconds": task.seconds,
                    "at": task.answers["boxes"].at,
                }
                for task in finished
            )
            return {"boxes.jsonl": _format_lines(corrections)}
        case "likert":
            columns = ("model", "item", "sample", "level", "ratings", "wanted", "mean", "passed")
            means: list[tuple[object, ...]] = [columns]
            votes: list[tuple[object, ...]] = [("model", "item", "sample", "question", "rater", "vote")]
            for image in mean_ratings(tasks, manifest.label_rule):
                mean, passed = "" if image.mean is None else f"{image.mean:.4g}", _format_cell(image.passed)
                means.append((*image[:4], len(image.ratings), image.wanted, mean, passed))
                if image.passed is not None:
                    votes.append((*image[:3], "all", PEOPLE, passed))
            return {
                "likert.csv": _format_answers("rating", finished),
                "compliance.csv": csv_table(means),
                "votes.csv": csv_table(votes),
            }


def _identify_task(task: RatedTask) -> dict[str, object]:
    return {"model": task.run, "item": task.item, "sample": task.sample, "rater": task.rater}


def _format_answers(column: str, tasks: Sequence[RatedTask]) -> str:
    columns = ("model", "item", "sample", "question", "rater", column, "seconds", "at")
    rows = [
        (
            *(task.run, task.item, task.sample, step.question or "all", task.rater),
            *(_format_cell(answer.value), answer.seconds, answer.at),
        )
        for task in tasks
        for step in task.steps
        for answer in [task.answers[step.name]]
    ]
    return csv_table([columns, *rows])


def _format_cell(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "" if value is None else str(int(value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)  # scores are stored as floats


def _format_lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def recruitment_files(addresses: Mapping[str, str], codes: Mapping[str, str]) -> dict[str, str]:
    """Return the contents of the files with personal rater links, keyed by file name.

    - `links.csv`: rater, link and completion code, for any way of sending them, and to check the codes;
    - `mturk.csv`: the input of a batch of Amazon Mechanical Turk with one task per rater: `${link}` in its template;
    - `prolific.json`: the access details of a study with several links on Prolific, one place each.
    """
    rows = [(rater, link, codes.get(rater, "")) for rater, link in addresses.items()]
    details = [{"external_url": link, "total_allocation": 1} for link in addresses.values()]
    return {
        "links.csv": csv_table([("rater", "link", "completion_code"), *rows]),
        "mturk.csv": csv_table([("link",), *((link,) for link in addresses.values())]),
        "prolific.json": json.dumps({"access_details": details}, indent=2) + "\n",
    }


def write_recruitment(addresses: Mapping[str, str], codes: Mapping[str, str], out: str | Path) -> tuple[Path, ...]:
    """Write the files with rater links, readable only by their owner, and return their paths."""
    return _write_files(out, recruitment_files(addresses, codes), is_secret=True)


def _write_files(out: str | Path, texts: Mapping[str, str], *, is_secret: bool = False) -> tuple[Path, ...]:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormalimgError(f"cannot write to {folder}: {error.strerror}") from error
    for name, text in texts.items():
        atomic_write(folder / name, [text.encode()])
        if is_secret:
            (folder / name).chmod(0o600)  # whoever has a link can answer in the name of its rater
    return tuple(folder / name for name in texts)
