"""Gate a new run against a baseline: comparability checks, the decision, and its log line and record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from statistics import variance
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.reports.comparison import compare
from formalimg.reports.notes import setting_differences
from formalimg.reports.paired_runs import RunPair
from formalimg.reports.run_numbers import same_items
from formalimg.reports.tables.format import count_noun, format_interval, format_value
from formalimg.runs.looks import GateDesign, read_gate_looks, take_gate_look
from formalimg.runs.manifest import judge_names
from formalimg.runs.plan import judge_key
from formalimg.stats.observations import Interval
from formalimg.stats.sequential_pairs import ALPHA, GateDecision, decide_gate
from formalimg.types import RunRecord

_EXIT_CODES = {"pass": 0, "worse": 1, "cannot tell": 2}
_SCHEMA = 1  # The version of the record that pipelines read


@dataclass(frozen=True)
class Gate:
    """The result of a gate."""

    new: str  # the names of the runs, as the user gave them
    base: str
    suite: str  # the name of their suite
    pair: RunPair  # the comparison of the two runs
    decision: GateDecision  # the decision
    missing: int  # the number of images without a verdict, of both runs on their common items
    # how many images of each item would tell, instead of more items; None if no number would
    samples_per_item: int | None
    look: int | None  # the number of this look, from 1; None for a gate that looks once
    looks: int | None  # the number of planned looks; None for a gate that looks once
    notes: tuple[str, ...]  # what else a reader should know

    @property
    def exit_code(self) -> int:
        """The exit code: 0 for a pass, 1 for a worse run, 2 for an undecided gate."""
        return _EXIT_CODES[self.decision.outcome]

    @property
    def _unit(self) -> str:
        return "labelled item" if self.pair.is_by_people else "item"

    def line(self) -> str:
        """Return the decision as a single line for a log."""
        decision = self.decision
        difference = format_value(decision.difference, "points")
        bounds = format_interval(Interval(decision.low, decision.high), "points")
        over = f" over {self.looks} looks" if self.looks else ""
        look = f", look {self.look} of {self.looks}" if self.looks else ""
        text = (
            f"gate: {decision.outcome}: {self.new} − {self.base} = {difference} points by {self.pair.by} "
            f"({bounds}, one-sided {100 * (1 - ALPHA):g} %{over}), margin {100 * decision.margin:g}, "
            f"{count_noun(decision.items, self._unit)}{look}"
        )
        return "; ".join([text, *self._remarks()])

    def record(self) -> dict[str, Any]:
        """Return the decision as a record for a pipeline, with differences in percentage points."""
        decision = self.decision
        return {
            "schema": _SCHEMA,
            "gate": decision.outcome,
            "exit_code": self.exit_code,
            "new": self.new,
            "base": self.base,
            "suite": self.suite,
            "number": self.pair.number,
            "by": self.pair.by,
            "difference": _to_points(decision.difference),
            "low": _to_points(decision.low),
            "high": _to_points(decision.high),
            "confidence": 1 - ALPHA,
            "margin": _to_points(decision.margin),
            "items": decision.items,
            "missing": self.missing,
            "worse_than_base": decision.high < 0,
            "more_items": decision.more_items,
            "samples_per_item": self.samples_per_item,
            "look": self.look,
            "looks": self.looks,
            "notes": list(self.notes),
        }

    def _remarks(self) -> Iterator[str]:
        decision = self.decision
        if decision.high < 0 and decision.outcome == "pass":
            yield f"worse than {self.base}, but within the margin"
        if decision.outcome != "cannot tell":
            return
        if decision.high < 0:
            yield f"worse than {self.base}, by more or less than the margin"
        if decision.is_open:
            yield f"{count_noun(self.missing, 'missing verdict')} can decide: resume the runs, or judge them again"
        elif decision.more_items is None:
            yield "the difference is too close to the margin: no realistic number of items will tell"
        else:
            samples = f", or {self.samples_per_item:,} images of each," if self.samples_per_item else ""
            yield f"about {count_noun(decision.more_items, f'more {self._unit}')}{samples} would tell"
        if self.looks and self.look == self.looks:
            yield "no look is left"


def decide_runs(
    new: RunRecord,
    base: RunRecord,
    margin: float,
    *,
    names: tuple[str, str],
    labels: Mapping[Path, RunLabels] | None = None,
    looks: int | None = None,
) -> Gate:
    """Decide whether a run is no worse than a baseline by more than a margin."""
    require_comparable(new, base)
    (section,) = compare([new, base], baseline=base.folder, labels=labels).sections
    (pair,) = section.pairs
    if labels and not pair.is_by_people:
        raise FormalimgError(
            "the labels do not correct the difference: label three items or more in both runs, as "
            "`formalimg annotate NEW BASE --for-correction` draws them, or leave the labels out"
        )

    def decide(alpha: float) -> GateDecision:
        return decide_gate(pair.found, margin, worst=pair.worst, best=pair.best, alpha=alpha)

    owner, number = base.manifest.image_owner, None
    if looks is None:
        if any(look.design.against == owner for look in read_gate_looks(new.folder)):
            raise FormalimgError(f"{names[0]} has looks of a gate with several looks: give --looks as then")
        decision = decide(ALPHA)
    else:
        decide(ALPHA)  # what cannot be decided is no look
        by = "people" if pair.is_by_people else judge_key(new.manifest.judge) if new.manifest.judge else ""
        design = GateDesign(owner, by, pair.number, margin, looks)
        look = take_gate_look(new.folder, design, pair.found.items, decide)
        decision, number = look.decision, look.number
    shared = new.items.keys() & base.items.keys()
    missing = sum(bool(image.reason) for run in (new, base) for image in run.outcomes() if image.item in shared)
    samples = None if pair.is_by_people or section.suite.has_scores else _samples_to_tell(new, base, decision)
    notes = [*setting_differences(section.rows)]
    if len(base.items) > len(new.items):
        counts = f"{len(new.items):,} of the {len(base.items):,} items"
        notes.insert(0, f"{names[0]} has {counts} of {names[1]}: they are compared.")
    return Gate(*names, new.manifest.suite, pair, decision, missing, samples, number, looks, tuple(notes))


def require_comparable(new: RunRecord, base: RunRecord) -> None:
    """Raise an error if the difference between two runs would not be due to their models."""
    first, second = new.manifest, base.manifest
    if new.folder.resolve() == base.folder.resolve():
        raise FormalimgError("NEW and BASE are the same run: give the run of the baseline with --against")
    if first.suite != second.suite:
        raise FormalimgError(f"the runs are of {first.suite} and {second.suite}: compare runs of one suite")
    if first.adaptive or second.adaptive:
        raise FormalimgError("an adaptive run ends where its own looks say so: give plain runs, and --looks")
    if first.judge is None or second.judge is None:
        raise FormalimgError("a run has no verdicts: judge both runs with `formalimg judge`")
    if judge_key(first.judge) != judge_key(second.judge):
        judges = " and ".join(judge_names([first.judge, second.judge]))
        raise FormalimgError(f"the runs have different judges ({judges}): judge both with one, by the same settings")
    different = len(new.items) - len(same_items([new, base]))
    if different:
        raise FormalimgError(
            f"{count_noun(different, 'item')} of the new run are not in the baseline, or ask for something else there: "
            "run both over the same items"
        )


def _samples_to_tell(new: RunRecord, base: RunRecord, decision: GateDecision) -> int | None:
    """Return the images per item that a decision needs, or None if items have too few images for an estimate."""
    first, second = (_passes_by_item(run) for run in (new, base))
    pairs = [(first[item], second[item]) for item in first.keys() & second.keys()]
    fewest = min((len(images) for pair in pairs for images in pair), default=0)
    if fewest < 2 or len(pairs) < 2:
        return None
    spread = variance(
        [fsum(images) / len(images) - fsum(base_images) / len(base_images) for images, base_images in pairs]
    )
    noise = fsum(variance(images) / len(images) for pair in pairs for images in pair) / len(pairs)
    return decision.samples(fewest, min(1.0, noise / spread)) if spread else None


def _passes_by_item(run: RunRecord) -> dict[str, list[float]]:
    passes: dict[str, list[float]] = {}
    for image in run.outcomes():
        if image.passed is not None:
            passes.setdefault(image.item, []).append(float(image.passed))
    return passes


def _to_points(value: float) -> float:
    return round(100 * value, 6)
