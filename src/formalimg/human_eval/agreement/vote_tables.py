"""Tables and CSV rows of studies of votes and Likert ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from formalimg.benchmarks.registry import suite
from formalimg.human_eval.agreement.attention import attention_rows, attention_table
from formalimg.human_eval.agreement.headline_tables import panel_headline, raters_headline
from formalimg.human_eval.agreement.human_ratings import LIKERT_RULES
from formalimg.human_eval.agreement.rater_agreement import JUDGE, MAJORITY, Panel, PanelScore, pooled_scores
from formalimg.human_eval.agreement.rater_tables import (
    judge_accuracy_table,
    pairwise_table,
    panel_rows,
    rank_table,
    reliability_table,
    thousandths,
)
from formalimg.human_eval.agreement.study_tables import (
    build_agreement_table,
    build_table,
    by_level,
    count_columns,
    estimate_columns,
    interval_note,
    number,
    similar_names_note,
)
from formalimg.human_eval.agreement.vote_study import Divergence, LikertStudy, VoteStudy
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Cell, Column, Number
from formalimg.runs.manifest import Identity
from formalimg.stats.correlation import Correlation
from formalimg.types import Table


def vote_study_tables(found: VoteStudy) -> Iterator[Table]:
    """Yield the results of a study of votes or Likert ratings, then part by part, then what is looked up."""
    first, *others = _tables(found)
    note, *more = first.notes
    yield replace(first, notes=(f"{_study_note(found)} {note}", *more))
    yield from others


def _tables(found: VoteStudy) -> Iterator[Table]:
    level, intervals = suite(found.suite).level, interval_note(found.confidence)
    panels = {name: panel for name, panel in _panels(found) if panel is not None}
    for name, panel in list(panels.items())[:1]:
        unit = "question" if panel is found.questions else "image"
        if not panel.with_judge.n:
            yield raters_headline(f"Raters: {name}", panel, found.together, unit, found.confidence)
        else:
            who = "judge", f"{found.together} of raters"
            yield panel_headline(f"Judge and raters: {name}", panel, who, unit, found.confidence)
    if (accuracy := judge_accuracy_table(panels, found.together, intervals)) is not None:
        yield accuracy
    if found.points is not None and (by_image := _image_ranks(found.points, intervals)) is not None:
        yield by_image
    yield _reliability(found, panels, intervals)
    if (ranks := rank_table({name: it.ranks for name, it in panels.items()}, level, intervals)) is not None:
        yield ranks
    for name, panel in panels.items():
        if panel.with_judge.n:
            yield _with_judge(name, panel, found, level)
    for name, panel in panels.items():
        yield _scores(name, panel, found, level)
    for name, panel in panels.items():
        yield pairwise_table(name, panel, found.together)
    if found.divergence:
        yield _divergence(found, found.divergence, level)
    if found.attention is not None:
        yield attention_table(found.attention)
    for name, panel in panels.items():
        yield from _scores_of_both(name, panel, found, level)
    if correlations := [row for name, panel in panels.items() for row in _correlations(name, panel, level)]:
        yield build_table(
            "Correlation of human and judge scores",
            f"Pearson's r on what both decided, {intervals} from four points on. Within {level}: of single answers, "
            f"relative to the mean of their {level}; 0 for a judge who knows the {level} and nothing of the image. "
            f"Over {level}: of their scores at each {level}; near 1 for such a judge. Across runs: of their scores.",
            ("on", "", Column("r", "number"), *count_columns("points", "left out")),
            correlations,
            "detail",
        )
    if found.points is not None:
        yield from _likert_tables(found.points, level, intervals)


def _panels(found: VoteStudy) -> list[tuple[str, Panel | None]]:
    return [("whole images", found.whole), ("all questions", found.all_questions), ("questions", found.questions)]


def _study_note(found: VoteStudy) -> str:
    judges = ", ".join(sorted({_judge_text(judge) if judge else "nobody" for judge in found.judges.values()}))
    ratings = count_noun(found.votes, "vote" if found.points is None else "rating")
    note = f"{count_noun(len(found.raters), 'rater')}, {ratings}; the judge is {judges}."
    if found.points is not None:
        most = max(len(image.points) for image in found.points.images)
        fewest = min(len(image.points) for image in found.points.images if image.points)
        raters = f"{most}" if fewest == most else f"{fewest} to {most}"
        note += (
            " A rating of 4 or 5 is a yes of the rater. An image passes by the rule: "
            f"{LIKERT_RULES[found.points.rule]}, with {raters} rater{'s' * (most > 1)} per image."
        )
    if found.unscored:
        reasons = ", ".join(f"{reason} {images}" for reason, images in found.unscored.items())
        counted = ", which count as failed" if found.fails_missing else ""
        note += f" Images without a verdict of the judge: {sum(found.unscored.values())} ({reasons}){counted}."
    for run in found.without_votes:
        note += f" No votes on {run}."
    return note + similar_names_note(found.raters)


def _judge_text(judge: Identity) -> str:
    source = judge.settings.get("imported_from")
    return f"{judge.name}, answers imported from {source}" if source else judge.name


def _reliability(found: VoteStudy, panels: Mapping[str, Panel], intervals: str) -> Table:
    alphas = {}
    if found.points is not None:
        alphas = {
            "Cronbach's, Likert ratings": found.points.cronbach,
            "Krippendorff's, Likert ratings": found.points.alpha,
        }
    for name, panel in panels.items():
        alphas |= {f"Cronbach's, {name}": panel.cronbach, f"Krippendorff's, {name}": panel.alpha}
    by_turns = not all(panel.one_rater_per_column for panel in panels.values())
    return reliability_table(alphas, by_turns, intervals)


def _with_judge(name: str, panel: Panel, found: VoteStudy, level: str) -> Table:
    return build_agreement_table(
        f"Agreement of raters and judge: {name}",
        f"How often {found.together} and judge agree, in percent, {interval_note(found.confidence)}.",
        [
            *panel.with_judge_by_kind.items(),
            *by_level(panel.with_judge_by_level, level),
            *(panel.with_judge_by_run.items() if len(panel.with_judge_by_run) > 1 else ()),
            ("all", panel.with_judge),
        ],
    )


def _scores(name: str, panel: Panel, found: VoteStudy, level: str) -> Table:
    """Return the scores of raters and judge, each over all that they decided."""
    undecided = f"Undecided: {panel.undecided} of {panel.cases}"
    if found.points is not None:
        ties = f", {found.points.ties} of them by a tie" if found.points.ties else ""
        undecided = f"Yes by {LIKERT_RULES[found.points.rule]}. {undecided}{ties}"
    return build_table(
        f"Scores: {name}",
        f"The share of yes, in percent, {interval_note(found.confidence)}. {undecided}.",
        (
            *("run", level),
            *(Column(head, "percent") for head in ("human", "judge")),
            *(Column(head, "scored") for head in ("decided", "judged")),
        ),
        (
            (*_run_and_level(it), number(it.human), number(it.judge), Number.of(it.human), Number.of(it.judge))
            for it in (*panel.scores, *pooled_scores(panel, found.confidence))
        ),
    )


def _scores_of_both(name: str, panel: Panel, found: VoteStudy, level: str) -> Iterator[Table]:
    """Yield the scores over what both decided, where that is not everything."""
    others = [it for it in (*panel.scores, *pooled_scores(panel, found.confidence)) if it.human_of_both.coverage < 1]
    if others and panel.with_judge.n:
        yield build_table(
            f"Scores on cases of both: {name}",
            f"In percent, {interval_note(found.confidence)}. Only cases with both a {found.together} and a verdict of "
            "the judge; where that is everything, the scores are those above. Correlations and figures are of these.",
            ("run", level, *(Column(head, "percent") for head in ("human", "judge")), Column("both", "scored")),
            (
                (*_run_and_level(it), number(it.human_of_both), number(it.judge_of_both), Number.of(it.human_of_both))
                for it in others
            ),
            "detail",
        )


def _run_and_level(score: PanelScore) -> tuple[str, str]:
    return score.run, "all" if score.level is None else str(score.level)


def _correlations(name: str, panel: Panel, level: str) -> Iterator[tuple[Cell, ...]]:
    """Yield all correlations with enough points; unknown where one side scores all the same."""
    sources: dict[str, Correlation] = {f"within {level}, {run}": r for run, r in panel.within_levels_by_run.items()}
    if len(sources) > 1:
        sources[f"within {level}, all runs"] = panel.within_levels
    sources |= {f"over {level}, {run}": r for run, r in panel.over_levels_by_run.items()}
    sources |= {f"across runs, {level} {at}": r for at, r in panel.r_by_run.items()}
    for source, r in sources.items():
        if r.n > 2:
            yield name, source, number(r), r.n, r.left_out


def _divergence(found: VoteStudy, overall: Divergence, level: str) -> Table:
    return build_table(
        "Whole image and questions, by the same rater",
        f"In percent, {interval_note(found.confidence)}. Yes, no: yes for the whole, and no to a question. No, yes: "
        "the other way round.",
        (
            "",
            *(Column(head, "percent") for head in ("the same", "yes, no", "no, yes")),
            *count_columns("n", "left out"),
        ),
        (
            (
                name,
                *(number(it.agreement), number(it.yes_then_no), number(it.no_then_yes)),
                it.agreement.n,
                it.agreement.left_out,
            )
            for name, it in [*by_level(found.divergence_by_level, level), ("all", overall)]
        ),
    )


def _image_ranks(points: LikertStudy, intervals: str) -> Table | None:
    """Return the rank correlation of scores and ratings of images; None if nothing can be ranked."""
    rows = {"images with a verdict": points.ranks, "all, without a verdict as 0": points.ranks_of_all}
    known = {name: found for name, found in rows.items() if found is not None and found.spearman.n}
    if not any(found.spearman.value is not None for found in known.values()):
        return None
    return build_table(
        "Rank correlation of the judge's scores and the mean ratings of images",
        f"Over single images, {intervals} by a jackknife over items. Kendall's is tau-b.",
        (
            "",
            Column("Spearman", align="right"),
            Column("Kendall", align="right"),
            *count_columns("n", "left out"),
        ),
        (
            (name, thousandths(found.spearman), thousandths(found.kendall), found.spearman.n, found.spearman.left_out)
            for name, found in known.items()
        ),
        "result",
    )


def _likert_tables(points: LikertStudy, level: str, intervals: str) -> Iterator[Table]:
    missing = sum(it.passed is None for it in points.images) - points.ties
    pending = f" Undecided, because ratings are missing: {count_noun(missing, 'image')}." if missing else ""
    yield build_table(
        "Likert ratings: means",
        f"Mean over images of their mean rating from 1 to 5, {intervals}.{pending}",
        ("run", level, Column("mean", "number"), *count_columns("ratings")),
        (
            (it.run, "all" if it.level is None else str(it.level), Number(it.mean, it.interval), it.ratings)
            for it in points.means
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


def vote_study_rows(study: VoteStudy) -> Iterator[dict[str, object]]:
    """Yield the CSV rows of a study of votes or Likert ratings."""
    for of, panel in _panels(study):
        if panel is not None:
            yield from ({"of": of, **row} for row in panel_rows(panel))
    for level, it in [(None, study.divergence), *study.divergence_by_level.items()]:
        if it is not None:
            who = {"of": "whole images and all questions", "level": level}
            yield {"figure": "same in both steps", **who, **estimate_columns(it.agreement)}
            yield {"figure": "yes, then no", **who, **estimate_columns(it.yes_then_no)}
            yield {"figure": "no, then yes", **who, **estimate_columns(it.no_then_yes)}
    for rater, levels in study.divergence_by_rater.items():
        for level, it in levels.items():
            who = {"of": "whole images and all questions", "first": rater, "level": level}
            yield {"figure": "same in both steps", **who, **estimate_columns(it.agreement)}
    if study.points is not None:
        yield from _likert_rows(study.points)
    if study.attention is not None:
        yield from attention_rows(study.attention)


def _likert_rows(points: LikertStudy) -> Iterator[dict[str, object]]:
    yield {"figure": "Cronbach's alpha of people", "of": "five points", **estimate_columns(points.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "five points", **estimate_columns(points.alpha)}
    for of, ranks in (("pictures", points.ranks), ("pictures, unscored as 0", points.ranks_of_all)):
        if ranks is not None:
            who = {"of": of, "first": MAJORITY, "second": JUDGE}
            yield {"figure": "Spearman's correlation of scores and ratings", **who, **estimate_columns(ranks.spearman)}
            yield {"figure": "Kendall's tau-b of scores and ratings", **who, **estimate_columns(ranks.kendall)}
    for it in points.means:
        row: dict[str, object] = {"figure": "mean rating", "of": "five points", "run": it.run, "level": it.level}
        row |= {"value": it.mean, "n": it.ratings}
        yield row | ({"low": it.interval.low, "high": it.interval.high} if it.interval else {})
    ratings = sum(points.histogram.values())
    for rating, count in points.histogram.items():
        share = {"value": count / ratings, "n": ratings}
        yield {"figure": "share of ratings", "of": "five points", "kind": str(rating), **share}
