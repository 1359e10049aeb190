"""Diagnosis of failures in counterfactual worlds: the three probes of CF-World (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.image_scores import group_scores
from formalimg.benchmarks.cfworld.scores import ScoreProfile, apply_gate, gate_states
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CF_WORLD_SUITES,
)
from formalimg.benchmarks.cfworld.summary import score_difference, summarize_scores
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import one_judge
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.stats.observations import Interval, ScoreObservation
from formalimg.types import RunRecord

_FIRST, _SECOND = 1, 2


class BootstrapSettings(NamedTuple):
    """How intervals are bootstrapped over groups."""

    confidence: float
    resamples: int
    seed: int


class ContrastSide(NamedTuple):
    """The mean score of one side of a contrast."""

    value: float | None  # the mean over images; None if there are none
    interval: Interval | None  # its bootstrap interval over groups
    scored: int  # how many images have a score that counts
    expected: int  # how many images there were to be


class Contrast(NamedTuple):
    """The difference in score of two kinds of images, over the groups (or rules, or pairs) with scores of both."""

    first: ContrastSide  # the mean scores of the images of these groups
    second: ContrastSide
    # the mean over these groups of the second kind's mean minus the first's. Groups are equally weighted, so it is
    # not quite the difference of the means where they have unequally many images
    difference: float | None
    interval: Interval | None  # its interval over groups
    groups: int  # how many groups have scores of both
    higher: int  # in how many of them the second kind scores higher, or lower
    lower: int
    only_first: tuple[str, ...]  # the groups that have scores of one kind only, or of none, by name
    only_second: tuple[str, ...]
    unscored: tuple[str, ...]


def contrast(
    first: Sequence[ScoreObservation], second: Sequence[ScoreObservation], bootstrap: BootstrapSettings
) -> Contrast:
    """Return how two kinds of images differ, group by group; their levels and gates are ignored."""
    means = _means(first), _means(second)
    groups = sorted({one.group for one in (*first, *second)})
    paired = frozenset(group for group in groups if all(group in side for side in means))
    seen = [one._replace(level=_FIRST) for one in first if one.group in paired]
    seen += [one._replace(level=_SECOND) for one in second if one.group in paired]
    confidence, resamples, seed = bootstrap
    found = score_difference(seen, first=_FIRST, second=_SECOND, confidence=confidence)
    levels = summarize_scores(seen, threshold=None, confidence=confidence, resamples=resamples, seed=seed).levels

    def side(level: int) -> ContrastSide:
        mean = levels.get(level)
        return (
            ContrastSide(mean.value, mean.interval, mean.scored, mean.expected)
            if mean
            else ContrastSide(None, None, 0, 0)
        )

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
    """Return the mean score of each group that has any; rounded, so that equal scores stay equal."""
    scores: dict[str, list[float]] = {}
    for one in observations:
        if one.score is not None:
            scores.setdefault(one.group, []).append(one.score)
    return {group: round(fsum(those) / len(those), 12) for group, those in scores.items()}


_FACTUAL, _COUNTERFACTUAL = 1, 2

Observations: TypeAlias = Sequence[ScoreObservation]


@dataclass(frozen=True)
class LexicalProbe:
    """The lexical probe: explicit prompts of CF-World, and the same without the names of the results."""

    # both as CF-World counts them, 0 where the group's factual image misses the threshold. The gate of both is the
    # factual image of the run of cf-world; where it is unknown, the group is left out here
    gated: Contrast
    ungated: Contrast  # both as the judge scored them
    closed: tuple[str, ...]  # the groups whose gate is closed for at least one image, by name
    # the groups whose gate is unknown, by name: their factual images have no score, or are not in the run at all.
    # Under `official-code` a factual image without a score closes the gate
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The results of the probes for one model."""

    model: str  # the image model
    runs: Mapping[str, str]  # its runs, by suite
    judges: Mapping[str, Identity]  # their judges, by suite
    rules: Contrast | None  # the same rules of the world, as they are and changed; None without a run of cf-world-rules
    # pairs of objects often seen together, and rarely; None without a run of cf-world-attributes
    attributes: Contrast | None
    # explicit prompts with and without names; None without runs of both cf-world and cf-world-denominalised
    lexical: LexicalProbe | None
    notes: tuple[str, ...]  # caveats of the comparison, one line each
    threshold: float  # the score that opens the gate
    profile: ScoreProfile  # the scoring formula
    confidence: float  # of all intervals


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
    """Run the probes of CF-World on one or several models.

    Args:
        runs: runs of cf-world, cf-world-rules, cf-world-attributes and cf-world-denominalised, of each model no more
            than one of a suite.
        model: treat all runs as those of one model of this name, as is needed for images from folders. By default
            runs are grouped by the names of their models.
        threshold: the score of a factual image that opens the gate of its group.
        profile: `official-code` gives each question its full weight, and closes the gate where it is unknown.
        confidence: of all intervals.
        resamples: how many bootstrap samples the intervals take.
        seed: of the bootstrap.

    Returns:
        One diagnosis for each model, in the order in which they first come.

    Raises:
        FormalimgError: if there are other runs, two of the same suite and model, or nothing to compare; or if the
            judges of images that have to be compared differ.
    """
    settings = _DiagnosisSettings(threshold, profile, BootstrapSettings(confidence, resamples, seed))
    by_model = _by_model(runs, model)
    found = [_diagnosis(name, by_model, settings) for name in by_model]
    if not any(it.rules or it.attributes or it.lexical for it in found):
        raise FormalimgError(
            f"there is nothing to compare: name runs of {CF_WORLD_RULES} or {CF_WORLD_ATTRIBUTES}, or of both "
            f"{CF_WORLD} and {CF_WORLD_DENOMINALISED} by the same model; --as NAME says that they are"
        )
    return found


class _DiagnosisSettings(NamedTuple):
    """How scores are gated, computed and compared."""

    threshold: float
    profile: ScoreProfile
    bootstrap: BootstrapSettings


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


def _diagnosis(name: str, by_model: Mapping[str, Mapping[str, RunRecord]], settings: _DiagnosisSettings) -> Diagnosis:
    runs = by_model[name]
    judges = {suite: one_judge([runs[suite]]) for suite in CF_WORLD_SUITES if suite in runs}
    seen = {suite: _observations(runs[suite], settings.profile) for suite in judges}

    def probe(suite: str) -> Contrast | None:
        if suite not in seen:
            return None
        return contrast(_at(_FACTUAL, seen[suite]), _at(_COUNTERFACTUAL, seen[suite]), settings.bootstrap)

    both = CF_WORLD in seen and CF_WORLD_DENOMINALISED in seen
    return Diagnosis(
        name,
        {suite: runs[suite].folder.name for suite in judges},
        judges,
        probe(CF_WORLD_RULES),
        probe(CF_WORLD_ATTRIBUTES),
        _lexical(seen[CF_WORLD], seen[CF_WORLD_DENOMINALISED], settings) if both else None,
        tuple(_notes(runs, [own for other, own in by_model.items() if other != name])),
        settings.threshold,
        settings.profile,
        settings.bootstrap.confidence,
    )


def _lexical(main: Observations, described: Observations, settings: _DiagnosisSettings) -> LexicalProbe:
    """Return the lexical probe; both sides get the same gate, the factual images of the main run."""
    factual, named = _at(_FACTUAL, main), _at(_COUNTERFACTUAL, main)
    threshold, profile, bootstrap = settings
    gated = [
        _at(_COUNTERFACTUAL, apply_gate([*factual, *side], threshold, profile=profile)) for side in (named, described)
    ]
    images = [*named, *described]
    before = gate_states([*factual, *images], threshold, profile=profile)[len(factual) :]
    closed = {one.group for one, gate in zip(images, before, strict=True) if gate == "closed" and one.score is not None}
    known = {one.group for one, gate in zip(images, before, strict=True) if gate in ("open", "closed")}
    return LexicalProbe(
        contrast(gated[0], gated[1], bootstrap),
        contrast(named, described, bootstrap),
        tuple(sorted(closed)),
        tuple(sorted({one.group for one in images} - known)),
    )


def _notes(runs: Mapping[str, RunRecord], others: Sequence[Mapping[str, RunRecord]]) -> Iterator[str]:
    """Yield the differences of the two runs that are compared; all else is compared within one run."""
    if CF_WORLD not in runs or CF_WORLD_DENOMINALISED not in runs:
        for here, there in ((CF_WORLD, CF_WORLD_DENOMINALISED), (CF_WORLD_DENOMINALISED, CF_WORLD)):
            if here in runs:
                elsewhere = [own[there].folder.name for own in others if there in own]
                hint = f" (if {' or '.join(elsewhere)} is by the same model, say so: --as NAME)" if elsewhere else ""
                yield f"no run of {there} to compare {runs[here].folder.name} with{hint}"
        return
    one, other = runs[CF_WORLD], runs[CF_WORLD_DENOMINALISED]
    judges = one_judge([one]), one_judge([other])
    if judges[0].name != judges[1].name:
        raise FormalimgError(
            f"{one.folder} was judged by {judges[0].name} and {other.folder} by {judges[1].name}: their scores cannot "
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
    for aspect, value in aspects.items():
        if value(one.manifest) != value(other.manifest):
            yield f"{one.folder.name} and {other.folder.name} differ in the {aspect}"


def _observations(run: RunRecord, profile: ScoreProfile) -> list[ScoreObservation]:
    return [ScoreObservation(it.group, it.level, it.sample, it.score) for it in group_scores(run, profile)]


def _at(level: int, observations: Observations) -> list[ScoreObservation]:
    return [one for one in observations if one.level == level]
