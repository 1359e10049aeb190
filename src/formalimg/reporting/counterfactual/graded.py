"""The scores of a run of CF-World: as the judge gave them, and as they count."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg.analysis import counterfactual_specs, image_score
from formalimg.reporting.reading import GradedImage, HowCounted, SeenImage
from formalimg.runs import RunRecord
from formalimg.stats import Gate, ScoreObservation, apply_gate, gates
from formalimg.suites import Suite

GATE_UNKNOWN = "gate unknown"
NO_FACTUAL = "level 1 is not part of the run"
"""Why an image does not count although it has a score."""

WHY_NOT_COUNTED = {
    GATE_UNKNOWN: "the factual image of the group has no score",
    NO_FACTUAL: "so nobody knows whether the gate is open; go on with all levels",
}
"""What there is to say about these reasons."""

NO_QUESTIONS = "no questions"
"""Why nobody can score the images of an item."""


def graded_images(
    run: RunRecord, images: Sequence[SeenImage], suite: Suite, how: HowCounted
) -> tuple[GradedImage, ...]:
    """The images of a run with their groups and scores, in the order of the run."""
    specs = counterfactual_specs(run)
    seen = [
        ScoreObservation(
            specs[one.item].group,
            one.level,
            one.sample,
            None if one.score is None else image_score(run, one.item, one.score, one.parts, how.profile),
        )
        for one in images
    ]
    threshold = threshold_of(suite, how)
    before: Sequence[Gate] = ["open"] * len(seen)
    counting = seen
    if threshold is not None:
        before = gates(seen, threshold, profile=how.profile)
        counting = apply_gate(seen, threshold, profile=how.profile)
    return tuple(
        GradedImage(
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
        for one, raw, counts, gate in zip(images, seen, counting, before, strict=True)
    )


def threshold_of(suite: Suite, how: HowCounted) -> float | None:
    """The score that opens the gate of a group; None for suites without a gate."""
    return how.threshold if has_gate(suite) else None


def has_gate(suite: Suite) -> bool:
    """Do factual images decide whether others count? Those of CF-World do; its probes have no gate."""
    return suite.kind == "counterfactual" and bool(suite.bands)


def _why(image: SeenImage, score: float | None, gate: Gate, has_questions: bool) -> str:
    if score is not None:
        return NO_FACTUAL if gate == "not in the run" else GATE_UNKNOWN
    return image.reason if has_questions else NO_QUESTIONS
