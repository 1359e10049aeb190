"""What items of CF-World are about (its Figure 2a): disciplines and branches, and what is asked about images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.looks import numbered_look
from formalimg.reporting.drawings.rows import bar_chart
from formalimg.reporting.drawings.series import Chart, Point, Series
from formalimg.suites import TAGGED_BY_FIELD, Item, Suite


def drawings_of_fields(suite: Suite, items: Sequence[Item[Any]]) -> Iterator[Drawing]:
    """Groups by field, where items tell their fields, and questions by dimension."""
    if suite.name in TAGGED_BY_FIELD:
        fields = {item.spec.group: ", ".join(item.tags) or "without a field" for item in items}
        yield _shares(
            f"{suite.name}-fields",
            f"{suite.title}: fields",
            f"{len(fields):,} groups.",
            Counter(fields.values()),
            "of all groups (%)",
        )
    questions = Counter(question.dimension for item in items for question in item.spec.questions)
    if questions:
        yield _shares(
            f"{suite.name}-questions",
            f"{suite.title}: questions, by dimension",
            f"{questions.total():,} questions about {len(items):,} images.",
            Counter({str(name): count for name, count in questions.items()}),
            "of all questions (%)",
        )


def _shares(name: str, title: str, note: str, counts: Counter[str], measure: str) -> Drawing:
    points = {f"{what}: {count:,}": Point(count / counts.total()) for what, count in counts.items()}
    ordered = sorted(points, key=lambda told: (-points[told].value, told))
    return bar_chart(
        name, Chart(title, note, tuple(ordered), (Series("", numbered_look(0), points),), measure, percent=True)
    )
