"""Why models fail in counterfactual worlds: the three probes of CF-World (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from formalimg.analysis.counterfactual_scores import group_scores
from formalimg.analysis.diagnosis_contrast import Contrast, Drawing, contrast
from formalimg.analysis.ratings_places import one_judge
from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunManifest, RunRecord
from formalimg.stats import ScoreObservation, ScoreProfile, apply_gate, gates
from formalimg.suites import CF_WORLD, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED, CF_WORLD_RULES, CF_WORLD_SUITES

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
        attributes: pairs of objects that are often seen together, and rarely; None without a run of cf-world-attributes.
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
