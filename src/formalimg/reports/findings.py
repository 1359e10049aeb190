"""What a report finds, in words: who is ahead, by whom, by how much, whether it is certain, and what fails.

Everything is said from the numbers of the tables. A difference is called one only where its adjusted p is small enough,
and no sentence says more than who said it: people, or a judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally, rated_rows
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

_MAX_LINES = 4
"""So many lines each question has; the tables have all."""

_MIN_ASKED = 5
"""Shares of failures among fewer parts than this come last: they are chance."""

_MAX_GAP = 0.5
"""No judge is suspected of error rates that differ by more between two models."""


class Finding(NamedTuple):
    """The answer to one question, line by line."""

    question: str
    lines: tuple[str, ...]


class Findings(NamedTuple):
    """The findings about the runs of a suite: one sentence, and the answers to questions."""

    headline: str
    answers: tuple[Finding, ...]


def find(section: Section, comparison: Comparison) -> Findings:
    """Return what the numbers of a section say."""
    scored = [row for row in section.rows if row.summary.overall.scored]
    if not scored:
        return Findings("No image has a verdict yet.", tuple(_answers([("Not scored", _unscored(section))])))
    found = [
        _Ranking.of(own, there) for own in _by_judge(section) if (there := [row for row in own.rows if row in scored])
    ]
    rated = [row for each in found for row in each.rated]
    headlines = [_headline(each, is_single=len(found) == 1) for each in found]
    return Findings(
        " ".join([*headlines, *_missing_rule(rated, section, comparison.missing)]),
        tuple(
            _answers(
                [
                    ("Is it certain?", (line for each in found for line in each.certainty(comparison.confidence))),
                    ("What fails", _failures(rated, section)),
                    ("Not scored", _unscored(section)),
                    ("With care", (note for note in section.notes if note.startswith("The runs "))),
                ]
            )
        ),
    )


def _headline(ranking: _Ranking, *, is_single: bool) -> str:
    """Return the headline; of several judges each is named once, at its beginning."""
    said = ranking.headline()
    return said if is_single else said.replace(f", by {judge_text(ranking.rated)}", "")


def _missing_rule(rated: Sequence[RunRow], section: Section, missing: MissingPolicy) -> Iterator[str]:
    """Yield what the headline makes of images without a verdict, where no bounds of differences say it."""
    count = sum(row.summary.overall.expected - row.summary.overall.scored for row in rated)
    if not count:
        return
    unless = " unless people labelled them" if section.corrected else ""
    failures = "0" if section.suite.has_scores else "failures"
    if missing == "fail":
        yield f"Images without a verdict ({count:,}) count as {failures}{unless}."
    elif len(rated) == 1:
        yield f"{count:,} of {count_noun(rated[0].summary.overall.expected, 'image')} have no verdict."


def _by_judge(section: Section) -> Iterator[Section]:
    """Yield the section, or where runs are listed once for each judge, the part of each judge."""
    for numbers in rows_by_judge(section.rows):
        rows = tuple(section.rows[number] for number in numbers)
        names = {row.name for row in rows}
        yield replace(section, rows=rows, pairs=tuple(pair for pair in section.pairs if pair.first in names))


def claims(section: Section, comparison: Comparison) -> list[str]:
    """Return the headline, and each difference that it rests on in a sentence."""
    findings = find(section, comparison)
    return [findings.headline, *(line for each in findings.answers[:1] if section.pairs for line in each.lines)]


def _answers(found: Sequence[tuple[str, Iterator[str]]]) -> Iterator[Finding]:
    for question, lines in found:
        shown = tuple(lines)
        if shown:
            yield Finding(question, shown)


def headline_numbers(row: RunRow, section: Section) -> list[tuple[str, Rate | Band]]:
    """Return the numbers that stand for a run, by name: the mean over all levels; of suites of scores their ratios."""
    bands, levels = row.summary.bands, row.summary.levels
    if section.suite.has_scores:
        if bands:
            return [*bands.items()]
        return [(level_name(section.suite, level), rate) for level, rate in levels.items()]
    *_, (name, band) = bands.items() or [("", None)]
    return [("all images", row.summary.overall)] if band is None or band.value is None else [(name.lower(), band)]


# --- who is ahead


class _Difference(NamedTuple):
    """The difference between two runs, seen from the first."""

    first: str
    second: str
    pair: RunPair

    @property
    def _is_flipped(self) -> bool:
        return self.pair.first != self.first

    def _turned(self, value: float | None) -> float | None:
        return -value if self._is_flipped and value is not None else value

    @property
    def estimate(self) -> float | None:
        return self._turned(self.pair.found.estimate)

    @property
    def by_judge(self) -> float | None:
        """The difference by the judge alone, where people decide."""
        return self._turned(self.pair.judge.estimate) if self.pair.judge is not None else None

    @property
    def interval(self) -> Interval | None:
        interval = self.pair.found.interval
        return Interval(-interval.high, -interval.low) if self._is_flipped and interval is not None else interval

    @property
    def is_ahead(self) -> bool:
        return self.pair.is_certain and (self.estimate or 0) > 0

    @property
    def is_behind(self) -> bool:
        return self.pair.is_certain and (self.estimate or 0) < 0


class _Ranking(NamedTuple):
    """The runs of a section; `rated` are those that are no baselines."""

    section: Section
    rated: tuple[RunRow, ...]
    differences: tuple[_Difference, ...]

    @classmethod
    def of(cls, section: Section, scored: Sequence[RunRow]) -> _Ranking:
        known = [pair for pair in section.pairs if pair.found.estimate is not None]
        both = [
            difference
            for pair in known
            for difference in (_Difference(pair.first, pair.second, pair), _Difference(pair.second, pair.first, pair))
        ]
        return cls(section, rated_rows(scored), tuple(both))

    def _of(self, name: str, among: Sequence[str]) -> list[_Difference]:
        """Return the differences of a run to others, the nearest first."""
        own = [difference for difference in self.differences if difference.first == name and difference.second in among]
        return sorted(own, key=lambda difference: abs(difference.estimate or 0))

    @property
    def _names(self) -> list[str]:
        return [row.name for row in self.rated]

    @property
    def _leader(self) -> str:
        """The run behind none that is certainly ahead of most others; among equals, the one with higher estimates.

        If it is ahead of no other, no two runs can be told apart.
        """

        def merit(name: str) -> tuple[bool, int, int]:
            own = self._of(name, self._names)
            return (
                not any(difference.is_behind for difference in own),
                sum(difference.is_ahead for difference in own),
                sum((difference.estimate or 0) > 0 for difference in own),
            )

        return max(self._names, key=merit)

    def headline(self) -> str:
        names = self._names
        if len(names) == 1:
            return _alone(self.rated[0], self.section)
        baseline = self._baseline()
        if baseline is not None:
            return self._against(baseline)
        leader = self._leader
        others = self._of(leader, names)
        if not others:
            return f"{join_names(names)} cannot be compared in pairs: {self._why_not()}."
        if any(difference.is_behind for difference in others):  # each is behind another
            return self._against(leader)
        ahead = [difference.second for difference in others if difference.is_ahead]
        tied = [difference.second for difference in others if not difference.is_ahead]
        unknown = [name for name in names if name not in {leader, *(difference.second for difference in others)}]
        besides = f" {join_names(unknown)}: no items in common." if unknown else ""
        besides += _missing_remark(others)
        by = _by(others)
        if not ahead:
            return f"{by}, {join_names([leader, *tied])} cannot be told apart{_beside_judge(others)}.{besides}"
        if tied:
            text = f"{leader} is ahead of {join_names(ahead)}, and cannot be told apart from {join_names(tied)}"
            return f"{by}, {text}.{besides}"
        return f"{by}, {_ahead(others, self.section)}.{besides}"

    def _baseline(self) -> str | None:
        """Return the run that all others are compared with, where not all pairs are shown."""
        names = {row.name for row in self.section.rows}
        shown = {frozenset((difference.first, difference.second)) for difference in self.differences}
        if len(names) < 3 or len(shown) != len(names) - 1:
            return None
        return next((name for name in names if all(name in pair for pair in shown)), None)

    def _against(self, baseline: str) -> str:
        own = self._of(baseline, [row.name for row in self.section.rows])
        ahead = [each.second for each in own if each.is_behind]
        behind = [each.second for each in own if each.is_ahead]
        tied = [each.second for each in own if not each.pair.is_certain]
        texts = [
            f"{join_names(names)} {'are' if len(names) > 1 else 'is'} {verb}"
            for names, verb in ((ahead, "ahead"), (behind, "behind"), (tied, "not told apart from it"))
            if names
        ]
        return f"{_by(own)}, compared with {baseline}: {'; '.join(texts)}.{_missing_remark(own)}"

    def _why_not(self) -> str:
        if any(row.looks is not None for row in self.section.rows):
            return "an adaptive run looks before its end, which changes p"
        return "they have no items in common that both have a verdict for"

    def certainty(self, confidence: float) -> Iterator[str]:
        """Yield the differences of the leader to the others, with interval and p; baselines count where asked for."""
        baseline = self._baseline()
        own = self._of(baseline or self._leader, [row.name for row in self.section.rows] if baseline else self._names)
        if len(self.rated) == 1 and not baseline:
            number = headline_numbers(self.rated[0], self.section)[0][1]
            covers = "and errors of the judge" if _by_people(self.rated[0], self.section) else "not errors of the judge"
            if number.interval is not None:
                yield (
                    f"The {100 * confidence:g} % interval covers which items and images were drawn, {covers}. With one "
                    "run there is nothing to compare."
                )
        for difference in own[:_MAX_LINES]:
            yield _certainty(difference, self.section, confidence)
        if len(own) > _MAX_LINES:
            yield f"{count_noun(len(own) - _MAX_LINES, 'more difference')}: see Paired differences."
        if any(_tipping(difference) for difference in own[:_MAX_LINES]):
            yield PUBLIC_GAPS


def _by(differences: Sequence[_Difference]) -> str:
    """Return who decides, at the beginning of a sentence."""
    return f"By {join_names(list(dict.fromkeys(difference.pair.by for difference in differences)))}"


def _missing_remark(differences: Sequence[_Difference]) -> str:
    undone = [difference.second for difference in differences if difference.pair.is_undone]
    if not undone:
        return ""
    first = differences[0].first
    return f" Missing verdicts could overturn the difference of {first} and {join_names(undone)}: none is claimed."


def _beside_judge(differences: Sequence[_Difference]) -> str:
    """Return what the judge alone says of two runs, where people decide."""
    difference = differences[0]
    judge = difference.pair.judge
    if len(differences) > 1 or judge is None:
        return ""
    if not is_significant(judge):
        return (
            "; the judge alone cannot tell either"
            if not difference.pair.is_certain
            else "; the judge alone cannot tell"
        )
    leader = difference.first if (difference.by_judge or 0) > 0 else difference.second
    if not difference.pair.is_certain:
        return f"; the judge alone says {leader}"
    return "; the judge agrees" if leader == difference.first else "; the judge alone says the opposite"


def _alone(row: RunRow, section: Section) -> str:
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    by_people = _by_people(row, section)
    texts = []
    for name, number in headline_numbers(row, section):
        shown = by_people.get(name) or Number.of(number)
        interval = format_interval(shown.interval, section.suite.scale, compact=True)
        value = f"{format_value(shown.value, section.suite.scale)}{unit_of(section.suite)}"
        texts.append(f"{value}{f' ({interval})' if interval else ''} {'of ' * (name == 'all images')}{name}")
        if by_people:
            texts[-1] += f" (the judge alone: {format_value(number.value, section.suite.scale)})"
    verb = "has" if section.suite.has_scores else "passes"
    held = row.summary.generalizability
    if by_people and corrected is not None:
        held = corrected.held.corrected if corrected.held else None
    if section.epsilon is not None and held is not None and held.value is not None:
        rate = f"at least {100 * section.epsilon:g} %"
        level = level_name(section.suite, held.value) if held.value else f"no {level_word(section.suite) or 'level'}"
        interval = f" ({generalizability_interval(held)})" if generalizability_interval(held) else ""
        texts.append(f"{rate} {'up to' if held.value else 'at'} {level}{interval}")
    by = f"people ({count_noun(corrected.labels, 'label')})" if by_people and corrected else judge_text([row])
    return f"By {by}, {row.name} {verb} {join_names(texts)}."


def _by_people(row: RunRow, section: Section) -> dict[str, Number]:
    """Return the headline numbers of a run by people, by name; none where labels for any of them are lacking."""
    corrected = next((run for run in section.corrected if run.name == row.name), None)
    numbers = {name: corrected and corrected.number(name) for name, _ in headline_numbers(row, section)}
    return {name: number for name, number in numbers.items() if number} if all(numbers.values()) else {}


def _ahead(differences: Sequence[_Difference], section: Section) -> str:
    """Return how far a run is ahead of the next one."""
    nearest = differences[0]
    over = "" if nearest.pair.number == "all items" else f", {nearest.pair.number}"
    interval = format_interval(nearest.interval, _scale(section))
    text = f"{format_value(nearest.estimate, _scale(section))}{_points(section)} ({interval}{over})"
    if len(differences) == 1:
        return f"{nearest.first} is ahead of {nearest.second}: {text}{_beside_judge(differences)}"
    return f"{nearest.first} is ahead of all others; the next is {nearest.second}: {text}"


def _scale(section: Section) -> ColumnType:
    return "difference" if section.suite.has_scores else "points"


def _points(section: Section) -> str:
    return "" if section.suite.has_scores else " points"


def _certainty(difference: _Difference, section: Section, confidence: float) -> str:
    pair, scale = difference.pair, _scale(section)
    p = format_value(pair.found.adjusted_p, "p")
    texts = [
        f"{difference.first} minus {difference.second}: {format_value(difference.estimate, scale)}{_points(section)}"
        f" ({100 * confidence:g} % interval {format_interval(difference.interval, scale)}), "
        f"adjusted p {p if p.startswith('<') else f'= {p}'}{'' if pair.is_certain else '; not told apart'}"
    ]
    if pair.is_by_people:
        texts.append(f"the judge alone: {format_value(difference.by_judge, scale)}")
    elif tipping := _tipping(difference):
        texts.append(tipping)
    if pair.is_undone and pair.bounds is not None:
        low, high = pair.bounds if pair.first == difference.first else (-pair.bounds.high, -pair.bounds.low)
        ends = " to ".join(format_value(end, scale) for end in (low, high))
        by = "people" if pair.is_by_people else "the judge"
        texts.append(f"{ends} by {by} over all images, depending on the missing verdicts")
    return "; ".join(texts)


def _tipping(difference: _Difference) -> str:
    """Return how unequally the judge would have to treat two runs to explain a difference; empty if absurdly so."""
    pair, tipping = difference.pair, difference.pair.tipping
    if not pair.is_certain or tipping is None:
        return ""
    leader, other = (difference.first, difference.second)[:: 1 if (difference.estimate or 0) > 0 else -1]
    errors = pair.judge_errors
    fewer = " (fewer, if it passes many of both)" if errors == NO_ERRORS else ""
    ways = [
        f"{verb} images of {run} {100 * gap:.0f} points more often than of {than}{remark}"
        for verb, run, than, gap, remark in (
            ("passed wrong", leader, other, tipping.false_pass, fewer),
            ("failed right", other, leader, tipping.false_fail, ""),
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


def _failures(rated: Sequence[RunRow], section: Section) -> Iterator[str]:
    terms = section.suite.terms
    for row in rated[:_MAX_LINES]:
        kinds, words = _worst(row.kinds), _worst(row.predicates)
        how = "" if terms.failed == "that failed" else f" {terms.failed}"
        texts = [_shares(kinds, 2, f" {terms.part}s{how}")]
        texts += [f"by {terms.about}: {_shares(words, 3)}" if words else ""]
        if row.by_rule:
            texts.append(f"{count_noun(sum(row.by_rule.values()), 'image')} by rule ({join_counts(row.by_rule)})")
        if any(texts):
            yield f"{row.name}: {'; '.join(filter(None, texts))}"
        elif row.kinds:
            yield f"{row.name}: nothing"
    if len(rated) > _MAX_LINES:
        yield f"{count_noun(len(rated) - _MAX_LINES, 'more run')}: see What fails."


def _worst(tallies: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    failed = [(name, tally) for name, tally in tallies.items() if tally.failed]
    return sorted(failed, key=lambda one: (one[1].asked < _MIN_ASKED, -one[1].share, -one[1].asked, one[0]))


def _shares(tallies: Sequence[tuple[str, Tally]], count: int, what: str = "") -> str:
    """Return the largest shares, with their counts: `relation clauses 38 % (120 of 314), …`."""
    return ", ".join(
        f"{name}{what} {100 * tally.share:.0f} % ({tally.failed:,} of {tally.asked:,})"
        for name, tally in tallies[:count]
    )


def _unscored(section: Section) -> Iterator[str]:
    missing = [row for row in section.rated if row.summary.overall.scored < row.summary.overall.expected]
    for row in missing[:_MAX_LINES]:
        overall = row.summary.overall
        bounds = format_interval(row.overall_bounds(), section.suite.scale)
        between = f"; by the judge {bounds}{unit_of(section.suite)} of all images, depending on these" if bounds else ""
        yield (
            f"{row.name}: {overall.expected - overall.scored:,} of {count_noun(overall.expected, 'image')} "
            f"({join_counts(row.unscored)}){between}"
        )
    if len(missing) > _MAX_LINES:
        rest = [row.summary.overall for row in missing[_MAX_LINES:]]
        count = sum(one.expected - one.scored for one in rest)
        yield f"{count_noun(len(rest), 'more run')}: {count_noun(count, 'image')}."
