"""What items of ConceptMix are made of: how long their prompts are (its Figure 12), and which concepts they ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from formalimg.reporting.drawings.boxes import Boxes, box_chart
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.frame import counting_scale
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.rows import bar_chart
from formalimg.reporting.drawings.series import Chart, Point, Series
from formalimg.suites import CATEGORIES, Item, Suite, take_concept_census


def drawings_of_concepts(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Drawing]:
    """Words per prompt by k, and the categories of what is asked for."""
    words = {
        str(level): {item.id: float(len(item.prompt.split())) for item in items if item.level == level}
        for level in sorted({item.level for item in items})
    }
    yield box_chart(
        f"{suite.name}-prompt-length",
        Boxes(
            f"{suite.title}: words per prompt, by {suite.level}",
            f"{len(items):,} prompts. Boxes: from quartile to quartile, with the median; whiskers: to the shortest and "
            "the longest.",
            words,
            "words",
            suite.level,
            counting_scale(max(int(count) for those in words.values() for count in those.values())),
            shows_each=False,
        ),
    )
    asked = take_concept_census(items).concepts
    counts: dict[str, int] = {
        category: sum(count for concept, count in asked.items() if concept.category == category)
        for category in CATEGORIES
    }
    points = {category: Point(count / asked.total()) for category, count in counts.items()}
    yield bar_chart(
        f"{suite.name}-concepts",
        Chart(
            f"{suite.title}: concepts that are asked for, by category",
            f"{asked.total():,} concepts in {len(items):,} items.",
            tuple(sorted(points, key=lambda category: (-counts[category], category))),
            (Series("", numbered_look(0), points),),
            "of all concepts (%)",
            percent=True,
        ),
    )
