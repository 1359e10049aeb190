"""Tables and CSV rows of studies of votes and Likert ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from formalimg.benchmarks.registry import suite as get_suite
from formalimg.human_eval.agreement.rater_agreement import (
    JUDGE,
    MAJORITY,
    Panel,
    judge_accuracy_table,
    pairwise_table,
    panel_rows,
    pool_scores,
    rank_table,
    reliability_table,
)
from formalimg.human_eval.agreement.rating_files import LIKERT_RULES
from formalimg.human_eval.agreement.study_tables import (
    Row,
    answers_headline,
    attention_table,
    build_agreement_table,
    build_headline,
    build_table,
    by_level,
    count_columns,
    figure_row,
    figure_rows,
    format_estimate,
    format_percent,
    interval_note,
    number,
    similar_names_note,
)
from formalimg.human_eval.agreement.vote_study import Divergence, LikertStudy, VoteStudy
from formalimg.reports.tables.format import NOTHING, count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.stats.bootstrap import Estimate
from formalimg.stats.correlation import Correlation
from formalimg.stats.precision_recall import sensitivity_specificity
from formalimg.types import Table


def vote_study_tables(study: VoteStudy) -> Iterator[Table]:
    """Yield the tables of a study of votes or Likert ratings, starting with the main results."""
    first, *tables = _build_tables(study)
    note, *more = first.notes
    yield replace(first, notes=(f"{_describe_study(study)} {note}", *more))
    yield from tables


def _build_tables(study: VoteStudy) -> Iterator[Table]:
    level, intervals = get_suite(study.suite).level, interval_note(study.confidence)
    panels = dict(_list_panels(study))
    for name, panel in list(panels.items())[:1]:
        unit = "question" if panel is study.questions else "image"
        yield _panel_headline(name, panel, study.together, unit, study.confidence)
    yield from judge_accuracy_table(panels, study.together, intervals)
    alphas = {}
    if study.points is not None:
        yield from _build_rank_table(study.points, intervals)
        alphas["Cronbach's, Likert ratings"] = study.points.cronbach
        alphas["Krippendorff's, Likert ratings"] = study.points.alpha
    for name, panel in panels.items():
        alphas |= {f"Cronbach's, {name}": panel.cronbach, f"Krippendorff's, {name}": panel.alpha}
    by_turns = not all(panel.one_rater_per_column for panel in panels.values())
    yield reliability_table(alphas, by_turns, intervals)
    yield from rank_table({name: panel.ranks for name, panel in panels.items()}, level, intervals)
    for name, panel in panels.items():
        if panel.with_judge.n:
            parts = [
                *panel.with_judge_by_kind.items(),
                *by_level(panel.with_judge_by_level, level),
                *(panel.with_judge_by_run.items() if len(panel.with_judge_by_run) > 1 else ()),
                ("all", panel.with_judge),
            ]
            note = f"How often {study.together} and judge agree, in percent, {intervals}."
            yield build_agreement_table(f"Agreement of raters and judge: {name}", note, parts)
    for name, panel in panels.items():
        yield _build_score_table(name, panel, study, level)
    for name, panel in panels.items():
        yield pairwise_table(name, panel, study.together)
    if study.divergence:
        yield _build_divergence_table(study, study.divergence, level)
    if study.attention is not None:
        yield attention_table(study.attention)
    for name, panel in panels.items():
        yield from _build_common_score_table(name, panel, study, level)
    if correlations := [row for name, panel in panels.items() for row in _correlation_rows(name, panel, level)]:
        yield build_table(
            "Correlation of human and judge scores",
            f"Pearson's r on what both decided, {intervals} from four points on. Within {level}: of single answers, "
            f"relative to the mean of their {level}; 0 for a judge who knows the {level} and nothing of the image. "
            f"Over {level}: of their scores at each {level}; near 1 for such a judge. Across runs: of their scores.",
            ("on", "", Column("r", "number"), *count_columns("points", "left out")),
            correlations,
            "detail",
        )
    if study.points is not None:
        yield from _build_likert_tables(study.points, level, intervals)


def _panel_headline(name: str, panel: Panel, joint: str, unit: str, confidence: float) -> Table:
    """Return the headline comparing raters with the judge, or describing the raters alone if there is no judge."""
    intervals = f"Intervals are {100 * confidence:g} %, for other items of the same kind."
    if panel.with_judge.n:
        cases = panel.case_answers
        errors = sensitivity_specificity(
            [(case.human, case.judge) for case in cases], items=[case.item for case in cases], confidence=confidence
        )
        return answers_headline(
            f"Judge and raters: {name}",
            intervals,
            panel.with_judge,
            errors,
            panel.within_levels,
            names=("judge", f"{joint} of raters"),
            unit=unit,
        )
    mean = panel.human
    shares = [
        f"{run} " + (NOTHING if rate.value is None else f"{100 * rate.value:.1f} % of {rate.scored:,}")
        for run, level, rate, *_ in panel.scores
        if level is None
    ]
    alpha = format_estimate(panel.alpha, 2)
    rows = [
        (
            "agreement",
            f"two raters agree in {format_percent(mean)}, mean over {count_noun(mean.pairs, 'pair')} of raters",
        ),
        ("direction", f"{joint} of raters says yes to {', '.join(shares) or NOTHING}"),
        ("reliability", NOTHING if alpha == NOTHING else f"alpha {alpha}"),
    ]
    return build_headline(f"Raters: {name}", f"No judge has judged these {unit}s. {intervals}", rows)


def _list_panels(study: VoteStudy) -> list[tuple[str, Panel]]:
    panels = (("whole images", study.whole), ("all questions", study.all_questions), ("questions", study.questions))
    return [(name, panel) for name, panel in panels if panel is not None]


def _describe_study(study: VoteStudy) -> str:
    names = set()
    for judge in study.judges.values():
        source = judge and judge.settings.get("imported_from")
        name = judge.name if judge else "nobody"
        names.add(f"{name}, answers imported from {source}" if source else name)
    ratings = count_noun(study.votes, "vote" if study.points is None else "rating")
    note = f"{count_noun(len(study.raters), 'rater')}, {ratings}; the judge is {', '.join(sorted(names))}."
    if study.points is not None:
        maximum = max(len(image.points) for image in study.points.images)
        fewest = min(len(image.points) for image in study.points.images if image.points)
        raters = f"{maximum}" if fewest == maximum else f"{fewest} to {maximum}"
        note += (
            " A rating of 4 or 5 is a yes of the rater. An image passes by the rule: "
            f"{LIKERT_RULES[study.points.rule]}, with {raters} rater{'s' * (maximum > 1)} per image."
        )
    if study.unscored:
        reasons = ", ".join(f"{reason} {images}" for reason, images in study.unscored.items())
        effect = ", which count as failed" if study.fails_missing else ""
        note += f" Images without a verdict of the judge: {sum(study.unscored.values())} ({reasons}){effect}."
    for run in study.without_votes:
        note += f" No votes on {run}."
    return note + similar_names_note(study.raters)


def _build_score_table(name: str, panel: Panel, study: VoteStudy, level: str) -> Table:
    undecided = f"Undecided: {panel.undecided} of {panel.cases}"
    if study.points is not None:
        ties = f", {study.points.ties} of them by a tie" if study.points.ties else ""
        undecided = f"Yes by {LIKERT_RULES[study.points.rule]}. {undecided}{ties}"
    return build_table(
        f"Scores: {name}",
        f"The share of yes, in percent, {interval_note(study.confidence)}. {undecided}.",
        (
            *("run", level, Column("human", "percent"), Column("judge", "percent")),
            *(Column("decided", "scored"), Column("judged", "scored")),
        ),
        (
            (
                *(score.run, _format_level(score.level), number(score.human), number(score.judge)),
                *(Number.of(score.human), Number.of(score.judge)),
            )
            for score in (*panel.scores, *pool_scores(panel, study.confidence))
        ),
    )


def _build_common_score_table(name: str, panel: Panel, study: VoteStudy, level: str) -> Iterator[Table]:
    """Yield the table of scores over the cases that both decided, unless these are all cases."""
    scores = [*panel.scores, *pool_scores(panel, study.confidence)]
    partial = [score for score in scores if score.human_of_both.coverage < 1]
    if partial and panel.with_judge.n:
        yield build_table(
            f"Scores on cases of both: {name}",
            f"In percent, {interval_note(study.confidence)}. Only cases with both a {study.together} and a verdict of "
            "the judge; where that is everything, the scores are those above. Correlations and figures are of these.",
            ("run", level, Column("human", "percent"), Column("judge", "percent"), Column("both", "scored")),
            (
                (
                    *(score.run, _format_level(score.level), number(score.human_of_both), number(score.judge_of_both)),
                    Number.of(score.human_of_both),
                )
                for score in partial
            ),
            "detail",
        )


def _format_level(level: int | None) -> str:
    return "all" if level is None else str(level)


def _correlation_rows(name: str, panel: Panel, level: str) -> Iterator[tuple[Cell, ...]]:
    """Yield all correlations with at least three points; undefined if one side has constant scores."""
    sources: dict[str, Correlation] = {f"within {level}, {run}": r for run, r in panel.within_levels_by_run.items()}
    if len(sources) > 1:
        sources[f"within {level}, all runs"] = panel.within_levels
    sources |= {f"over {level}, {run}": r for run, r in panel.over_levels_by_run.items()}
    sources |= {f"across runs, {level} {at}": r for at, r in panel.r_by_run.items()}
    for source, r in sources.items():
        if r.n > 2:
            yield name, source, number(r), r.n, r.left_out


def _build_divergence_table(study: VoteStudy, overall: Divergence, level: str) -> Table:
    return build_table(
        "Whole image and questions, by the same rater",
        f"In percent, {interval_note(study.confidence)}. Yes, no: yes for the whole, and no to a question. No, yes: "
        "the other way round.",
        (
            "",
            *(Column(head, "percent") for head in ("the same", "yes, no", "no, yes")),
            *count_columns("n", "left out"),
        ),
        (
            (
                *(name, number(part.agreement), number(part.yes_then_no), number(part.no_then_yes)),
                *(part.agreement.n, part.agreement.left_out),
            )
            for name, part in [*by_level(study.divergence_by_level, level), ("all", overall)]
        ),
    )


def _build_rank_table(points: LikertStudy, intervals: str) -> Iterator[Table]:
    rows = {"images with a verdict": points.ranks, "all, without a verdict as 0": points.ranks_of_all}
    ranks = {name: ranks for name, ranks in rows.items() if ranks is not None and ranks.spearman.n}
    if all(rank.spearman.value is None for rank in ranks.values()):
        return
    yield build_table(
        "Rank correlation of the judge's scores and the mean ratings of images",
        f"Over single images, {intervals} by a jackknife over items. Kendall's is tau-b.",
        ("", Column("Spearman", align="right"), Column("Kendall", align="right"), *count_columns("n", "left out")),
        (
            (name, *map(format_estimate, (rank.spearman, rank.kendall)), rank.spearman.n, rank.spearman.left_out)
            for name, rank in ranks.items()
        ),
        "result",
    )


def _build_likert_tables(points: LikertStudy, level: str, intervals: str) -> Iterator[Table]:
    missing = sum(image.passed is None for image in points.images) - points.ties
    pending = f" Undecided, because ratings are missing: {count_noun(missing, 'image')}." if missing else ""
    yield build_table(
        "Likert ratings: means",
        f"Mean over images of their mean rating from 1 to 5, {intervals}.{pending}",
        ("run", level, Column("mean", "number"), *count_columns("ratings")),
        (
            (mean.run, _format_level(mean.level), Number(mean.mean, mean.interval), mean.ratings)
            for mean in points.means
        ),
        "detail",
    )
    ratings = sum(points.histogram.values())
    yield build_table(
        "Likert ratings: distribution",
        f"{count_noun(ratings, 'rating')}, in percent.",
        [Column(str(rating), "percent") for rating in points.histogram],
        [[count / ratings for count in points.histogram.values()]],
        "detail",
    )


def vote_study_rows(study: VoteStudy) -> Iterator[Row]:
    """Yield the CSV rows of a study of votes or Likert ratings."""
    for name, panel in _list_panels(study):
        yield from panel_rows(panel, name)
    steps = "whole images and all questions"
    figures = (
        ("same in both steps", "agreement", ""),
        ("yes, then no", "yes_then_no", ""),
        ("no, then yes", "no_then_yes", ""),
    )
    for level, part in [(None, study.divergence), *study.divergence_by_level.items()]:
        if part is not None:
            yield from figure_rows(part, figures, of=steps, level=level)
    for rater, levels in study.divergence_by_rater.items():
        for level, part in levels.items():
            yield from figure_rows(part, figures[:1], of=steps, first=rater, level=level)
    if study.points is not None:
        yield from _likert_rows(study.points)


def _likert_rows(points: LikertStudy) -> Iterator[Row]:
    alphas = (("Cronbach's alpha of people", "cronbach", ""), ("Krippendorff's alpha of people", "alpha", ""))
    yield from figure_rows(points, alphas, of="five points")
    correlations = (
        ("Spearman's correlation of scores and ratings", "spearman", ""),
        ("Kendall's tau-b of scores and ratings", "kendall", ""),
    )
    for unit, ranks in (("pictures", points.ranks), ("pictures, unscored as 0", points.ranks_of_all)):
        if ranks is not None:
            yield from figure_rows(ranks, correlations, of=unit, first=MAJORITY, second=JUDGE)
    for run, level, mean, interval, number_of_ratings in points.means:
        part = {"of": "five points", "run": run, "level": level, "n": number_of_ratings}
        yield figure_row("mean rating", Estimate(mean, interval), **part)
    ratings = sum(points.histogram.values())
    for rating, count in points.histogram.items():
        yield figure_row("share of ratings", count / ratings, of="five points", kind=str(rating), n=ratings)
