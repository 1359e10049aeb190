"""Quality of a judge from its stored observations: dropped boxes, disagreeing clauses, and P(yes).

It does not change verdicts, but shows how far they can be trusted, and adds soft scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from formalimg.judges.base import soft_score
from formalimg.reports.tables.format import count_noun, format_value
from formalimg.runs.reader import Judged
from formalimg.types import Unscored, Verdict

WORRYING_SHARE = 0.05  # From this share of dropped boxes on, commands warn: some stray boxes are normal
# What is in the evidence of verdicts, or of their grounder, if a chat model was asked
_TOLD_BY_CHAT_MODELS = frozenset({"answers", "fulfilled", "served"})
_Key = TypeVar("_Key", int, str)
SOFT_SCORE = "P(yes): the mean probability of yes over the questions of an image, and over images; it decides nothing"


class SoftMean(NamedTuple):
    """A mean of P(yes), and the number of values behind it."""

    value: float
    number: int


def _soft_means(values: Mapping[_Key, Sequence[float]]) -> dict[_Key, SoftMean]:
    return {key: SoftMean(sum(group) / len(group), len(group)) for key, group in sorted(values.items())}


@dataclass
class JudgeQuality:
    """The quality of a judge in one run, accumulated from its observations by `add`."""

    boxes: int = 0  # how many boxes a chat model gave
    dropped: Counter[str] = field(default_factory=Counter)  # those of them whose labels were not asked for, by label
    images_dropped: int = 0  # the number of images whose boxes of such labels were dropped
    images_left_in: int = 0  # the number of images where they were left in, as the published protocol does
    compared: int = 0  # the number of images with a verdict on the whole and one on each clause
    only_whole: int = 0  # those of them where the whole is fulfilled, but a clause does not hold
    only_clauses: int = 0  # those where every clause holds, but the whole is not fulfilled
    questions: int = 0  # the number of parts of verdicts
    # the mean P(yes) of each image that has one, by level; 0 for images that failed by rule
    soft_levels: dict[int, list[float]] = field(default_factory=dict)
    soft_kinds: dict[str, list[float]] = field(default_factory=dict)  # P(yes) of each question, by kind
    # the ids of the models that answered, as far as the provider says, by the number of images
    served: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        """Add the observations stored with an image."""
        verdict = judged.verdict
        grounder = verdict.evidence.get("grounder")
        sources = (verdict.evidence, grounder if isinstance(grounder, Mapping) else {})
        if any(not _TOLD_BY_CHAT_MODELS.isdisjoint(evidence) for evidence in sources):
            self._add_told(verdict)
        if isinstance(verdict, Verdict):
            self.questions += len(verdict.parts)
            soft = 0.0 if "rule" in verdict.evidence else soft_score(verdict)
            if soft is not None:
                self.soft_levels.setdefault(judged.outcome.level, []).append(soft)
            for part in verdict.parts:
                if part.p_yes is not None:
                    self.soft_kinds.setdefault(part.kind, []).append(part.p_yes)

    def _add_told(self, verdict: Verdict | Unscored) -> None:
        # Here, because built-in judges tell nothing of this.
        from formalimg.judges.observations import (
            clause_disagreement,
            count_boxes,
            has_clause_verdicts,
            list_served_models,
        )

        self.served.update(list_served_models(verdict))
        if (boxes := count_boxes(verdict)) is not None:
            self.boxes += boxes.given
            self.dropped.update(box.label for box in boxes.dropped)
            self.images_dropped += bool(boxes.dropped) and not boxes.left_in
            self.images_left_in += bool(boxes.dropped) and boxes.left_in
        if has_clause_verdicts(verdict):
            self.compared += 1
            if clause_disagreement(verdict):
                self.only_whole += bool(verdict.evidence["fulfilled"])
                self.only_clauses += not verdict.evidence["fulfilled"]

    @property
    def dropped_share(self) -> float:
        """The share of boxes whose labels were not requested."""
        return self.dropped.total() / self.boxes if self.boxes else 0.0

    @property
    def disagreements(self) -> int:
        """The number of images in which the overall verdict and the clauses disagree."""
        return self.only_whole + self.only_clauses

    @property
    def answered(self) -> int:
        """The number of questions that have P(yes)."""
        return sum(map(len, self.soft_kinds.values()))

    @property
    def soft_score(self) -> SoftMean | None:
        """The mean P(yes) over the images that have it, or None if no question has it."""
        count = sum(map(len, self.soft_levels.values()))
        total = sum(map(sum, self.soft_levels.values()))
        return SoftMean(total / count, count) if self.soft_kinds and count else None

    @property
    def soft_by_level(self) -> Mapping[int, SoftMean]:
        """The mean P(yes) over images, by level."""
        return _soft_means(self.soft_levels) if self.soft_kinds else {}

    @property
    def soft_by_kind(self) -> Mapping[str, SoftMean]:
        """The mean P(yes) over questions, by kind."""
        return _soft_means(self.soft_kinds)


def quality_remarks(quality: JudgeQuality, *, wants_logprobs: bool) -> Iterator[str]:
    """Yield remarks on the quality of a judge that readers of its verdicts should know."""
    if quality.dropped:
        from formalimg.judges.observations import other_labels_text

        yield (
            f"{quality.dropped.total():,} of {quality.boxes:,} box{'es' * (quality.boxes != 1)} of the judge "
            f"({format_value(quality.dropped_share, 'percent')} %) have labels that were not asked for, in "
            f"{count_noun(quality.images_dropped + quality.images_left_in, 'image')}, and "
            f"{'were dropped' if quality.images_dropped else 'were left in, as published'}: "
            f"{other_labels_text(quality.dropped)}"
        )
    if quality.disagreements:
        counts = {
            "where the whole is fulfilled but a clause fails": quality.only_whole,
            "where every clause holds but the whole is not fulfilled": quality.only_clauses,
        }
        yield (
            f"the judge's verdict on the whole and its clauses disagree in {quality.disagreements:,} of "
            f"{count_noun(quality.compared, 'image')}: "
            + ", ".join(f"{count:,} {text}" for text, count in counts.items() if count)
        )
    if wants_logprobs and quality.answered < quality.questions:
        yield (
            f"P(yes) is missing for {quality.questions - quality.answered:,} of "
            f"{count_noun(quality.questions, 'question')}: "
            "the judge's server gives no log-probabilities there, or the questions are not asked one by one"
        )


def quality_data(quality: JudgeQuality) -> dict[str, object]:
    """Return the counts for JSON reports, leaving out those without information."""
    data: dict[str, object] = {}
    if quality.dropped:
        data["dropped_boxes"] = {
            "given": quality.boxes,
            "dropped": quality.dropped.total(),
            "share": quality.dropped_share,
            "images": quality.images_dropped + quality.images_left_in,
            "labels": dict(quality.dropped.most_common()),
        }
    if quality.disagreements:
        data["clause_disagreements"] = {
            "images": quality.disagreements,
            "compared": quality.compared,
            "only_whole": quality.only_whole,
            "only_clauses": quality.only_clauses,
        }
    if (soft := quality.soft_score) is not None:
        data["p_yes"] = {
            "mean": soft.value,
            "images": soft.number,
            "questions": quality.answered,
            "missing": quality.questions - quality.answered,
            "levels": {str(level): mean._asdict() for level, mean in quality.soft_by_level.items()},
            "kinds": {kind: mean._asdict() for kind, mean in quality.soft_by_kind.items()},
        }
    return data


def quality_lines(quality: JudgeQuality) -> Iterator[dict[str, object]]:
    """Yield the counts as lines for CSV reports, leaving out those without information."""
    if quality.dropped:
        counts = {"passed": quality.dropped.total(), "scored": quality.boxes, "expected": quality.boxes}
        yield {"figure": "dropped boxes", "name": "all boxes", **counts, "value": quality.dropped_share}
    if quality.disagreements:
        counts = {"passed": quality.disagreements, "scored": quality.compared, "expected": quality.compared}
        share = quality.disagreements / quality.compared
        yield {"figure": "clause disagreements", "name": "all pictures", **counts, "value": share}
    for level, mean in quality.soft_by_level.items():
        yield {"figure": "p_yes by level", "name": str(level), "scored": mean.number, "value": mean.value}
    for kind, mean in quality.soft_by_kind.items():
        yield {"figure": "p_yes by kind", "name": kind, "scored": mean.number, "value": mean.value}
