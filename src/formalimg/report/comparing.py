"""From run folders to a comparison."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, UnscoredReason, Verdict
from formalimg.report.comparison import Comparison, Detail, PicturesOfEach, PublishedRow, Row, Section, Tally
from formalimg.report.figures import counted, told
from formalimg.report.more_tables import more_tables
from formalimg.report.naming import names_of
from formalimg.report.noting import notes_on
from formalimg.report.published import published_rows
from formalimg.report.reading import HowCounted, SeenPicture, SeenRun
from formalimg.runs import Judged, RunRecord
from formalimg.stats import Missing, Observation, summarize
from formalimg.suites import Profile, Suite, suite

CONFIDENCE = 0.95

_JUDGES_REASONS: tuple[UnscoredReason, ...] = ("not understood", "judge failed")
"""Why there is no verdict although a judge looked."""


def compare(
    runs: Sequence[RunRecord],
    *,
    missing: Missing = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    profile: Profile = "paper",
) -> Comparison:
    """Runs side by side, suite by suite.

    Args:
        runs: the runs; those of one suite share a table, in the order given.
        missing: what is done with pictures that have no verdict: left out of the rates (`exclude`), counted as
            failures (`fail`), or not accepted (`error`).
        epsilon: the rate that a model has to hold for its generalizability. Default: what the suite says.
        references: whether published figures of other models stand beside the runs.
        profile: whose rules hold where a paper and its published code differ: `paper`, or `official-code`.

    Raises:
        FormalimgError: if there is no run, or a picture has no verdict and `missing` is `error`.
    """
    if not runs:
        raise FormalimgError("there is nothing to report: name at least one run folder")
    names = list(dict.fromkeys(run.card.suite for run in runs))
    how = HowCounted(missing, CONFIDENCE, profile, references)
    return Comparison(
        tuple(_section(suite(name), [run for run in runs if run.card.suite == name], epsilon, how) for name in names),
        missing,
        CONFIDENCE,
    )


def _section(about: Suite, runs: Sequence[RunRecord], epsilon: float | None, how: HowCounted) -> Section:
    held = about.epsilon if epsilon is None else epsilon
    published: Sequence[PublishedRow] = published_rows(about, held) if how.references else ()
    found = [_read(run, about) for run in runs]
    rows = tuple(map(_row, names_of(runs), runs, found, repeat(about), repeat(how.missing), repeat(held)))
    seen = [
        SeenRun(row.name, run, row.summary, read.pictures) for row, run, read in zip(rows, runs, found, strict=True)
    ]
    notes = tuple(notes_on(runs, rows, published))
    return Section(about, held, rows, tuple(published), notes, more_tables(about, seen, how))


def _row(name: str, run: RunRecord, found: _Found, about: Suite, missing: Missing, epsilon: float | None) -> Row:
    unscored = _most_first(found.unscored)
    if missing == "error" and unscored:
        raise FormalimgError(
            f"{name} has {counted(sum(unscored.values()), 'picture')} without a verdict ({told(unscored)}): "
            f"{_remedy(run)}, or choose --missing exclude or --missing fail"
        )
    summary = summarize(found.observations, bands=about.bands, epsilon=epsilon, missing=missing, confidence=CONFIDENCE)
    return Row(
        name,
        run.folder,
        run.card,
        len(run.items),
        _pictures_of_each(found.observations),
        summary,
        unscored,
        found.details,
        _most_first(found.by_rule),
        found.kinds,
        found.predicates,
        run.spent(),
    )


def _remedy(run: RunRecord) -> str:
    return "resume the run" if run.card.judge else f"use `formalimg judge {shlex.quote(str(run.folder))}`"


def _pictures_of_each(observations: Sequence[Observation]) -> PicturesOfEach:
    counts = Counter(seen.item for seen in observations).values()
    return PicturesOfEach(min(counts, default=0), max(counts, default=0))


class _Found(NamedTuple):
    observations: Sequence[Observation]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    pictures: tuple[SeenPicture, ...]


def _read(run: RunRecord, about: Suite) -> _Found:
    """One pass over a run, which may go on meanwhile: rates, reasons and clauses are of the same moment."""
    observations: list[Observation] = []
    unscored: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    by_rule: Counter[str] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    pictures: list[SeenPicture] = []
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        observations.append(Observation(outcome.item, outcome.level, outcome.passed))
        pictures.append(_seen(judged))
        if isinstance(verdict, Unscored):
            unscored[verdict.reason] += 1
            if verdict.detail:
                details.setdefault(verdict.reason, Counter())[verdict.detail] += 1
            continue
        if "rule" in verdict.evidence:
            by_rule[str(verdict.evidence["rule"])] += 1
        for group in _groups(verdict, about):
            asked[group.key] += 1
            failed[group.key] += group.failed
    return _Found(
        observations,
        unscored,
        {reason: Detail(*counts.most_common(1)[0]) for reason, counts in details.items()},
        by_rule,
        _tallies("kind", asked, failed),
        _tallies("predicate", asked, failed),
        tuple(pictures),
    )


def _seen(judged: Judged) -> SeenPicture:
    outcome, verdict = judged.outcome, judged.verdict
    scored = isinstance(verdict, Verdict)
    return SeenPicture(
        outcome.item,
        outcome.level,
        outcome.passed,
        verdict.parts if isinstance(verdict, Verdict) else (),
        scored or outcome.reason in _JUDGES_REASONS,
        verdict.cost,
    )


class _Group(NamedTuple):
    key: tuple[str, str]
    failed: bool


def _groups(verdict: Verdict, about: Suite) -> Iterable[_Group]:
    for part in verdict.parts:
        failed = part.score < 1
        yield _Group(("kind", part.kind), failed)
        for word in dict.fromkeys(part.about):
            # A value may belong to two categories: orange is a colour and a fruit.
            name = f"{part.kind} {word}" if about.kind == "concepts" else word
            yield _Group(("predicate", name), failed)


def _tallies(sort: str, asked: Counter[tuple[str, str]], failed: Counter[tuple[str, str]]) -> Mapping[str, Tally]:
    return {name: Tally(failed[sort, name], count) for (of, name), count in sorted(asked.items()) if of == sort}


def _most_first(counts: Mapping[str, int]) -> Mapping[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
