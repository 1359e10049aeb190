"""Summary of a run corrected by human labels: levels, bands, Overall and G, stratified over levels and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.stats.corrected import AnswerCell, CorrectedRate, LabelledLevel, rate_of_levels
from formalimg.stats.generalizability import generalizability_interval, held_level, validate_epsilon
from formalimg.stats.intervals import EffectiveCount, validate_confidence
from formalimg.stats.observations import Generalizability, Observation, tally
from formalimg.stats.summary import all_levels, validate_bands


class LabelledObservation(NamedTuple):
    """The judge's verdict on one image, and that of people where they labelled it; None for unscored or unlabelled."""

    item: str
    level: int
    passed: bool | None
    human: bool | None = None


class CorrectedSummary(NamedTuple):
    """Results of a run corrected by human labels; None where labels are lacking.

    Attributes:
        levels: the corrected rate of each level.
        overall: of all images.
        bands: the mean of the corrected rates of the levels of each band.
        generalizability: G_ε by the corrected rates.
        labels: how many labels were used; those of images without a verdict of the judge are not.
        confidence: of all intervals.
    """

    levels: Mapping[int, CorrectedRate | None]
    overall: CorrectedRate | None
    bands: Mapping[str, CorrectedRate | None]
    generalizability: Generalizability | None
    labels: int
    confidence: float


def summarize_corrected(
    observations: Iterable[LabelledObservation],
    *,
    bands: Mapping[str, Sequence[int]],
    epsilon: float | None,
    confidence: float = 0.95,
) -> CorrectedSummary:
    """Return the results of a run, corrected by human labels.

    Labels may be drawn with different probabilities by level and answer of the judge, at random within each such cell.

    Args:
        observations: one for each image, in any order; several for one item are its samples.
        bands: groups of levels whose rates are averaged.
        epsilon: the rate to hold for G_ε; None to skip G_ε.
        confidence: of all intervals.

    Raises:
        FormalimgError: if an observation or an argument is invalid.
    """
    validate_confidence(confidence)
    chosen = validate_bands(bands)
    seen = list(observations)
    tally(Observation(one.item, one.level, one.passed) for one in seen)
    for one in seen:
        if one.human not in (True, False, None):
            raise FormalimgError(f"the label of item {one.item!r} is {one.human!r}: give True, False or None")
    scored = [one for one in seen if one.passed is not None]
    levels = sorted({one.level for one in seen})
    cells = {level: (_cell(scored, level, True), _cell(scored, level, False)) for level in levels}
    images = {level: yes.images + no.images for level, (yes, no) in cells.items()}

    def combined(weights: Mapping[int, float]) -> CorrectedRate | None:
        parts = [LabelledLevel(weight, *cells[level]) for level, weight in weights.items()]
        if not parts or not any(yes.labels + no.labels for _, yes, no in parts):
            return None
        return rate_of_levels(parts, confidence)

    rates = {level: combined({level: 1.0}) if images[level] else None for level in levels}
    total = sum(images.values())
    labels = sum(one.human is not None for one in scored)
    return CorrectedSummary(
        rates,
        combined({level: images[level] / total for level in levels if images[level]}),
        {
            name: combined(dict.fromkeys(those, 1 / len(those))) if all(images.get(n) for n in those) else None
            for name, those in chosen.items()
        },
        None if epsilon is None else _generalizability(epsilon, rates, chosen, confidence),
        labels,
        confidence,
    )


def _cell(scored: Sequence[LabelledObservation], level: int, passed: bool) -> AnswerCell:
    here = [one.human for one in scored if one.level == level and one.passed == passed]
    return AnswerCell(len(here), sum(human is not None for human in here), sum(human is True for human in here))


def _generalizability(
    epsilon: float,
    rates: Mapping[int, CorrectedRate | None],
    bands: Mapping[str, Sequence[int]],
    confidence: float,
) -> Generalizability:
    validate_epsilon(epsilon)
    found = {level: rates.get(level) for level in all_levels(rates, bands)}
    value = held_level({level: None if rate is None else rate.estimate for level, rate in found.items()}, epsilon)
    if value is None:
        return Generalizability(epsilon, None, None, None)
    counts = {
        level: None if rate is None else EffectiveCount(rate.estimate * rate.effective_labels, rate.effective_labels)
        for level, rate in found.items()
    }
    low, high = generalizability_interval(counts, epsilon, confidence)
    return Generalizability(epsilon, value, low, high)
