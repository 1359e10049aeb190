"""A/B studies: Bradley–Terry strengths of runs, agreement between raters, and agreement with the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import require_unique_names
from formalimg.human_eval.agreement.rating_files import natural_sort
from formalimg.human_eval.agreement.study_tables import (
    RaterAttentionSummary,
    Row,
    attention_table,
    build_headline,
    build_table,
    count_columns,
    figure_row,
    format_estimate,
    format_percent,
    format_signed,
    interval_note,
)
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.runs.reader import StoredRun
from formalimg.stats.agreement import Consistency, consistency
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.comparison import RankRange
from formalimg.stats.reliability import Reliability, krippendorff_alpha
from formalimg.stats.strengths import BradleyTerry, ModelStrength, PairOutcome, bradley_terry
from formalimg.types import Table


class Preference(NamedTuple):
    """A rater's preference between two images of the same item."""

    item: str  # the prompt, and which images of it
    sample: int
    level: int
    left: str  # the runs of the two images, by side
    right: str
    rater: str  # the pseudonym
    preferred: str | None  # the run of the better image; empty for a tie, None if the rater cannot tell


class PairCounts(NamedTuple):
    """The answers of raters comparing two runs."""

    first: str  # the runs
    second: str
    first_better: int  # number of answers
    ties: int
    second_better: int
    cannot_tell: int  # number of raters' answers that they cannot tell: in no other number


@dataclass(frozen=True)
class PreferenceStudy:
    """Result of an A/B study."""

    suite: str  # the benchmark
    models: Mapping[str, str]  # the image model of each run
    judges: Mapping[str, str]  # the judge of each run; empty where there is none
    raters: tuple[str, ...]  # the raters who count
    answers: int  # number of answers, without those who cannot tell
    cannot_tell: int  # number of answers that the rater cannot tell
    overall: BradleyTerry | None  # the strengths of the runs; None if they cannot be compared
    by_level: Mapping[int, BradleyTerry | None]
    pairs: tuple[PairCounts, ...]  # counts for each pair of runs
    left: Consistency  # how often the image on the left was better, of those that are no ties: sides should not matter
    alpha: Reliability  # agreement of the raters, left and right aside (Krippendorff's, nominal)
    # how often the majority of raters and the judge prefer the same image. Left out: pairs without a majority, or of
    # which the judge scores both the same or leaves one unscored
    with_judge: Consistency
    confidence: float  # of all intervals
    problem: str = ""  # why there are no strengths; empty if there are
    attention: RaterAttentionSummary | None = None  # progress and attention checks of the raters; None if unknown


def study_preferences(
    preferences: Sequence[Preference], runs: Sequence[StoredRun], *, confidence: float = 0.95
) -> PreferenceStudy:
    """Rank runs by rater preferences, and compare the preferences with the judge."""
    require_unique_names(runs)
    if not preferences:
        raise FormalimgError("no rater has finished an image yet: collect ratings first")
    decided = [answer for answer in preferences if answer.preferred is not None]
    overall, problem = _rank_runs(decided, confidence)
    levels = sorted({answer.level for answer in preferences})
    sided = [answer for answer in decided if answer.preferred]
    cases: dict[tuple[str, int, str, str], list[int]] = {}
    counts: dict[tuple[str, str], Counter[int | None]] = {}
    for answer in preferences:
        first, second, result = _orient_answer(answer)
        is_decided = answer.preferred is not None
        counts.setdefault((first, second), Counter())[result if is_decided else None] += 1
        if is_decided:
            cases.setdefault((answer.item, answer.sample, first, second), []).append(result)
    items = [item for item, *_ in cases]
    return PreferenceStudy(
        runs[0].manifest.suite,
        {run.folder.name: run.manifest.model.name for run in runs},
        {run.folder.name: run.manifest.judge.name if run.manifest.judge else "" for run in runs},
        tuple(natural_sort(answer.rater for answer in preferences)),
        len(decided),
        len(preferences) - len(decided),
        overall,
        {level: _rank_runs([answer for answer in decided if answer.level == level], confidence)[0] for level in levels},
        tuple(PairCounts(*pair, count[1], count[0], count[-1], count[None]) for pair, count in sorted(counts.items())),
        consistency(
            [(answer.preferred == answer.left, True) for answer in sided],
            items=[answer.item for answer in sided],
            confidence=confidence,
        ),
        krippendorff_alpha(list(cases.values()), "nominal", items=items, confidence=confidence),
        consistency(_judge_cases(cases, runs), items=items, confidence=confidence),
        confidence,
        problem,
    )


def _orient_answer(answer: Preference) -> tuple[str, str, int]:
    """Return the two runs in sorted order, and 1 if the first is preferred, −1 if the second is, or 0 for a tie."""
    first, second = sorted((answer.left, answer.right))
    return first, second, (answer.preferred == first) - (answer.preferred == second)


def _rank_runs(decided: Sequence[Preference], confidence: float) -> tuple[BradleyTerry | None, str]:
    outcomes = [PairOutcome(*_orient_answer(answer), answer.item) for answer in decided]  # type: ignore[arg-type]  # -1, 0 or 1
    try:
        return bradley_terry(outcomes, confidence), "" if outcomes else "all raters cannot tell"
    except FormalimgError as error:
        return None, str(error)


def _judge_cases(
    cases: Mapping[tuple[str, int, str, str], Sequence[int]], runs: Sequence[StoredRun]
) -> list[tuple[bool | None, bool | None]]:
    """Return whether the first image of each case is better, according to the rater majority and to the judge."""
    scores = {
        (run.folder.name, outcome.item, outcome.sample): outcome.passed if outcome.score is None else outcome.score
        for run in runs
        for outcome in run.outcomes()
    }
    answers: list[tuple[bool | None, bool | None]] = []
    for (item, sample, first, second), results in cases.items():
        first_score, second_score = scores.get((first, item, sample)), scores.get((second, item, sample))
        judged = None
        if first_score is not None and second_score is not None and first_score != second_score:
            judged = first_score > second_score
        better, worse = results.count(1), results.count(-1)
        answers.append((None if better == worse else better > worse, judged))
    return answers


def preference_study_tables(study: PreferenceStudy) -> Iterator[Table]:
    """Yield the tables of an A/B study: headline, strengths, levels, pairs of runs and raters."""
    level, intervals = get_suite(study.suite).level, interval_note(study.confidence)
    yield _build_headline(study)
    if study.overall is not None:
        yield build_table(
            "Strengths by preference",
            f"Bradley–Terry with ties (Davidson), {intervals}, for other items of the same kind. Strength: log odds, "
            "relative to the mean of the runs. Better than others: the chance to be preferred to another of these "
            "runs, ties counted as half. Ranks are shared where a difference is not significant among all pairs.",
            (
                *("", Column("rank", align="right"), Column("strength", align="right")),
                *(Column("better than others", "percent"), *count_columns("better", "ties", "worse")),
            ),
            (
                (
                    *(model.model, _format_ranks(model.ranks), _format_strength(model)),
                    *(Number(model.win_rate), model.wins, model.ties, model.losses),
                )
                for model in study.overall.models
            ),
            "result",
            "preferences",
        )
    if len(study.by_level) > 1:
        runs = sorted(study.models)
        rows: list[list[Cell]] = []
        for at, part in study.by_level.items():
            by_run = {model.model: model for model in part.models} if part else {}
            rows.append([f"{level} {at}", *(_format_strength(by_run.get(run)) for run in runs), part.n if part else 0])
        yield build_table(
            f"Strengths by {level}",
            f"Each {level} by itself, {intervals}.",
            ("", *(Column(run, align="right") for run in runs), *count_columns("answers")),
            rows,
            name="preferences",
        )
    yield build_table(
        "Pairs of runs",
        "Answers of raters. Cannot tell: in none of the other numbers.",
        ("", "", *count_columns("first better", "ties", "second better", "cannot tell")),
        study.pairs,
        name="preferences",
    )
    if study.attention is not None:
        yield attention_table(study.attention)


def _build_headline(study: PreferenceStudy) -> Table:
    models = ", ".join(f"{run} ({model})" if run != model else run for run, model in study.models.items())
    note = f"{count_noun(len(study.raters), 'rater')} compared {models}: {count_noun(study.answers, 'answer')}"
    note += f", and {study.cannot_tell:,} that they cannot tell." if study.cannot_tell else "."
    note += f" Intervals are {100 * study.confidence:g} %, for other items of the same kind."
    ranking = f"{NOTHING}: {study.problem}"
    if study.overall is not None:
        ranks = (f"{_format_ranks(run.ranks)} {run.model} {_format_strength(run)}" for run in study.overall.models)
        ranking = "; ".join(ranks)
    judge = f"{NOTHING}: no judge has judged these runs"
    if any(study.judges.values()):
        judge = (
            f"prefers the same image as most raters in {format_percent(study.with_judge)} of "
            f"{count_noun(study.with_judge.n, 'pair')}; left out, no majority or no difference: "
            f"{study.with_judge.left_out:,}"
        )
    raters = (
        f"alpha {format_estimate(study.alpha)}; the left image is better in {format_percent(study.left)} of "
        f"{count_noun(study.left.n, 'answer')} that are no ties"
    )
    rows = [("ranking", ranking), ("raters", raters), ("judge", judge)]
    return build_headline("Preferences of raters", note, rows, "preferences")


def _format_ranks(ranks: RankRange) -> str:
    return str(ranks.best) if ranks.best == ranks.worst else f"{ranks.best}–{ranks.worst}"


def _format_strength(model: ModelStrength | None) -> str:
    return NOTHING if model is None else format_signed(model.strength, model.interval)


def preference_study_rows(study: PreferenceStudy) -> Iterator[Row]:
    """Yield the CSV rows of an A/B study."""
    for level, part in [(None, study.overall), *study.by_level.items()]:
        for model in part.models if part else ():
            subject = {"run": model.model, "level": level, "n": model.wins + model.ties + model.losses, "of": "pairs"}
            yield figure_row("strength", Estimate(model.strength, model.interval), **subject)
            yield figure_row("better than others", model.win_rate, **subject)
            yield figure_row("best rank", model.ranks.best, **subject)
            yield figure_row("worst rank", model.ranks.worst, **subject)
    for pair in study.pairs:
        for name, count in zip(pair._fields[2:], pair[2:], strict=True):
            yield figure_row(name.replace("_", " "), count, of="pairs", first=pair.first, second=pair.second)
    yield figure_row("left better", study.left, of="pairs")
    yield figure_row("Krippendorff's alpha of people", study.alpha, of="pairs")
    yield figure_row("agreement", study.with_judge, of="pairs", first="majority", second="judge")
