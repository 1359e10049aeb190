"""From run folders to a comparison."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.judges import Unscored, UnscoredReason, Verdict
from formalimg.reporting.comparison import Comparison, Detail, ImagesOfEach, PublishedRow, Row, Section, Tally
from formalimg.reporting.counterfactual import WHY_NOT_COUNTED, graded_images, score_summary
from formalimg.reporting.figures import counted, told
from formalimg.reporting.more_tables import more_tables
from formalimg.reporting.naming import names_of
from formalimg.reporting.noting import notes_on
from formalimg.reporting.published import published_rows, worked_out
from formalimg.reporting.reading import GradedImage, HowCounted, SeenImage, SeenRun
from formalimg.runs import Judged, RunRecord
from formalimg.stats import Missing, Observation, Summary, summarize
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
    threshold: float = 0.5,
) -> Comparison:
    """Runs side by side, suite by suite.

    Args:
        runs: the runs; those of one suite share a table, in the order given.
        missing: what is done with images that have no verdict: left out of the rates (`exclude`), counted as
            failures (`fail`), or not accepted (`error`).
        epsilon: the rate that a model has to hold for its generalizability. Default: what the suite says.
        references: whether published figures of other models stand beside the runs.
        profile: whose rules hold where a paper and its published code differ: `paper`, or `official-code`.
        threshold: the score of its factual image that opens the gate of a group of CF-World.

    Raises:
        FormalimgError: if there is no run, or an image has no verdict and `missing` is `error`.
    """
    if not runs:
        raise FormalimgError("there is nothing to report: name at least one run folder")
    names = list(dict.fromkeys(run.manifest.suite for run in runs))
    how = HowCounted(missing, CONFIDENCE, profile, references, threshold)
    return Comparison(
        tuple(
            _section(suite(name), [run for run in runs if run.manifest.suite == name], epsilon, how) for name in names
        ),
        missing,
        CONFIDENCE,
        threshold,
        profile,
    )


def _section(about: Suite, runs: Sequence[RunRecord], epsilon: float | None, how: HowCounted) -> Section:
    # What is a mean of scores holds no rate.
    held = None if about.kind == "counterfactual" else about.epsilon if epsilon is None else epsilon
    published: Sequence[PublishedRow] = published_rows(about, held) if how.references else ()
    found = [_read(run, about) for run in runs]
    summed = [_summed_up(run, read, about, held, how) for run, read in zip(runs, found, strict=True)]
    rows = tuple(map(_row, names_of(runs), runs, found, summed, repeat(how)))
    seen = [
        SeenRun(row.name, run, row.summary, read.images, sums.graded)
        for row, run, read, sums in zip(rows, runs, found, summed, strict=True)
    ]
    notes = tuple(notes_on(runs, rows, published, worked_out(about, held)))
    return Section(about, held, rows, tuple(published), notes, more_tables(about, seen, how))


class _SummedUp(NamedTuple):
    """How the numbers of a run are had once it is settled that missing verdicts are no hindrance."""

    summary: Callable[[], Summary]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    graded: tuple[GradedImage, ...] = ()


def _summed_up(run: RunRecord, found: _Found, about: Suite, epsilon: float | None, how: HowCounted) -> _SummedUp:
    if about.kind != "counterfactual":
        summary = partial(
            summarize,
            found.observations,
            bands=about.bands,
            epsilon=epsilon,
            missing=how.missing,
            confidence=how.confidence,
        )
        return _SummedUp(summary, _most_first(found.unscored), found.details)
    graded = graded_images(run, found.images, about, how)
    unscored = Counter(image.reason for image in graded if image.counting is None)
    details = {**found.details, **{reason: Detail(why, unscored[reason]) for reason, why in WHY_NOT_COUNTED.items()}}
    known = {reason: details[reason] for reason in details if reason in unscored}
    return _SummedUp(partial(score_summary, graded, about, how), _most_first(unscored), known, graded)


def _row(name: str, run: RunRecord, found: _Found, summed: _SummedUp, how: HowCounted) -> Row:
    unscored = summed.unscored
    if how.missing == "error" and unscored:
        raise FormalimgError(
            f"{name} has {counted(sum(unscored.values()), 'image')} without a verdict ({told(unscored)}): "
            f"{_remedy(run)}, or choose --missing exclude or --missing fail"
        )
    return Row(
        name,
        run.folder,
        run.manifest,
        len(run.items),
        _images_of_each(found.observations),
        summed.summary(),
        unscored,
        summed.details,
        _most_first(found.by_rule),
        found.kinds,
        found.predicates,
        run.spent(),
        frozenset((image.item, image.sample) for image in summed.graded if image.is_gated),
    )


def _remedy(run: RunRecord) -> str:
    return "resume the run" if run.manifest.judge else f"use `formalimg judge {shlex.quote(str(run.folder))}`"


def _images_of_each(observations: Sequence[Observation]) -> ImagesOfEach:
    counts = Counter(seen.item for seen in observations).values()
    return ImagesOfEach(min(counts, default=0), max(counts, default=0))


class _Found(NamedTuple):
    observations: Sequence[Observation]
    unscored: Mapping[str, int]
    details: Mapping[str, Detail]
    by_rule: Mapping[str, int]
    kinds: Mapping[str, Tally]
    predicates: Mapping[str, Tally]
    images: tuple[SeenImage, ...]


def _read(run: RunRecord, about: Suite) -> _Found:
    """One pass over a run, which may go on meanwhile: rates, reasons and clauses are of the same moment."""
    observations: list[Observation] = []
    unscored: Counter[str] = Counter()
    details: dict[str, Counter[str]] = {}
    by_rule: Counter[str] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    images: list[SeenImage] = []
    for judged in run.judged():
        outcome, verdict = judged.outcome, judged.verdict
        observations.append(Observation(outcome.item, outcome.level, outcome.passed))
        images.append(_seen(judged))
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
        tuple(images),
    )


def _seen(judged: Judged) -> SeenImage:
    outcome, verdict = judged.outcome, judged.verdict
    scored = isinstance(verdict, Verdict)
    by_rule = scored and "rule" in verdict.evidence
    return SeenImage(
        outcome.item,
        outcome.level,
        outcome.passed,
        verdict.parts if isinstance(verdict, Verdict) else (),
        (scored and not by_rule) or outcome.reason in _JUDGES_REASONS,
        verdict.cost,
        outcome.sample,
        outcome.score,
        outcome.reason,
        by_rule,
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
