"""Diagnosis of failures in counterfactual worlds by the probes of CF-World (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

from formalimg.benchmarks.cfworld.run_scores import group_scores
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


class ContrastSide(NamedTuple):
    """The mean score of one side of a contrast."""

    value: float | None = None  # the mean over images; None if there are none
    interval: Interval | None = None  # its bootstrap interval over groups
    scored: int = 0  # how many images have a score that counts
    expected: int = 0  # how many images there were to be


class Contrast(NamedTuple):
    """The score difference between two kinds of images, over the groups with scores of both kinds."""

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


class _Settings(NamedTuple):
    """Settings for computing, gating and comparing scores."""

    threshold: float
    profile: ScoreProfile
    confidence: float
    resamples: int
    seed: int


def _build_contrast(
    first: Sequence[ScoreObservation], second: Sequence[ScoreObservation], settings: _Settings
) -> Contrast:
    """Return the contrast between two kinds of images, paired by group and ignoring levels and gates."""
    first_means, second_means = _group_means(first), _group_means(second)
    groups = sorted({image.group for image in (*first, *second)})
    paired = first_means.keys() & second_means.keys()
    observations = [
        image._replace(level=level)
        for level, images in ((1, first), (2, second))
        for image in images
        if image.group in paired
    ]
    _, _, confidence, resamples, seed = settings
    difference = score_difference(observations, confidence=confidence)
    levels = summarize_scores(
        observations, threshold=None, confidence=confidence, resamples=resamples, seed=seed
    ).levels
    first_side, second_side = (
        ContrastSide(*levels[level][:4]) if level in levels else ContrastSide() for level in (1, 2)
    )
    return Contrast(
        first_side,
        second_side,
        difference.value,
        difference.interval,
        len(paired),
        sum(second_means[group] > first_means[group] for group in paired),
        sum(second_means[group] < first_means[group] for group in paired),
        tuple(group for group in groups if group in first_means and group not in paired),
        tuple(group for group in groups if group in second_means and group not in paired),
        tuple(group for group in groups if group not in first_means and group not in second_means),
    )


def _group_means(observations: Sequence[ScoreObservation]) -> dict[str, float]:
    scores: dict[str, list[float]] = {}
    for image in observations:
        if image.score is not None:
            scores.setdefault(image.group, []).append(image.score)
    return {group: round(fsum(values) / len(values), 12) for group, values in scores.items()}


@dataclass(frozen=True)
class LexicalProbe:
    """The lexical probe: explicit prompts of CF-World with the outcome named and with it described."""

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
    """Run the probes of CF-World on one or more models.

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
    settings = _Settings(threshold, profile, confidence, resamples, seed)
    by_model = _group_by_model(runs, model)
    diagnoses = [_diagnose_model(name, by_model, settings) for name in by_model]
    if not any(result.rules or result.attributes or result.lexical for result in diagnoses):
        raise FormalimgError(
            f"there is nothing to compare: name runs of {CF_WORLD_RULES} or {CF_WORLD_ATTRIBUTES}, or of both "
            f"{CF_WORLD} and {CF_WORLD_DENOMINALISED} by the same model; --as NAME says that they are"
        )
    return diagnoses


def _group_by_model(runs: Sequence[RunRecord], model: str | None) -> dict[str, dict[str, RunRecord]]:
    by_model: dict[str, dict[str, RunRecord]] = {}
    for run in runs:
        suite, name = run.manifest.suite, model or run.manifest.model.name
        if suite not in CF_WORLD_SUITES:
            raise FormalimgError(f"{run.folder} is a run of {suite}: name runs of {', '.join(CF_WORLD_SUITES)}")
        by_suite = by_model.setdefault(name, {})
        if suite in by_suite:
            raise FormalimgError(
                f"{by_suite[suite].folder} and {run.folder} are both runs of {suite} by {name}: name one"
            )
        by_suite[suite] = run
    return by_model


def _diagnose_model(name: str, by_model: Mapping[str, Mapping[str, RunRecord]], settings: _Settings) -> Diagnosis:
    runs = by_model[name]
    judges = {suite: one_judge([runs[suite]]) for suite in CF_WORLD_SUITES if suite in runs}
    observations = {
        suite: [
            ScoreObservation(image.group, image.level, image.sample, image.score)
            for image in group_scores(runs[suite], settings.profile)
        ]
        for suite in judges
    }

    def contrast(suite: str) -> Contrast | None:
        if suite not in observations:
            return None
        return _build_contrast(_of_level(1, observations[suite]), _of_level(2, observations[suite]), settings)

    lexical = None
    if CF_WORLD in observations and CF_WORLD_DENOMINALISED in observations:
        lexical = _probe_names(observations[CF_WORLD], observations[CF_WORLD_DENOMINALISED], settings)
    return Diagnosis(
        name,
        {suite: runs[suite].folder.name for suite in judges},
        judges,
        contrast(CF_WORLD_RULES),
        contrast(CF_WORLD_ATTRIBUTES),
        lexical,
        tuple(_comparison_notes(runs, [others for model, others in by_model.items() if model != name])),
        settings.threshold,
        settings.profile,
        settings.confidence,
    )


def _probe_names(
    main: Sequence[ScoreObservation], described: Sequence[ScoreObservation], settings: _Settings
) -> LexicalProbe:
    """Return the lexical probe, with both sides gated by the factual images of the main run."""
    factual, named = _of_level(1, main), _of_level(2, main)
    threshold, profile, *_ = settings
    gated = [_of_level(2, apply_gate([*factual, *side], threshold, profile=profile)) for side in (named, described)]
    images = [*named, *described]
    gates = gate_states([*factual, *images], threshold, profile=profile)[len(factual) :]
    states = list(zip(images, gates, strict=True))
    closed = {image.group for image, gate in states if gate == "closed" and image.score is not None}
    unknown = {image.group for image in images} - {image.group for image, gate in states if gate in ("open", "closed")}
    return LexicalProbe(
        _build_contrast(gated[0], gated[1], settings),
        _build_contrast(named, described, settings),
        tuple(sorted(closed)),
        tuple(sorted(unknown)),
    )


def _of_level(level: int, observations: Sequence[ScoreObservation]) -> list[ScoreObservation]:
    return [image for image in observations if image.level == level]


def _comparison_notes(runs: Mapping[str, RunRecord], others: Sequence[Mapping[str, RunRecord]]) -> Iterator[str]:
    """Yield caveats about differences between the two runs of the lexical probe."""
    if CF_WORLD not in runs or CF_WORLD_DENOMINALISED not in runs:
        for suite, missing in ((CF_WORLD, CF_WORLD_DENOMINALISED), (CF_WORLD_DENOMINALISED, CF_WORLD)):
            if suite in runs:
                elsewhere = [by_suite[missing].folder.name for by_suite in others if missing in by_suite]
                hint = f" (if {' or '.join(elsewhere)} is by the same model, say so: --as NAME)" if elsewhere else ""
                yield f"no run of {missing} to compare {runs[suite].folder.name} with{hint}"
        return
    run, other = runs[CF_WORLD], runs[CF_WORLD_DENOMINALISED]
    judges = one_judge([run]), one_judge([other])
    if judges[0].name != judges[1].name:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name} and {other.folder} by {judges[1].name}: their scores cannot "
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
        if value(run.manifest) != value(other.manifest):
            yield f"{run.folder.name} and {other.folder.name} differ in the {aspect}"
