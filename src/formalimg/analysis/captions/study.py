"""What a study of captions tells, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from formalimg.analysis.captions.category import CATEGORIES
from formalimg.analysis.captions.counts import CategoryCounts


@dataclass(frozen=True)
class CaptionStudy:
    """Which categories of visual concepts the captions of a file speak of.

    Attributes:
        source: the file.
        asked: who found the categories, and how: the lexicon, or a chat model with its settings.
        counts: of all captions that were answered.
        empty: how many lines had no caption and were passed over.
        unanswered: how many captions have no answer, by kind of reason; they are in none of the counts.
        cost: what new answers cost, in US dollars; None if nobody knows the price.
    """

    source: str
    asked: Mapping[str, object]
    counts: CategoryCounts
    empty: int = 0
    unanswered: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = 0.0

    @property
    def with_object(self) -> CategoryCounts:
        """The captions that name a thing. The paper counts only these."""
        return self.counts.having("object")

    @property
    def captions(self) -> int:
        """How many captions there are, with those that have no answer."""
        return self.counts.captions + sum(self.unanswered.values())


def study_json(study: CaptionStudy) -> str:
    """Everything a study tells, as JSON."""
    told = {
        "source": study.source,
        "found_by": dict(study.asked),
        "captions": study.captions,
        "answered": study.counts.captions,
        "unanswered": dict(sorted(study.unanswered.items())),
        "empty_lines": study.empty,
        "cost": study.cost,
        "all": _told(study.counts),
        "with_object": _told(study.with_object),
    }
    return f"{json.dumps(told, indent=2, ensure_ascii=False)}\n"


def _told(counts: CategoryCounts) -> dict[str, object]:
    together = {one: {other: counts.together(one, other) for other in CATEGORIES} for one in CATEGORIES}
    return {
        "captions": counts.captions,
        "mean": counts.mean,
        "sd": counts.deviation,
        "most": counts.most,
        "histogram": {str(size): count for size, count in enumerate(counts.histogram)},
        "share_with": {category: counts.share(count) for category, count in counts.captions_with.items()},
        "together": together,
        "share_together": {
            one: {other: counts.share(count) for other, count in row.items()} for one, row in together.items()
        },
    }


def study_csv(study: CaptionStudy) -> str:
    """The counts of a study as a table with one figure on each line."""
    lines = ["captions,table,row,column,count,share"]
    for scope, counts in (("all", study.counts), ("with_object", study.with_object)):
        rows = [("histogram", str(size), "", count) for size, count in enumerate(counts.histogram)]
        for one in CATEGORIES:
            rows += [("together", one, other, counts.together(one, other)) for other in CATEGORIES]
        for table, row, column, count in rows:
            share = counts.share(count)
            lines.append(f"{scope},{table},{row},{column},{count},{'' if share is None else format(share, '.6f')}")
    lines += [f"unanswered,{kind},,,{count}," for kind, count in sorted(study.unanswered.items())]
    return "\n".join([*lines, f"empty,lines,,,{study.empty},"]) + "\n"
