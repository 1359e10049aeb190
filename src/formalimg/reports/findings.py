"""Findings of a report in words: which run is ahead, by how much and how certainly, and what fails.

All findings follow from the numbers of the tables. A difference is reported only if its adjusted p-value is small
enough, and sentences say whether people or a judge decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally, select_rated_rows
from formalimg.reports.paired_runs import PUBLIC_GAPS, RunPair, judge_text, rows_by_judge
from formalimg.reports.tables.format import (
    count_noun,
    format_interval,
    format_value,
    generalizability_interval,
    join_counts,
    join_names,
    level_name,
    level_word,
    unit_of,
)
from formalimg.reports.tables.model import ColumnType, Number
from formalimg.stats.comparison import is_significant
from formalimg.stats.judge_error import NO_ERRORS
from formalimg.stats.observations import Band, Interval, MissingPolicy, Rate

_MAX_LINES = 4  # So many lines each question has; the tables have all
_MIN_ASKED = 5  # Shares of failures among fewer parts than this come last: they are chance
_MAX_GAP = 0.5  # No judge is suspected of error rates that differ by more between two models


class Finding(NamedTuple):
    """The answer to one question, line by line."""

    question: str
    lines: tuple[str, ...]


class Findings(NamedTuple):
    """The findings on the runs of a suite: a headline, and answers to questions."""

    headline: str
    answers: tuple[Finding, ...]


def collect_findings(section: Section, comparison: Comparison) -> Findings:
    """Return the findings that the numbers of a section support."""
    rankings = []
    for numbers in rows_by_judge(section.rows):  # where runs are listed once for each judge, judge by judge
        rows = tuple(section.rows[number] for number in numbers)
        names = {row.name for row in rows}
        scored = [row for row in rows if row.summary.overall.scored]
        pairs = tuple(pair for pair in section.pairs if pair.first in names)
        if scored:
            rankings.append(_Ranking(replace(section, rows=rows, pairs=pairs), select_rated_rows(scored)))
    unscored = list(_lines_on_unscored(section))
    if not rankings:
        return Findings("No image has a verdict yet.", (Finding("Not scored", tuple(unscored)),) if unscored else ())
    rated = [row for ranking in rankings for row in ranking.rated]
    headlines = [ranking.headline() for ranking in rankings]
    if len(rankings) > 1:  # each judge is named once, at the beginning
        headlines = [
            headline.replace(f", by {judge_text(ranking.rated)}", "")
            for headline, ranking in zip(headlines, rankings, strict=True)
        ]
    answers = {
        "Is it certain?": [line for ranking in rankings for line in ranking.certainty(comparison.confidence)],
        "What fails": _failure_lines(rated, section),
        "Not scored": unscored,
        "With care": [note for note in section.notes if note.startswith("The runs ")],
    }
    return Findings(
        " ".join([*headlines, *_missing_rule(rated, section, comparison.missing)]),
        tuple(Finding(question, lines) for question, answer in answers.items() if (lines := tuple(answer))),
    )


def _missing_rule(rated: Sequence[RunRow], section: Section, missing: MissingPolicy) -> Iterator[str]:
    """Yield a sentence on how the headline treats images without a verdict, if it needs one."""
    count = sum(row.summary.overall.expected - row.summary.overall.scored for row in rated)
    if not count:
        return
    if missing == "fail":
        failures = "0" if section.suite.has_scores else "failures"
        unless = " unless people labelled them" if section.corrected else ""
        yield f"Images without a verdict ({count:,}) count as {failures}{unless}."
    elif len(rated) == 1:
        yield f"{count:,} of {count_noun(rated[0].summary.overall.expected, 'image')} have no verdict."


def list_claims(section: Section, comparison: Comparison) -> list[str]:
    """Return the headline, followed by a sentence for each difference that supports it."""
    findings = collect_findings(section, comparison)
    return [findings.headline, *(line for answer in findings.answers[:1] if section.pairs for line in answer.lines)]


def headline_numbers(row: RunRow, section: Section) -> list[tuple[str, Rate | Band]]:
    """Return the headline numbers of a run by name: the mean over all levels, or all ratios of a suite with scores."""
    bands, levels = row.summary.bands, row.summary.levels
    if section.suite.has_scores:
        if bands:
            return [*bands.items()]
        return [(level_name(section.suite, level), rate) for level, rate in levels.items()]
    *_, (name, band) = bands.items() or [("", None)]
    return [("all images", row.summary.overall)] if band is None or band.value is None else [(name.lower(), band)]


# --- who is ahead


class _Difference:
    """The difference between two runs from the perspective of the first."""

    def __init__(self, first: str, second: str, pair: RunPair) -> None:
        self.first, self.second, self.pair = first, second, pair
        self._sign = 1 if pair.first == first else -1
        self.estimate = self._turn(pair.found.estimate)
        # By the judge alone, where people decide.
        self.by_judge = self._turn(pair.judge.estimate) if pair.judge is not None else None
        self.is_ahead = pair.is_certain and (self.estimate or 0) > 0
        self.is_behind = pair.is_certain and (self.estimate or 0) < 0

    def _turn(self, value: float | None) -> float | None:
        return None if value is None else self._sign * value

    def turn_interval(self, interval: Interval | None) -> Interval | None:
        """Return an interval of the pair with the sign of the first run."""
        flipped = interval is not None and self._sign < 0
        return Interval(-interval.high, -interval.low) if flipped and interval else interval


class _Ranking:
    """The runs in a section and the differences between them. `rated` excludes the baselines."""

    def __init__(self, section: Section, rated: tuple[RunRow, ...]) -> None:
        self.section, self.rated = section, rated
        self._names = [row.name for row in rated]
        self._all_names = [row.name for row in section.rows]
        self._differences = [
            _Difference(*names, pair)
            for pair in section.pairs
            if pair.found.estimate is not None
            for names in ((pair.first, pair.second), (pair.second, pair.first))
        ]

    def _differences_of(self, name: str, names: Sequence[str]) -> list[_Difference]:
        """Return the differences of a run from others, the smallest first."""
        differences = [entry for entry in self._differences if entry.first == name and entry.second in names]
        return sorted(differences, key=lambda entry: abs(entry.estimate or 0))

    @cached_property
    def _leader(self) -> str:
        """The run that is certainly ahead of the most others and behind none, with ties broken by estimates.

        If it is ahead of no other, no two runs can be told apart.
        """

        def merit(name: str) -> tuple[bool, int, int]:
            differences = self._differences_of(name, self._names)
            return (
                not any(entry.is_behind for entry in differences),
                sum(entry.is_ahead for entry in differences),
                sum((entry.estimate or 0) > 0 for entry in differences),
            )

        return max(self._names, key=merit)

    @cached_property
    def _baseline(self) -> str | None:
        """The run that all others are compared with, or None if all pairs are compared."""
        names = set(self._all_names)
        pairs = {frozenset((entry.first, entry.second)) for entry in self._differences}
        if len(names) < 3 or len(pairs) != len(names) - 1:
            return None
        return next((name for name in self._all_names if all(name in pair for pair in pairs)), None)

    def headline(self) -> str:
        names = self._names
        if len(names) == 1:
            return _single_run_headline(self.rated[0], self.section)
        if self._baseline is not None:
            return self._baseline_headline(self._baseline)
        leader = self._leader
        differences = self._differences_of(leader, names)
        if not differences:
            reason = "they have no items in common that both have a verdict for"
            if any(row.looks is not None for row in self.section.rows):
                reason = "an adaptive run looks before its end, which changes p"
            return f"{join_names(names)} cannot be compared in pairs: {reason}."
        if any(entry.is_behind for entry in differences):  # each is behind another
            return self._baseline_headline(leader)
        ahead = [entry.second for entry in differences if entry.is_ahead]
        tied = [entry.second for entry in differences if not entry.is_ahead]
        unknown = [name for name in names if name not in {leader, *ahead, *tied}]
        besides = f" {join_names(unknown)}: no items in common." if unknown else ""
        besides += _missing_remark(differences)
        by = _by_text(differences)
        if not ahead:
            return f"{by}, {join_names([leader, *tied])} cannot be told apart{_judge_remark(differences)}.{besides}"
        if tied:
            text = f"{leader} is ahead of {join_names(ahead)}, and cannot be told apart from {join_names(tied)}"
            return f"{by}, {text}.{besides}"
        return f"{by}, {_lead_text(differences, self.section)}.{besides}"

    def _baseline_headline(self, baseline: str) -> str:
        differences = self._differences_of(baseline, self._all_names)
        groups = {
            "ahead": [entry.second for entry in differences if entry.is_behind],
            "behind": [entry.second for entry in differences if entry.is_ahead],
            "not told apart from it": [entry.second for entry in differences if not entry.pair.is_certain],
        }
        texts = [
            f"{join_names(names)} {'are' if len(names) > 1 else 'is'} {verb}" for verb, names in groups.items() if names
        ]
        return f"{_by_text(differences)}, compared with {baseline}: {'; '.join(texts)}.{_missing_remark(differences)}"

    def certainty(self, confidence: float) -> Iterator[str]:
        """Yield the differences of the leader or requested baseline from other runs, with intervals and p-values."""
        baseline = self._baseline
        differences = self._differences_of(baseline or self._leader, self._all_names if baseline else self._names)
        if len(self.rated) == 1 and not baseline:
            number = headline_numbers(self.rated[0], self.section)[0][1]
            by_people = _numbers_by_people(self.rated[0], self.section)
            if number.interval is not None:
                yield (
                    f"The {100 * confidence:g} % interval covers which items and images were drawn, "
                    f"{'and errors of the judge' if by_people else 'not errors of the judge'}. With one run there is "
                    "nothing to compare."
                )
        for entry in differences[:_MAX_LINES]:
            yield _difference_text(entry, self.section, confidence)
        if len(differences) > _MAX_LINES:
            yield f"{count_noun(len(differences) - _MAX_LINES, 'more difference')}: see Paired differences."
        if any(map(_tipping_text, differences[:_MAX_LINES])):
            yield PUBLIC_GAPS


def _by_text(differences: Sequence[_Difference]) -> str:
    """Return who decides the differences, as the opening of a sentence."""
    return f"By {join_names(list(dict.fromkeys(entry.pair.by for entry in differences)))}"


def _missing_remark(differences: Sequence[_Difference]) -> str:
    undone = [entry.second for entry in differences if entry.pair.is_undone]
    if not undone:
        return ""
    first = differences[0].first
    return f" Missing verdicts could overturn the difference of {first} and {join_names(undone)}: none is claimed."


def _judge_remark(differences: Sequence[_Difference]) -> str:
    """Return a remark on the judge's own result for a difference that people decide."""
    difference = differences[0]
    judge, is_certain = difference.pair.judge, difference.pair.is_certain
    if len(differences) > 1 or judge is None:
        return ""
    if not is_significant(judge):
        return "; the judge alone cannot tell" if is_certain else "; the judge alone cannot tell either"
    leader = difference.first if (difference.by_judge or 0) > 0 else difference.second
    if not is_certain:
        return f"; the judge alone says {leader}"
    return "; the judge agrees" if leader == difference.first else "; the judge alone says the opposite"


def _single_run_headline(row: RunRow, section: Section) -> str:
    suite, scale = section.suite, section.suite.scale
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    by_people = _numbers_by_people(row, section)
    texts = []
    for name, number in headline_numbers(row, section):
        best = by_people.get(name) or Number.of(number)
        interval = format_interval(best.interval, scale, compact=True)
        value = f"{format_value(best.value, scale)}{unit_of(suite)}"
        texts.append(f"{value}{f' ({interval})' if interval else ''} {'of ' * (name == 'all images')}{name}")
        if by_people:
            texts[-1] += f" (the judge alone: {format_value(number.value, scale)})"
    general = row.summary.generalizability
    if by_people and corrected is not None:
        general = corrected.held[1] if corrected.held else None
    if section.epsilon is not None and general is not None and general.value is not None:
        level = level_name(suite, general.value) if general.value else f"no {level_word(suite) or 'level'}"
        interval = f" ({generalizability_interval(general)})" if generalizability_interval(general) else ""
        texts.append(f"at least {100 * section.epsilon:g} % {'up to' if general.value else 'at'} {level}{interval}")
    by = f"people ({count_noun(corrected.label_count, 'label')})" if by_people and corrected else judge_text([row])
    return f"By {by}, {row.name} {'has' if suite.has_scores else 'passes'} {join_names(texts)}."


def _numbers_by_people(row: RunRow, section: Section) -> dict[str, Number]:
    """Return the headline numbers of a run by people, or nothing if any of them lacks labels."""
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    numbers = {name: corrected and corrected.number(name) for name, _ in headline_numbers(row, section)}
    return {name: number for name, number in numbers.items() if number} if all(numbers.values()) else {}


def _lead_text(differences: Sequence[_Difference], section: Section) -> str:
    """Return a clause on how far the leading run is ahead of the next one."""
    nearest, scale = differences[0], _difference_scale(section)
    over = "" if nearest.pair.number == "all items" else f", {nearest.pair.number}"
    interval = format_interval(nearest.turn_interval(nearest.pair.found.interval), scale)
    text = f"{_estimate_text(nearest, section)} ({interval}{over})"
    if len(differences) == 1:
        return f"{nearest.first} is ahead of {nearest.second}: {text}{_judge_remark(differences)}"
    return f"{nearest.first} is ahead of all others; the next is {nearest.second}: {text}"


def _difference_scale(section: Section) -> ColumnType:
    return "difference" if section.suite.has_scores else "points"


def _estimate_text(difference: _Difference, section: Section) -> str:
    unit = "" if section.suite.has_scores else " points"
    return f"{format_value(difference.estimate, _difference_scale(section))}{unit}"


def _difference_text(difference: _Difference, section: Section, confidence: float) -> str:
    pair, scale = difference.pair, _difference_scale(section)
    p = format_value(pair.found.adjusted_p, "p")
    interval = format_interval(difference.turn_interval(pair.found.interval), scale)
    texts = [
        f"{difference.first} minus {difference.second}: {_estimate_text(difference, section)} "
        f"({100 * confidence:g} % interval {interval}), adjusted p {p if p.startswith('<') else f'= {p}'}"
        f"{'' if pair.is_certain else '; not told apart'}"
    ]
    if pair.is_by_people:
        texts.append(f"the judge alone: {format_value(difference.by_judge, scale)}")
    elif tipping := _tipping_text(difference):
        texts.append(tipping)
    bounds = difference.turn_interval(pair.found.bounds)
    if pair.is_undone and bounds is not None:
        ends = " to ".join(format_value(end, scale) for end in bounds)
        by = "people" if pair.is_by_people else "the judge"
        texts.append(f"{ends} by {by} over all images, depending on the missing verdicts")
    return "; ".join(texts)


def _tipping_text(difference: _Difference) -> str:
    """Return the judge bias that would explain a difference, or an empty string if it is implausibly large."""
    pair, tipping = difference.pair, difference.pair.tipping
    if not pair.is_certain or tipping is None:
        return ""
    leader, trailing = (difference.first, difference.second)[:: 1 if (difference.estimate or 0) > 0 else -1]
    errors = pair.judge_errors
    fewer = " (fewer, if it passes many of both)" if errors == NO_ERRORS else ""
    ways = [
        f"{verb} images of {run} {100 * gap:.0f} points more often than of {than}{remark}"
        for verb, run, than, gap, remark in (
            ("passed wrong", leader, trailing, tipping.false_pass, fewer),
            ("failed right", trailing, leader, tipping.false_fail, ""),
        )
        if gap is not None and gap <= _MAX_GAP
    ]
    certified = (
        f" (which by its certificate passes {100 * errors.false_pass:.0f} % of wrong drawings and fails "
        f"{100 * errors.false_fail:.0f} % of right ones)"
        if errors != NO_ERRORS
        else ""
    )
    return f"it would vanish if {pair.by}{certified} {', or '.join(ways)}" if ways else ""


# --- what fails, and what is not scored


def _failure_lines(rated: Sequence[RunRow], section: Section) -> Iterator[str]:
    terms = section.suite.terms
    verb = "" if terms.failed == "that failed" else f" {terms.failed}"
    for row in rated[:_MAX_LINES]:
        words = _worst_shares(row.predicates, 3)
        texts = [_worst_shares(row.kinds, 2, f" {terms.part}s{verb}"), f"by {terms.about}: {words}" if words else ""]
        if row.by_rule:
            texts.append(f"{count_noun(sum(row.by_rule.values()), 'image')} by rule ({join_counts(row.by_rule)})")
        if any(texts):
            yield f"{row.name}: {'; '.join(filter(None, texts))}"
        elif row.kinds:
            yield f"{row.name}: nothing"
    if len(rated) > _MAX_LINES:
        yield f"{count_noun(len(rated) - _MAX_LINES, 'more run')}: see What fails."


def _worst_shares(tallies: Mapping[str, Tally], count: int, noun: str = "") -> str:
    """Return the largest failure shares with counts: `relation clauses 38 % (120 of 314), …`."""
    worst = sorted(
        ((name, tally) for name, tally in tallies.items() if tally.failed),
        key=lambda entry: (entry[1].asked < _MIN_ASKED, -entry[1].share, -entry[1].asked, entry[0]),
    )
    return ", ".join(
        f"{name}{noun} {100 * tally.share:.0f} % ({tally.failed:,} of {tally.asked:,})" for name, tally in worst[:count]
    )


def _lines_on_unscored(section: Section) -> Iterator[str]:
    missing = [row for row in section.rated if row.summary.overall.scored < row.summary.overall.expected]
    for row in missing[:_MAX_LINES]:
        overall = row.summary.overall
        bounds = format_interval(row.bounds_of(lambda estimates: estimates.overall), section.suite.scale)
        between = f"; by the judge {bounds}{unit_of(section.suite)} of all images, depending on these" if bounds else ""
        yield (
            f"{row.name}: {overall.expected - overall.scored:,} of {count_noun(overall.expected, 'image')} "
            f"({join_counts(row.unscored)}){between}"
        )
    if len(missing) > _MAX_LINES:
        rest = [row.summary.overall for row in missing[_MAX_LINES:]]
        count = sum(rate.expected - rate.scored for rate in rest)
        yield f"{count_noun(len(rest), 'more run')}: {count_noun(count, 'image')}."
