"""What a report finds, in words: who is better, by how much, whether it is certain, what fails, and what is not scored.

Everything is said from the numbers of the tables. A difference is called one only where its adjusted p is small enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from formalimg.reports.comparison_model import Comparison, RunRow, Section, Tally
from formalimg.reports.figures.series import CEILING, FLOOR
from formalimg.reports.labels import join_counts, level_name, level_word, unit_of
from formalimg.reports.paired_runs import RunPair
from formalimg.reports.tables.format import count_noun, format_interval, format_value, join_names
from formalimg.reports.tables.model import Number
from formalimg.stats.observations import Band, Rate

SIGNIFICANT = 0.05
"""Runs differ where the adjusted p of their difference is at most this, as for ranks."""

_MAX_LINES = 4
"""So many lines each question has; the tables have all."""

_MIN_ASKED = 5
"""Shares of failures among fewer parts than this come last: they are chance."""


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
    found = _Ranking.of(section, scored)
    return Findings(
        found.headline(),
        tuple(
            _answers(
                [
                    ("Is it certain?", found.certainty(comparison.confidence)),
                    ("What fails", _failures(found.rated, section)),
                    ("Not scored", _unscored(section)),
                    ("By human labels", _corrected(section)),
                    ("With care", (note for note in section.notes if note.startswith("The runs "))),
                ]
            )
        ),
    )


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


# --- who is better


class _Difference(NamedTuple):
    """The difference between two runs, seen from the first."""

    first: str
    second: str
    pair: RunPair

    @property
    def estimate(self) -> float | None:
        found = self.pair.found.estimate
        return found if found is None or self.pair.first == self.first else -found

    @property
    def is_certain(self) -> bool:
        adjusted = self.pair.found.adjusted_p
        return adjusted is not None and adjusted <= SIGNIFICANT

    @property
    def is_ahead(self) -> bool:
        return self.is_certain and (self.estimate or 0) > 0


class _Ranking(NamedTuple):
    """The runs of a section; `rated` are those that are no ceiling and no floor, unless there are no others."""

    section: Section
    rated: tuple[RunRow, ...]
    differences: tuple[_Difference, ...]

    @classmethod
    def of(cls, section: Section, scored: Sequence[RunRow]) -> _Ranking:
        rated = tuple(row for row in scored if row.manifest.model.name not in (CEILING, FLOOR)) or tuple(scored)
        known = [pair for pair in section.pairs if pair.found.estimate is not None]
        both = [
            difference
            for pair in known
            for difference in (_Difference(pair.first, pair.second, pair), _Difference(pair.second, pair.first, pair))
        ]
        return cls(section, rated, tuple(both))

    def _of(self, name: str, among: Sequence[str]) -> list[_Difference]:
        """Return the differences of a run to others, the nearest first."""
        found = [one for one in self.differences if one.first == name and one.second in among]
        return sorted(found, key=lambda one: abs(one.estimate or 0))

    @property
    def _names(self) -> list[str]:
        return [row.name for row in self.rated]

    @property
    def _leader(self) -> str:
        """The run that is ahead of most others, by the estimates alone."""
        return max(self._names, key=lambda name: sum((one.estimate or 0) > 0 for one in self._of(name, self._names)))

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
        tied = [one.second for one in others if not one.is_ahead]
        unknown = [name for name in names if name != leader and name not in {one.second for one in others}]
        besides = f" {join_names(unknown)}: no items in common." if unknown else ""
        if len(tied) == len(others):
            return f"{join_names([leader, *tied])} cannot be told apart.{besides}"
        if tied:
            return f"{leader} leads, and cannot be told apart from {join_names(tied)}.{besides}"
        return f"{_ahead(others[0], self.section, len(others))}.{besides}"

    def _baseline(self) -> str | None:
        """Return the run that all others are compared with, where not all pairs are shown."""
        names = {row.name for row in self.section.rows}
        shown = {frozenset((one.first, one.second)) for one in self.differences}
        if len(names) < 3 or len(shown) != len(names) - 1:
            return None
        return next((name for name in names if all(name in pair for pair in shown)), None)

    def _against(self, baseline: str) -> str:
        found = self._of(baseline, [row.name for row in self.section.rows])
        better = [one.second for one in found if one.is_certain and (one.estimate or 0) < 0]
        worse = [one.second for one in found if one.is_ahead]
        tied = [one.second for one in found if not one.is_certain]
        texts = [
            f"{join_names(names)} {'are' if len(names) > 1 else 'is'} {verb}"
            for names, verb in ((better, "better"), (worse, "worse"), (tied, "not told apart from it"))
            if names
        ]
        return f"Compared with {baseline}: {'; '.join(texts)}."

    def _why_not(self) -> str:
        if any(row.looks is not None for row in self.section.rows):
            return "an adaptive run looks before its end, which changes p"
        return "they have no items in common that both have a verdict for"

    def certainty(self, confidence: float) -> Iterator[str]:
        """Yield the differences of the leader to the others, with interval and p; then to ceiling and floor."""
        names = [row.name for row in self.section.rows]
        first = self._baseline() or self._leader
        found = self._of(first, self._names) + self._of(first, [name for name in names if name not in self._names])
        if not found and len(names) == 1:
            number = headline_numbers(self.rated[0], self.section)[0][1]
            if number.interval is not None:
                yield (
                    f"The {100 * confidence:g} % interval covers which items and images were drawn, not errors of the "
                    "judge. With one run there is nothing to compare."
                )
        for one in found[:_MAX_LINES]:
            yield _certainty(one, self.section, confidence)
        if len(found) > _MAX_LINES:
            yield f"{count_noun(len(found) - _MAX_LINES, 'more difference')}: see Paired differences."


def _alone(row: RunRow, section: Section) -> str:
    texts = []
    for name, number in headline_numbers(row, section):
        interval = format_interval(number.interval, section.suite.scale, compact=True)
        value = f"{format_value(number.value, section.suite.scale)}{unit_of(section.suite)}"
        texts.append(f"{value}{f' ({interval})' if interval else ''} {'of ' * (name == 'all images')}{name}")
    verb = "has" if section.suite.has_scores else "passes"
    held = row.summary.generalizability
    if section.epsilon is not None and held is not None and held.value is not None:
        rate = f"at least {100 * section.epsilon:g} %"
        level = level_name(section.suite, held.value) if held.value else f"no {level_word(section.suite) or 'level'}"
        texts.append(f"{rate} up to {level}" if held.value else f"{rate} at {level}")
    return f"{row.name} {verb} {join_names(texts)}."


def _ahead(difference: _Difference, section: Section, others: int) -> str:
    """Return how far a run is ahead of the next one."""
    distance = abs(difference.estimate or 0)
    text = f"{distance:.2f}" if section.suite.has_scores else f"{100 * distance:.1f} points"
    over = "" if difference.pair.number == "all items" else f" ({difference.pair.number})"
    if others == 1:
        return f"{difference.first} is better than {difference.second}, by {text}{over}"
    return f"{difference.first} is better than all others; the next, {difference.second}, is {text} behind{over}"


def _certainty(difference: _Difference, section: Section, confidence: float) -> str:
    found, scale = difference.pair.found, "difference" if section.suite.has_scores else "points"
    flipped = difference.pair.first != difference.first
    interval = found.interval
    if interval is not None and flipped:
        interval = interval._replace(low=-interval.high, high=-interval.low)
    wins, losses = (found.losses, found.wins) if flipped else (found.wins, found.losses)
    unit = section.suite.group if section.suite.has_scores else "item"
    p = format_value(found.adjusted_p, "p")
    verdict = "" if difference.is_certain else "; not told apart"
    return (
        f"{difference.first} minus {difference.second}: {format_value(difference.estimate, scale)}"  # type: ignore[arg-type]
        f"{'' if section.suite.has_scores else ' points'}"
        f" ({100 * confidence:g} % interval {format_interval(interval, scale)}), "  # type: ignore[arg-type]
        f"Holm-adjusted p {p if p.startswith('<') else f'= {p}'}{verdict}; "
        f"better on {wins:,}, worse on {losses:,} of {count_noun(found.items, unit)}"
    )


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
    missing = [row for row in section.rows if row.summary.overall.scored < row.summary.overall.expected]
    for row in missing[:_MAX_LINES]:
        overall = row.summary.overall
        bounds = format_interval(row.overall_bounds(), section.suite.scale)
        between = f"; all images: {bounds}{unit_of(section.suite)}, whatever these show" if bounds else ""
        yield (
            f"{row.name}: {overall.expected - overall.scored:,} of {count_noun(overall.expected, 'image')} "
            f"({join_counts(row.unscored)}){between}"
        )
    if len(missing) > _MAX_LINES:
        rest = [row.summary.overall for row in missing[_MAX_LINES:]]
        count = sum(one.expected - one.scored for one in rest)
        yield f"{count_noun(len(rest), 'more run')}: {count_noun(count, 'image')}."


def _corrected(section: Section) -> Iterator[str]:
    for run in section.corrected:
        known = [number for number in run.others if number.corrected is not None]
        for one in known[-2:-1] or known[-1:]:
            number: Number = one.number
            scale = section.suite.scale
            yield (
                f"{run.name}: {format_value(number.value, scale)}{unit_of(section.suite)} "
                f"({format_interval(number.interval, scale)}) {one.name.lower()}, corrected by "
                f"{count_noun(run.labels, 'label')}; the judge alone: {format_value(one.raw.value, scale)}"
            )
