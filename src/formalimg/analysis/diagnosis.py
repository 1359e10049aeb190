"""Two kinds of images of the same groups, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple, TypeAlias

from formalimg.analysis.counterfactual_scores import group_scores
from formalimg.analysis.rated_images import one_judge
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunManifest, RunRecord
from formalimg.stats import (
    Interval,
    ScoreObservation,
    ScoreProfile,
    apply_gate,
    gates,
    score_difference,
    summarize_scores,
)
from formalimg.suites import CF_WORLD, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED, CF_WORLD_RULES, CF_WORLD_SUITES

_FIRST, _SECOND = 1, 2


class Drawing(NamedTuple):
    """How groups are drawn anew for intervals."""

    confidence: float
    resamples: int
    seed: int


class Side(NamedTuple):
    """The mean score of one kind of images.

    Attributes:
        value: the mean over images; None if there are none.
        interval: its interval, by drawing groups anew.
        scored: how many images have a score that counts.
        expected: how many images there were to be.
    """

    value: float | None
    interval: Interval | None
    scored: int
    expected: int


class Contrast(NamedTuple):
    """How the scores of two kinds of images differ on the groups (or rules, or pairs) that have scores of both.

    Attributes:
        first, second: the mean scores of the images of these groups.
        difference: the mean over these groups of the second kind's mean minus the first's. Each group weighs the same,
            so it is not quite the difference of the means where groups have unequally many images.
        interval: its interval, by drawing groups anew.
        groups: how many groups have scores of both.
        higher, lower: in how many of them the second kind scores higher, or lower.
        only_first, only_second, unscored: the groups that have scores of one kind only, or of none, by name.
    """

    first: Side
    second: Side
    difference: float | None
    interval: Interval | None
    groups: int
    higher: int
    lower: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    unscored: tuple[str, ...]


def contrast(first: Sequence[ScoreObservation], second: Sequence[ScoreObservation], drawing: Drawing) -> Contrast:
    """How two kinds of images differ, group by group; their levels and gates are no longer looked at."""
    means = _means(first), _means(second)
    groups = sorted({one.group for one in (*first, *second)})
    paired = frozenset(group for group in groups if all(group in side for side in means))
    seen = [one._replace(level=_FIRST) for one in first if one.group in paired]
    seen += [one._replace(level=_SECOND) for one in second if one.group in paired]
    confidence, resamples, seed = drawing
    found = score_difference(seen, first=_FIRST, second=_SECOND, confidence=confidence, resamples=resamples, seed=seed)
    levels = summarize_scores(seen, threshold=None, confidence=confidence, resamples=resamples, seed=seed).levels

    def side(level: int) -> Side:
        mean = levels.get(level)
        return Side(mean.value, mean.interval, mean.scored, mean.expected) if mean else Side(None, None, 0, 0)

    return Contrast(
        side(_FIRST),
        side(_SECOND),
        found.value,
        found.interval,
        len(paired),
        sum(means[1][group] > means[0][group] for group in paired),
        sum(means[1][group] < means[0][group] for group in paired),
        tuple(group for group in groups if group in means[0] and group not in means[1]),
        tuple(group for group in groups if group in means[1] and group not in means[0]),
        tuple(group for group in groups if group not in means[0] and group not in means[1]),
    )


def _means(observations: Sequence[ScoreObservation]) -> dict[str, float]:
    """The mean score of each group that has any; rounded, so that equal scores stay equal."""
    scores: dict[str, list[float]] = {}
    for one in observations:
        if one.score is not None:
            scores.setdefault(one.group, []).append(one.score)
    return {group: round(fsum(those) / len(those), 12) for group, those in scores.items()}


_FACTUAL, _COUNTERFACTUAL = 1, 2

Observations: TypeAlias = Sequence[ScoreObservation]


@dataclass(frozen=True)
class Lexical:
    """The explicit prompts of CF-World and the same without the names of what comes of them.

    Attributes:
        gated: both as CF-World counts them, 0 where the group's factual image misses the threshold. The gate of both
            is the factual image of the run of cf-world; where nobody knows it, the group is left out here.
        ungated: both as the judge scored them.
        closed: the groups whose gate is closed for at least one image, by name.
        unknown: the groups whose gate nobody knows, by name: their factual images have no score, or are not in the
            run at all. Under `official-code` a factual image without a score closes the gate.
    """

    gated: Contrast
    ungated: Contrast
    closed: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What the probes tell of one model.

    Attributes:
        model: the image model.
        runs: its runs, by suite.
        judges: who judged them, by suite.
        rules: the same rules of the world, as they are and changed; None without a run of cf-world-rules.
        attributes: pairs of objects often seen together, and rarely; None without a run of cf-world-attributes.
        lexical: explicit prompts with and without names; None without runs of both cf-world and cf-world-denominalised.
        notes: what has to be known to trust the comparison, one line each.
        threshold: the score that opens the gate.
        profile: whose rules were followed.
        confidence: of all intervals.
    """

    model: str
    runs: Mapping[str, str]
    judges: Mapping[str, Identity]
    rules: Contrast | None
    attributes: Contrast | None
    lexical: Lexical | None
    notes: tuple[str, ...]
    threshold: float
    profile: ScoreProfile
    confidence: float


def diagnose(
    runs: Sequence[RunRecord],
    *,
    model: str | None = None,
    threshold: float = 0.5,
    profile: ScoreProfile = "paper",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Diagnosis]:
    """What the probes of CF-World tell of one or several models.

    Args:
        runs: runs of cf-world, cf-world-rules, cf-world-attributes and cf-world-denominalised, of each model no more
            than one of a suite.
        model: takes all runs as those of one model of this name, as is needed for images that lie in folders.
            Default: runs belong together whose models have the same name.
        threshold: the score of a factual image that opens the gate of its group.
        profile: `official-code` gives each question its full weight, and closes the gate where it is not known.
        confidence: of all intervals.
        resamples: how often rules, pairs and groups are drawn anew for the intervals.
        seed: of the drawing.

    Returns:
        One diagnosis for each model, in the order in which they first come.

    Raises:
        FormalimgError: if there are other runs, two of the same suite and model, or nothing to compare; or if the
            judges of images that have to be compared differ.
    """
    how = _How(threshold, profile, Drawing(confidence, resamples, seed))
    by_model = _by_model(runs, model)
    found = [_diagnosis(name, by_model, how) for name in by_model]
    if not any(it.rules or it.attributes or it.lexical for it in found):
        raise FormalimgError(
            f"there is nothing to compare: name runs of {CF_WORLD_RULES} or {CF_WORLD_ATTRIBUTES}, or of both "
            f"{CF_WORLD} and {CF_WORLD_DENOMINALISED} by the same model; --as NAME says that they are"
        )
    return found


class _How(NamedTuple):
    """How scores are counted and compared."""

    threshold: float
    profile: ScoreProfile
    drawing: Drawing


def _by_model(runs: Sequence[RunRecord], model: str | None) -> dict[str, dict[str, RunRecord]]:
    found: dict[str, dict[str, RunRecord]] = {}
    for run in runs:
        suite, name = run.manifest.suite, model or run.manifest.model.name
        if suite not in CF_WORLD_SUITES:
            raise FormalimgError(f"{run.folder} is a run of {suite}: name runs of {', '.join(CF_WORLD_SUITES)}")
        own = found.setdefault(name, {})
        if suite in own:
            raise FormalimgError(f"{own[suite].folder} and {run.folder} are both runs of {suite} by {name}: name one")
        own[suite] = run
    return found


def _diagnosis(name: str, by_model: Mapping[str, Mapping[str, RunRecord]], how: _How) -> Diagnosis:
    runs = by_model[name]
    judges = {suite: one_judge([runs[suite]]) for suite in CF_WORLD_SUITES if suite in runs}
    seen = {suite: _observations(runs[suite], how.profile) for suite in judges}

    def probe(suite: str) -> Contrast | None:
        if suite not in seen:
            return None
        return contrast(_at(_FACTUAL, seen[suite]), _at(_COUNTERFACTUAL, seen[suite]), how.drawing)

    both = CF_WORLD in seen and CF_WORLD_DENOMINALISED in seen
    return Diagnosis(
        name,
        {suite: runs[suite].folder.name for suite in judges},
        judges,
        probe(CF_WORLD_RULES),
        probe(CF_WORLD_ATTRIBUTES),
        _lexical(seen[CF_WORLD], seen[CF_WORLD_DENOMINALISED], how) if both else None,
        tuple(_notes(runs, [own for other, own in by_model.items() if other != name])),
        how.threshold,
        how.profile,
        how.drawing.confidence,
    )


def _lexical(main: Observations, described: Observations, how: _How) -> Lexical:
    """Both sides get the same gate: the factual images of the main run."""
    factual, named = _at(_FACTUAL, main), _at(_COUNTERFACTUAL, main)
    threshold, profile, drawing = how
    gated = [
        _at(_COUNTERFACTUAL, apply_gate([*factual, *side], threshold, profile=profile)) for side in (named, described)
    ]
    images = [*named, *described]
    before = gates([*factual, *images], threshold, profile=profile)[len(factual) :]
    closed = {one.group for one, gate in zip(images, before, strict=True) if gate == "closed" and one.score is not None}
    known = {one.group for one, gate in zip(images, before, strict=True) if gate in ("open", "closed")}
    return Lexical(
        contrast(gated[0], gated[1], drawing),
        contrast(named, described, drawing),
        tuple(sorted(closed)),
        tuple(sorted({one.group for one in images} - known)),
    )


def _notes(runs: Mapping[str, RunRecord], others: Sequence[Mapping[str, RunRecord]]) -> Iterator[str]:
    """What sets the runs apart whose images are compared; all else is compared within one run."""
    if CF_WORLD not in runs or CF_WORLD_DENOMINALISED not in runs:
        for here, there in ((CF_WORLD, CF_WORLD_DENOMINALISED), (CF_WORLD_DENOMINALISED, CF_WORLD)):
            if here in runs:
                elsewhere = [own[there].folder.name for own in others if there in own]
                way_out = f" (if {' or '.join(elsewhere)} is by the same model, say so: --as NAME)" if elsewhere else ""
                yield f"no run of {there} to compare {runs[here].folder.name} with{way_out}"
        return
    one, other = runs[CF_WORLD], runs[CF_WORLD_DENOMINALISED]
    judges = one_judge([one]), one_judge([other])
    if judges[0].name != judges[1].name:
        raise FormalimgError(
            f"{one.folder} was judged by {judges[0].name} and {other.folder} by {judges[1].name}: what they say cannot "
            "be compared; let the same judge look at both, and name it with --judge"
        )
    aspects: dict[str, Callable[[RunManifest], object]] = {
        "judge's settings": lambda manifest: manifest.judge and dict(manifest.judge.settings),
        "model's settings": lambda manifest: dict(manifest.model.settings),
        "size": lambda manifest: manifest.size,
        "condition": lambda manifest: manifest.condition,
        "seed": lambda manifest: manifest.seed,
        "samples": lambda manifest: manifest.samples,
    }
    for aspect, told in aspects.items():
        if told(one.manifest) != told(other.manifest):
            yield f"{one.folder.name} and {other.folder.name} differ in the {aspect}"


def _observations(run: RunRecord, profile: ScoreProfile) -> list[ScoreObservation]:
    return [ScoreObservation(it.group, it.level, it.sample, it.score) for it in group_scores(run, profile)]


def _at(level: int, observations: Observations) -> list[ScoreObservation]:
    return [one for one in observations if one.level == level]
