"""The scores of a run of CF-World: as the judge gave them, and as they count."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.reporting.reading import GradedPicture, HowCounted, SeenPicture
from formalimg.runs import RunRecord
from formalimg.stats import Gate, ScoreObservation, apply_gate, gates
from formalimg.analysis import counterfactual_specs, picture_score
from formalimg.suites import Suite

GATE_UNKNOWN = "gate unknown"
NO_FACTUAL = "level 1 is not part of the run"
"""Why a picture does not count although it has a score."""

WHY_NOT_COUNTED = {
    GATE_UNKNOWN: "the factual picture of the group has no score",
    NO_FACTUAL: "so nobody knows whether the gate is open; go on with all levels",
}
"""What there is to say about these reasons."""

NO_QUESTIONS = "no questions"
"""Why nobody can score the pictures of an item."""


def graded_pictures(
    run: RunRecord, pictures: Sequence[SeenPicture], suite: Suite, how: HowCounted
) -> tuple[GradedPicture, ...]:
    """The pictures of a run with their groups and scores, in the order of the run."""
    specs = counterfactual_specs(run)
    seen = [
        ScoreObservation(
            specs[one.item].group,
            one.level,
            one.sample,
            None if one.score is None else picture_score(run, one.item, one.score, one.parts, how.profile),
        )
        for one in pictures
    ]
    threshold = threshold_of(suite, how)
    before: Sequence[Gate] = ["open"] * len(seen)
    counting = seen
    if threshold is not None:
        before = gates(seen, threshold, profile=how.profile)
        counting = apply_gate(seen, threshold, profile=how.profile)
    return tuple(
        GradedPicture(
            one.item,
            raw.group,
            one.level,
            one.sample,
            raw.score,
            counts.score,
            gate == "closed" and raw.score is not None,
            one.parts,
            frozenset(asked.dimension for asked in specs[one.item].questions),
            run.items[one.item].tags,
            "" if counts.score is not None else _why(one, raw.score, gate, bool(specs[one.item].questions)),
        )
        for one, raw, counts, gate in zip(pictures, seen, counting, before, strict=True)
    )


def threshold_of(suite: Suite, how: HowCounted) -> float | None:
    """The score that opens the gate of a group; None for suites without a gate."""
    return how.threshold if has_gate(suite) else None


def has_gate(suite: Suite) -> bool:
    """Do factual pictures decide whether others count? Those of CF-World do; its probes have no gate."""
    return suite.kind == "counterfactual" and bool(suite.bands)


def _why(picture: SeenPicture, score: float | None, gate: Gate, has_questions: bool) -> str:
    if score is not None:
        return NO_FACTUAL if gate == "not in the run" else GATE_UNKNOWN
    return picture.reason if has_questions else NO_QUESTIONS
