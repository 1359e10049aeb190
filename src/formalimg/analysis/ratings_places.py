"""Labels and scores of people put beside the images they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.analysis.cases import in_order
from formalimg.analysis.findings import Finding, tell
from formalimg.analysis.opinions import ImageName
from formalimg.analysis.ratings import Rating, RatingsError
from formalimg.analysis.run_names import MisplacedError, check_names, run_named
from formalimg.analysis.sheets import Sheet
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, Outcome, RunRecord


class RatedImage(NamedTuple):
    """An image that people have rated, by the folder of its run, its item and its sample."""

    run: str
    item: str
    sample: int


@dataclass(frozen=True)
class RatedImages:
    """Ratings that have their place.

    Attributes:
        outcomes: how the judge's scoring of each rated image fared, in the order of the runs.
        said: for each rated image and each question about it (None: the whole) what each person says.
        raters: the people, by name.
        without_image: ratings of items or samples that their run does not have, one line each.
        not_rated: how many images of the runs that could have been rated nobody has rated.
    """

    outcomes: Mapping[RatedImage, Outcome]
    said: Mapping[RatedImage, Mapping[int | None, Mapping[str, float]]]
    raters: tuple[str, ...]
    without_image: tuple[str, ...]
    not_rated: int


Refusal = Callable[[RunRecord, Rating], str]
"""Why a rating of an image that is there makes no sense; empty if it does."""


def place(sheet: Sheet[Rating], runs: Sequence[RunRecord], refusal: Refusal, *, levels: frozenset[int]) -> RatedImages:
    """Finds the images that ratings are about.

    Args:
        sheet: what people say.
        runs: the runs that their images are in, named by folder or by model.
        refusal: why a rating makes no sense, apart from what is said here.
        levels: the levels whose images are there to be rated.

    Raises:
        RatingsError: if the table has mistakes, or a rating names no run, is said twice, or makes no sense; all of them
            are named.
        FormalimgError: if the runs cannot be told apart.
    """
    check_names(runs)
    planned = {run.folder.name: {ImageName(it.item, it.sample): it for it in run.outcomes()} for run in runs}
    findings = list(sheet.findings)
    lost: list[Finding] = []
    said: dict[RatedImage, dict[int | None, dict[str, float]]] = {}
    for rating in sheet.rows:
        try:
            run = run_named(rating.model, runs)
        except MisplacedError as misplaced:
            findings.append(Finding(rating.line, str(misplaced)))
            continue
        image = RatedImage(run.folder.name, rating.item, rating.sample)
        if ImageName(rating.item, rating.sample) not in planned[image.run]:
            message = f"{image.run} has no sample {rating.sample} of item {rating.item}"
            lost.append(Finding(rating.line, message))
            continue
        by_question = said.setdefault(image, {}).setdefault(rating.question, {})
        wrong = refusal(run, rating) or (_said_twice(rating, image.run) if rating.rater in by_question else "")
        if wrong:
            findings.append(Finding(rating.line, wrong))
        by_question[rating.rater] = rating.value
    if findings:
        raise RatingsError(tell(findings, sheet.file))
    outcomes = {
        RatedImage(run, *image): outcome for run, inside in planned.items() for image, outcome in inside.items()
    }
    return RatedImages(
        {image: outcome for image, outcome in outcomes.items() if image in said},
        said,
        tuple(in_order(rating.rater for rating in sheet.rows)),
        tuple(tell(lost)),
        sum(outcome.level in levels and image not in said for image, outcome in outcomes.items()),
    )


def one_judge(runs: Sequence[RunRecord]) -> Identity:
    """Who judged all of these runs.

    Raises:
        FormalimgError: if nobody judged one of them, or several did: their scores do not belong together.
    """
    found: list[Identity] = []
    for run in runs:
        if run.manifest.judge is None:
            raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
        if run.manifest.judge not in found:
            found.append(run.manifest.judge)
    if len(found) > 1:
        names = " and ".join(sorted({judge.name for judge in found}))
        how = names if len({judge.name for judge in found}) > 1 else f"{names} with different settings"
        raise FormalimgError(f"the runs were judged by {how}: let one judge look at all of them, or name one that did")
    if not found:
        raise FormalimgError("there are no runs: name at least one")
    return found[0]


def _said_twice(rating: Rating, run: str) -> str:
    who = f"{rating.rater} rates" if rating.rater else "without a rater, somebody rates"
    what = "the whole image" if rating.question is None else f"question {rating.question}"
    return f"{who} {what} of item {rating.item}, sample {rating.sample}, of {run} twice"
