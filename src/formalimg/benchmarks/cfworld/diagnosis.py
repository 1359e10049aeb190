"""Diagnosis of failures in counterfactual worlds by the probes of CF-World (section 5 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from formalimg.benchmarks.cfworld.run_scores import group_scores
from formalimg.benchmarks.cfworld.scores import apply_gate, gate_states, score_difference, summarize_scores
from formalimg.benchmarks.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CF_WORLD_SUITES,
)
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rated_images import one_judge
from formalimg.human_eval.agreement.study_tables import (
    StudyFormat,
    build_table,
    count_columns,
    export_json,
    render_study,
    study_csv_text,
)
from formalimg.reports.tables.format import count_noun
from formalimg.reports.tables.model import Column, Number
from formalimg.reports.tables.terminal import render_terminal
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.stats.observations import Interval, Profile, ScoreObservation
from formalimg.types import RunRecord, Table

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable


class ContrastSide(NamedTuple):
    """The mean score of one side of a contrast."""

    value: float | None = None  # over images; None if there are none
    interval: Interval | None = None  # by bootstrap over groups
    scored: int = 0  # number of images with a score that counts
    expected: int = 0  # number of images that were to be scored


class Contrast(NamedTuple):
    """The score difference between two kinds of images, over the groups that have scores for both kinds."""

    first: ContrastSide
    second: ContrastSide
    difference: float | None  # the second mean minus the first, over groups of equal weight
    interval: Interval | None
    groups: int  # number of groups with scores of both kinds
    higher: int  # in how many of them the second kind scores higher, or lower
    lower: int
    only_first: tuple[str, ...]  # the groups that have scores of one kind only, or of none, by name
    only_second: tuple[str, ...]
    unscored: tuple[str, ...]


@dataclass(frozen=True)
class LexicalProbe:
    """The lexical probe: explicit prompts of CF-World with the outcome named and with it described."""

    gated: Contrast  # 0 where the group's factual image, in the run of cf-world, misses the threshold
    ungated: Contrast
    closed: tuple[str, ...]  # the groups whose gate is closed for at least one image, by name
    unknown: tuple[str, ...]  # the groups without a factual image or score, by name: left out of `gated`


@dataclass(frozen=True)
class Diagnosis:
    """The results of the probes for one model."""

    model: str
    runs: Mapping[str, str]  # by suite
    judges: Mapping[str, Identity]  # by suite
    rules: Contrast | None  # the same rules of the world, as they are and changed; None without a run of cf-world-rules
    attributes: Contrast | None  # pairs of objects often seen together, and rarely; None without such a run
    lexical: LexicalProbe | None  # explicit prompts with and without names; None without runs of both suites
    notes: tuple[str, ...]  # caveats of the comparison, one line each
    threshold: float  # the score that opens the gate
    profile: Profile
    confidence: float


_Contrasting: TypeAlias = Callable[[Sequence[ScoreObservation], Sequence[ScoreObservation]], Contrast]


def diagnose(
    runs: Sequence[RunRecord],
    *,
    model: str | None = None,
    threshold: float = 0.5,
    profile: Profile = "paper",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[Diagnosis]:
    """Diagnose one or more models by the probes of CF-World, in the order in which they first appear in `runs`.

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
    """
    by_model: dict[str, dict[str, RunRecord]] = {}
    for run in runs:
        suite, name = run.manifest.suite, model or run.manifest.model.name
        if suite not in CF_WORLD_SUITES:
            raise FormalimgError(f"{run.folder} is a run of {suite}: name runs of {', '.join(CF_WORLD_SUITES)}")
        by_suite = by_model.setdefault(name, {})
        if suite in by_suite:
            folder = by_suite[suite].folder
            raise FormalimgError(f"{folder} and {run.folder} are both runs of {suite} by {name}: name one")
        by_suite[suite] = run
    contrast = partial(_build_contrast, confidence=confidence, resamples=resamples, seed=seed)
    diagnoses = []
    for name, by_suite in by_model.items():
        judges = {suite: one_judge([by_suite[suite]]) for suite in CF_WORLD_SUITES if suite in by_suite}
        images = {
            suite: [
                ScoreObservation(image.group, image.level, image.sample, image.score)
                for image in group_scores(by_suite[suite], profile)
            ]
            for suite in judges
        }
        rules, attributes = (
            contrast(_of_level(1, images[suite]), _of_level(2, images[suite])) if suite in images else None
            for suite in (CF_WORLD_RULES, CF_WORLD_ATTRIBUTES)
        )
        lexical = None
        if CF_WORLD in images and CF_WORLD_DENOMINALISED in images:
            lexical = _probe_names(images[CF_WORLD], images[CF_WORLD_DENOMINALISED], threshold, profile, contrast)
        elsewhere = [suites for model_name, suites in by_model.items() if model_name != name]
        diagnoses.append(
            Diagnosis(
                name,
                {suite: by_suite[suite].folder.name for suite in judges},
                judges,
                rules,
                attributes,
                lexical,
                tuple(_comparison_notes(by_suite, elsewhere)),
                threshold,
                profile,
                confidence,
            )
        )
    if not any(result.rules or result.attributes or result.lexical for result in diagnoses):
        raise FormalimgError(
            f"nothing to compare: name runs of {CF_WORLD_RULES} or {CF_WORLD_ATTRIBUTES}, or of both "
            f"{CF_WORLD} and {CF_WORLD_DENOMINALISED} by the same model; --as NAME says that they are"
        )
    return diagnoses


def _build_contrast(
    first: Sequence[ScoreObservation],
    second: Sequence[ScoreObservation],
    *,
    confidence: float,
    resamples: int,
    seed: int,
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


def _of_level(level: int, observations: Sequence[ScoreObservation]) -> list[ScoreObservation]:
    return [image for image in observations if image.level == level]


def _probe_names(
    main: Sequence[ScoreObservation],
    described: Sequence[ScoreObservation],
    threshold: float,
    profile: Profile,
    contrast: _Contrasting,
) -> LexicalProbe:
    """Return the lexical probe, with both sides gated by the factual images of the main run."""
    factual, named = _of_level(1, main), _of_level(2, main)
    gated = (_of_level(2, apply_gate([*factual, *side], threshold, profile=profile)) for side in (named, described))
    images = [*named, *described]
    gates = gate_states([*factual, *images], threshold, profile=profile)[len(factual) :]
    states = list(zip(images, gates, strict=True))
    closed = {image.group for image, gate in states if gate == "closed" and image.score is not None}
    unknown = {image.group for image in images} - {image.group for image, gate in states if gate in ("open", "closed")}
    return LexicalProbe(contrast(*gated), contrast(named, described), tuple(sorted(closed)), tuple(sorted(unknown)))


_ASPECTS: Mapping[str, Callable[[RunManifest], object]] = {
    "judge's settings": lambda manifest: manifest.judge and dict(manifest.judge.settings),
    "model's settings": lambda manifest: dict(manifest.model.settings),
    "size": lambda manifest: manifest.size,
    "condition": lambda manifest: manifest.condition,
    "seed": lambda manifest: manifest.seed,
    "samples": lambda manifest: manifest.samples,
}


def _comparison_notes(runs: Mapping[str, RunRecord], elsewhere: Sequence[Mapping[str, RunRecord]]) -> Iterator[str]:
    """Yield caveats about differences between the two runs of the lexical probe."""
    if CF_WORLD not in runs or CF_WORLD_DENOMINALISED not in runs:
        for suite, missing in ((CF_WORLD, CF_WORLD_DENOMINALISED), (CF_WORLD_DENOMINALISED, CF_WORLD)):
            if suite in runs:
                candidates = [by_suite[missing].folder.name for by_suite in elsewhere if missing in by_suite]
                hint = f" (if {' or '.join(candidates)} is by the same model, say so: --as NAME)" if candidates else ""
                yield f"no run of {missing} to compare {runs[suite].folder.name} with{hint}"
        return
    run, described = runs[CF_WORLD], runs[CF_WORLD_DENOMINALISED]
    judge, second_judge = one_judge([run]), one_judge([described])
    if judge.name != second_judge.name:
        raise FormalimgError(
            f"{run.folder} was judged by {judge.name} and {described.folder} by {second_judge.name}: their scores "
            "cannot be compared; let the same judge look at both, and name it with --judge"
        )
    for aspect, value in _ASPECTS.items():
        if value(run.manifest) != value(described.manifest):
            yield f"{run.folder.name} and {described.folder.name} differ in the {aspect}"


# --- tables, CSV and JSON

_CSV_COLUMNS = (
    *("model", "probe", "gate", "first", "first_low", "first_high", "second", "second_low", "second_high"),
    *("difference", "difference_low", "difference_high", "groups", "higher", "lower"),
    *("only_first", "only_second", "unscored"),
)
_MAX_NAMES = 5


class _ProbeRow(NamedTuple):
    model: str
    probe: str
    gate: str
    contrast: Contrast


def diagnosis_text(diagnoses: Sequence[Diagnosis], format: StudyFormat) -> str:  # noqa: A002  # what users call it
    """Return diagnoses as text in the given format."""
    return render_study(
        format,
        lambda: _build_tables(diagnoses),
        lambda: study_csv_text(_CSV_COLUMNS, map(_csv_row, _probe_rows(diagnoses))),
        lambda: {"models": [export_json(diagnosis) for diagnosis in diagnoses]},
    )


def diagnosis_table(diagnoses: Sequence[Diagnosis]) -> ConsoleRenderable:
    """Return diagnoses as tables for `rich`."""
    return render_terminal(_build_tables(diagnoses))


def _probe_rows(diagnoses: Sequence[Diagnosis]) -> list[_ProbeRow]:
    rows = [_ProbeRow(result.model, "rules", "", result.rules) for result in diagnoses if result.rules]
    rows += [_ProbeRow(result.model, "attributes", "", result.attributes) for result in diagnoses if result.attributes]
    for result in diagnoses:
        if result.lexical:
            rows.append(_ProbeRow(result.model, "names", "gated", result.lexical.gated))
            rows.append(_ProbeRow(result.model, "names", "ungated", result.lexical.ungated))
    return rows


def _build_tables(diagnoses: Sequence[Diagnosis]) -> Iterator[Table]:
    rows, first = _probe_rows(diagnoses), diagnoses[0]
    notes = [f"{diagnosis.model}: {note}." for diagnosis in diagnoses for note in diagnosis.notes]
    weights = " Each question has its full weight, as in the published code." * (first.profile != "paper")
    for probe, title, heads, unit in (
        ("rules", "Rules of the world: as they are, and changed", ("factual", "changed"), "rule"),
        ("attributes", "Objects seen together: often, and rarely", ("common", "rare"), "pair"),
        ("names", "Explicit prompts (L2): with names, and without", ("L2", "de-nominalised"), "group"),
    ):
        chosen = [row for row in rows if row.probe == probe]
        if not chosen:
            continue
        gates = ("gate",) if probe == "names" else ()
        note = [
            f"Mean scores, with {100 * first.confidence:g} % intervals. Differences are means over {unit}s, each with "
            f"itself.{weights}",
            *notes,
            *_left_out_notes(chosen, heads, unit),
            *(_gate_notes(diagnoses) if gates else ()),
        ]
        notes = []  # said above the first table only
        yield build_table(
            title,
            " ".join(note),
            (
                *("model", *gates),
                *(Column(head, "score") for head in heads),
                Column("difference", "difference"),
                *count_columns(f"{unit}s", "higher", "lower"),
            ),
            (
                (
                    row.model,
                    *((row.gate,) if gates else ()),
                    *(Number(side.value, side.interval) for side in (row.contrast.first, row.contrast.second)),
                    Number(row.contrast.difference if row.contrast.interval else None, row.contrast.interval),
                    *(row.contrast.groups, row.contrast.higher, row.contrast.lower),
                )
                for row in chosen
            ),
            name="probes",
        )


def _left_out_notes(rows: Sequence[_ProbeRow], heads: tuple[str, str], unit: str) -> Iterator[str]:
    for model, _, gate, contrast in rows:
        label = f"{model}, {gate}" if gate else model
        for names, reason in (
            (contrast.only_first, f"only {heads[0]} scored"),
            (contrast.only_second, f"only {heads[1]} scored"),
            (contrast.unscored, "neither scored"),
        ):
            if names:
                yield f"{label}: {count_noun(len(names), unit)} not paired, {reason} ({_first_names(names)})."
        missing = sum(side.expected - side.scored for side in (contrast.first, contrast.second))
        if missing:
            yield f"{label}: of the {unit}s compared, {count_noun(missing, 'image')} unscored."


def _gate_notes(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    for diagnosis in diagnoses:
        if (lexical := diagnosis.lexical) is None:
            continue
        as_code = diagnosis.profile == "official-code"
        yield (
            f"{diagnosis.model}: the gate stands at {diagnosis.threshold:g} and is closed for "
            f"{count_noun(len(lexical.closed), 'group')} ({_first_names(lexical.closed)})"
            f"{', those without a factual score among them' if as_code else ''}."
        )
        if lexical.unknown:
            yield (
                f"{diagnosis.model}: left out of gated, for want of a factual {'image' if as_code else 'score'}: "
                f"{count_noun(len(lexical.unknown), 'group')} ({_first_names(lexical.unknown)})."
            )


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + f" … ({len(names)})" * (len(names) > _MAX_NAMES) or "none"


def _csv_row(row: _ProbeRow) -> dict[str, object]:
    contrast = row.contrast
    cells: dict[str, object] = {"model": row.model, "probe": row.probe, "gate": row.gate}
    cells |= {name: getattr(contrast, name) for name in ("groups", "higher", "lower")}
    cells |= {name: len(getattr(contrast, name)) for name in ("only_first", "only_second", "unscored")}
    for name, value, interval in (
        ("first", contrast.first.value, contrast.first.interval),
        ("second", contrast.second.value, contrast.second.interval),
        ("difference", contrast.difference, contrast.interval),
    ):
        cells[name] = value
        if interval is not None:
            cells |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return cells
