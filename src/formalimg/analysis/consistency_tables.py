"""What scores of several people amount to, as tables of words and as figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from formalimg.analysis.attention import figures_of_conduct, table_of_conduct
from formalimg.analysis.consistency import Gaps, ScoresStudied
from formalimg.analysis.counterfactual_scores import NEAR, QUANTILES, ScoreGap
from formalimg.analysis.rater_tables import table_of_judge, table_of_pairs, table_of_ranks, table_of_reliability
from formalimg.analysis.study_tables import (
    AgreementFormat,
    AgreementTable,
    alike_told,
    counted,
    intervals_told,
    numbers,
    plain,
    rows_as_csv,
    study_as,
    tables_shown,
)
from formalimg.analysis.vote_tables import figures_of_panel, figures_of_ranks
from formalimg.stats import Interval
from formalimg.suites import PASS_MARK, suite

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


def tables_of_scores_of_people(found: ScoresStudied) -> Iterator[AgreementTable]:
    """How alike people score, what passes by them and by the judge, and how they rank runs."""
    intervals = intervals_told(found.confidence)
    passing = {} if found.passing is None else {f"images with {PASS_MARK:g} or more": found.passing}
    if (judge := table_of_judge(passing, "mean", intervals)) is not None:
        yield judge
    alphas = {"Cronbach's, single scores": found.cronbach, "Krippendorff's, single scores": found.alpha}
    alphas |= {f"Krippendorff's, {name}": panel.alpha for name, panel in passing.items()}
    yield table_of_reliability(alphas, not found.one_rater_per_column, intervals)
    ranks = {"mean scores": found.ranks, **{name: panel.ranks for name, panel in passing.items()}}
    if (ranked := table_of_ranks(ranks, suite(found.suite).level, intervals)) is not None:
        yield ranked
    for name, panel in passing.items():
        yield table_of_pairs(name, panel, "mean")
    if found.conduct is not None:
        yield table_of_conduct(found.conduct)


def figures_of_scores_of_people(found: ScoresStudied) -> Iterator[dict[str, object]]:
    """Every figure of a study of scores, by column."""
    for of, gaps in (("questions, summed up", found.questions), ("whole images", found.whole)):
        if gaps is not None:
            yield from _gap(gaps.overall, {"of": of})
            for level, gap in gaps.by_level.items():
                yield from _gap(gap, {"of": of, "level": level})
            for run, gap in gaps.by_run.items():
                yield from _gap(gap, {"of": of, "run": run})
    for kind, gap in [*found.by_dimension.items(), *found.by_tag.items()]:
        yield from _gap(gap, {"of": "dimensions" if kind in found.by_dimension else "fields", "kind": kind})
    yield {"figure": "Cronbach's alpha of people", "of": "single scores", **numbers(found.cronbach)}
    yield {"figure": "Krippendorff's alpha of people", "of": "single scores", **numbers(found.alpha)}
    if found.passing is not None:
        yield from ({"of": "passing images", **row} for row in figures_of_panel(found.passing))
    yield from ({"of": "mean scores", **row} for row in figures_of_ranks(found.ranks))
    if found.conduct is not None:
        yield from figures_of_conduct(found.conduct)


def _gap(gap: ScoreGap, part: Mapping[str, object]) -> Iterator[dict[str, object]]:
    counts = {"n": gap.n, "left_out": gap.left_out}
    bounds = {"low": gap.interval.low, "high": gap.interval.high} if gap.interval else {}
    yield {"figure": "judge minus people", **part, "value": gap.mean, **bounds, **counts}
    yield {"figure": "score", **part, "first": "people", "value": gap.people, **counts}
    yield {"figure": "score", **part, "first": "judge", "value": gap.judge, **counts}
    yield {"figure": "near", **part, **numbers(gap.near)}
    yield {"figure": "r", **part, **numbers(gap.r)}


_SHARES = tuple(f"q{100 * share:g}" for share in QUANTILES)
_COLUMNS = (
    *("judge", "of", "run", "level", "kind", "n", "left_out", "judge_mean", "people_mean"),
    *("difference", "difference_low", "difference_high", "sd", *_SHARES),
    *("near", "near_low", "near_high", "r", "bin_low", "bin_high", "pictures"),
)
_BAR = 40


def scores_text(studies: Sequence[ScoresStudied], format: AgreementFormat) -> str:  # noqa: A002  # what users call it
    """How far the scores of people and judges lie apart, as a text.

    Args:
        studies: what `study_scores` gave back, one for each judge.
        format: terminal and md: tables; csv: one line for each figure, and for each bin of the histograms; json:
            everything.
    """
    return study_as(
        format,
        lambda: _tables(studies),
        lambda: rows_as_csv(_COLUMNS, (row for study in studies for row in _rows(study))),
        lambda: {"scores": [plain(study) for study in studies]},
    )


def scores_table(studies: Sequence[ScoresStudied]) -> ConsoleRenderable:
    """The same as something that `rich` can print."""
    return tables_shown(_tables(studies))


def tables_of_scores(study: ScoresStudied) -> Iterator[AgreementTable]:
    """How far scores of people and a judge lie apart, how alike people score, and what passes by them."""
    for title, gaps in _kinds(study):
        yield _gaps(f"Judge minus people: {title}", _told(study), _named(study, title, gaps))
    yield from tables_of_scores_of_people(study)
    for title, gaps in _kinds(study):
        yield _histogram(f"How far apart: {title}", gaps.overall)


def _tables(studies: Sequence[ScoresStudied]) -> Iterator[AgreementTable]:
    for study in studies:
        yield from tables_of_scores(study)


def _kinds(study: ScoresStudied) -> list[tuple[str, Gaps]]:
    kinds = (("questions, summed up", study.questions), ("whole images", study.whole))
    return [(title, gaps) for title, gaps in kinds if gaps is not None]


def _named(study: ScoresStudied, title: str, gaps: Gaps) -> list[tuple[str, ScoreGap]]:
    level = suite(study.suite).level
    dimensions = study.by_dimension.items() if gaps is study.questions else ()
    fields = study.by_tag.items() if len(study.by_tag) > 1 and gaps is (study.questions or study.whole) else ()
    runs = gaps.by_run.items() if len(gaps.by_run) > 1 else ()
    levels = [(f"{level}{at}", gap) for at, gap in gaps.by_level.items()]
    return [*dimensions, *fields, *levels, *runs, ("all", gaps.overall)]


def _told(study: ScoresStudied) -> str:
    told = f"{counted(study.scores, 'score')} by {counted(len(study.raters), 'rater')} of "
    told += f"{counted(study.images, 'image')}; the judge is "
    told += f"{study.judge.name}, before any gate. Intervals are {100 * study.confidence:g} %. "
    told += f"Near: no more than {NEAR:g} apart, in percent."
    if study.profile == "official-code":
        told += " Questions are summed up as in the published code."
    if study.incomplete:
        told += f" Not all questions scored by people: {study.incomplete}."
    for reason, images in study.unscored.items():
        told += f" Unscored by the judge ({reason}): {images}."
    if study.without_image:
        told += f" Scores without an image: {'; '.join(study.without_image)}."
    if study.not_rated:
        told += f" Images that nobody scored: {study.not_rated}."
    return told + alike_told(study.raters)


def _gaps(title: str, note: str, gaps: Sequence[tuple[str, ScoreGap]]) -> AgreementTable:
    return AgreementTable(
        title,
        note,
        ("", "judge", "people", "difference", "sd", "median", "near", "r", "n", "left out"),
        tuple(
            (
                name,
                _number(it.judge),
                _number(it.people),
                _signed(it.mean, it.interval),
                _number(it.sd),
                _signed(it.quantiles.get(0.5), None),
                _percent(it.near.value, it.near.interval),
                _number(it.r.value),
                str(it.n),
                str(it.left_out),
            )
            for name, it in gaps
        ),
        "result",
    )


def _histogram(title: str, gap: ScoreGap) -> AgreementTable:
    """Five bins at a time, so that the one in the middle holds what is near."""
    bins, middle = gap.histogram, len(gap.histogram) // 2
    rows = []
    for start in range(middle - 22, middle + 23, 5):
        inside = bins[max(0, start) : start + 5]
        count = sum(it.images for it in inside)
        bar = "█" * round(_BAR * count / gap.n) if gap.n else ""
        rows.append((f"{inside[0].low:+.3f} to {inside[-1].high:+.3f}", str(count), bar))
    return AgreementTable(
        title, "Judge minus people; the JSON and CSV have finer bins.", ("", "pictures", ""), (*rows,), "detail"
    )


def _rows(study: ScoresStudied) -> Iterator[dict[str, object]]:
    for title, gaps in _kinds(study):
        who = {"judge": study.judge.name, "of": title}
        yield {**who, **_figures(gaps.overall)}
        for level, gap in gaps.by_level.items():
            yield {**who, "level": level, **_figures(gap)}
        for run, gap in gaps.by_run.items():
            yield {**who, "run": run, **_figures(gap)}
        if gaps is study.questions:
            for dimension, gap in study.by_dimension.items():
                yield {**who, "kind": dimension, **_figures(gap)}
        for low, high, images in gaps.overall.histogram:
            yield {**who, "bin_low": low, "bin_high": high, "pictures": images}


def _figures(gap: ScoreGap) -> dict[str, object]:
    found: dict[str, object] = {"n": gap.n, "left_out": gap.left_out, "judge_mean": gap.judge}
    found |= {"people_mean": gap.people, "difference": gap.mean, "sd": gap.sd, "near": gap.near.value, "r": gap.r.value}
    found |= zip(_SHARES, gap.quantiles.values(), strict=False)
    for name, interval in (("difference", gap.interval), ("near", gap.near.interval)):
        if interval is not None:
            found |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return found


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _signed(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "–"
    text = f"{value:+.2f}"
    return text if interval is None else f"{text} ({interval.low:+.2f} to {interval.high:+.2f})"


def _percent(value: float | None, interval: Interval | None) -> str:
    if value is None or interval is None:
        return "–"
    return f"{100 * value:.1f} ({100 * interval.low:.1f}–{100 * interval.high:.1f})"
