"""Labels and scores of people put beside the pictures they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.errors import FormalimgError, presentable
from formalimg.runs import Outcome, Party, RunRecord
from formalimg.studies.opinions import PictureName
from formalimg.studies.ratings import Rating, RatingsError


class RatedPicture(NamedTuple):
    """A picture that people have rated, by the folder of its run, its item and its sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class RatedPictures:
    """Ratings that have their place.

    Attributes:
        outcomes: how the judge's scoring of each rated picture fared, in the order of the runs.
        said: for each rated picture and each question about it (None: the whole) what each person says.
        raters: the people, by name.
        without_picture: ratings of items or samples that their run does not have, one line each.
        not_rated: how many pictures of the runs that could have been rated nobody has rated.
    """

    outcomes: Mapping[RatedPicture, Outcome]
    said: Mapping[RatedPicture, Mapping[int | None, Mapping[str, float]]]
    raters: tuple[str, ...]
    without_picture: tuple[str, ...]
    not_rated: int


Refusal = Callable[[RunRecord, Rating], str]
"""Why a rating of a picture that is there makes no sense; empty if it does."""


def place(
    ratings: Sequence[Rating], runs: Sequence[RunRecord], refusal: Refusal, *, levels: frozenset[int]
) -> RatedPictures:
    """Finds the pictures that ratings are about.

    Args:
        ratings: what people say.
        runs: the runs that their pictures are in, named by folder or by model.
        refusal: why a rating makes no sense, apart from what is said here.
        levels: the levels whose pictures are there to be rated.

    Raises:
        RatingsError: if a rating names no run, is said twice, or makes no sense; all of them are named.
        FormalimgError: if the runs cannot be told apart.
    """
    names = [run.folder.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormalimgError(f"two of the runs are called {twice}, and nothing tells them apart: rename a folder")
    planned = {run.folder.name: {PictureName(it.item, it.sample): it for it in run.outcomes()} for run in runs}
    findings: dict[str, list[int]] = {}
    lost: dict[str, list[int]] = {}
    said: dict[RatedPicture, dict[int | None, dict[str, float]]] = {}
    for rating in ratings:
        found = _runs_named(rating.model, runs)
        if len(found) != 1:
            findings.setdefault(_which_run(rating.model, found, runs), []).append(rating.line)
            continue
        picture = RatedPicture(found[0].folder.name, rating.item, rating.sample)
        if PictureName(rating.item, rating.sample) not in planned[picture.run]:
            lost.setdefault(f"{picture.run} has no sample {rating.sample} of item {rating.item}", []).append(
                rating.line
            )
            continue
        by_question = said.setdefault(picture, {}).setdefault(rating.question, {})
        wrong = refusal(found[0], rating) or (_said_twice(rating, picture.run) if rating.rater in by_question else "")
        if wrong:
            findings.setdefault(wrong, []).append(rating.line)
        by_question[rating.rater] = rating.value
    if findings:
        raise RatingsError([_told(message, lines) for message, lines in findings.items()])
    outcomes = {
        RatedPicture(run, *picture): outcome for run, inside in planned.items() for picture, outcome in inside.items()
    }
    return RatedPictures(
        {picture: outcome for picture, outcome in outcomes.items() if picture in said},
        said,
        tuple(sorted({rating.rater for rating in ratings})),
        tuple(_told(message, lines) for message, lines in lost.items()),
        sum(outcome.level in levels and picture not in said for picture, outcome in outcomes.items()),
    )


def one_judge(runs: Sequence[RunRecord]) -> Party:
    """Who judged all of these runs.

    Raises:
        FormalimgError: if nobody judged one of them, or several did: their scores do not belong together.
    """
    found: list[Party] = []
    for run in runs:
        if run.card.judge is None:
            raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
        if run.card.judge not in found:
            found.append(run.card.judge)
    if len(found) > 1:
        names = " and ".join(sorted({judge.name for judge in found}))
        how = names if len({judge.name for judge in found}) > 1 else f"{names} with different settings"
        raise FormalimgError(f"the runs were judged by {how}: take one judge at a time, with --judge")
    if not found:
        raise FormalimgError("there are no runs: name at least one")
    return found[0]


def _runs_named(name: str, runs: Sequence[RunRecord]) -> list[RunRecord]:
    by_folder = [run for run in runs if run.folder.name == name]
    return by_folder or [run for run in runs if run.card.model.name == name]


def _which_run(name: str, found: Sequence[RunRecord], runs: Sequence[RunRecord]) -> str:
    if found:
        there = ", ".join(run.folder.name for run in found)
        return f"several runs are of the model {name}: write the name of a folder, one of {there}"
    there = ", ".join(f"{run.folder.name} ({run.card.model.name})" for run in runs)
    return f"no run is called {name} or of that model: add its folder, or write one of {there}"


def _said_twice(rating: Rating, run: str) -> str:
    who = f"{rating.rater} rates" if rating.rater else "without a rater, somebody rates"
    what = "the whole picture" if rating.question is None else f"question {rating.question}"
    return f"{who} {what} of item {rating.item}, sample {rating.sample}, of {run} twice"


def _told(message: str, lines: Sequence[int]) -> str:
    more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
    return presentable(f"line {lines[0]}{more}: {message}", 300, 200)
