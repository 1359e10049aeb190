"""Tables of a caption study for the terminal: histogram, categories, and which occur together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from formalimg.analysis.captions.categories import CATEGORIES
from formalimg.analysis.captions.study import CaptionStudy
from formalimg.tables import Column, Table, TableRow, count_noun, render_terminal

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

_MAX_BAR = 40
"""The length of the longest bar."""


def study_table(study: CaptionStudy) -> ConsoleRenderable:
    """Return a caption study as something that `rich` can print."""
    from rich.console import Group
    from rich.text import Text

    lines = [Text(line, style="" if number else "bold") for number, line in enumerate(_summary(study))]
    return Group(*lines, Text(), render_terminal(_tables(study)))


def _summary(study: CaptionStudy) -> Iterator[str]:
    finder = study.asked.get("model") or f"the lexicon, {study.asked['lexicon']}"
    yield f"{count_noun(study.captions, 'caption')} of {study.source}, by {finder}"
    for counts, whose in ((study.counts, "a caption"), (study.with_object, "a caption that names an object")):
        if counts.mean is not None:
            spread = "" if counts.deviation is None else f" ± {counts.deviation:.2f}"
            yield f"{counts.mean:.2f}{spread} categories in {whose}, {counts.maximum} at most ({counts.captions:,})"
    if study.empty:
        yield f"{count_noun(study.empty, 'empty line')} skipped"
    for kind, count in sorted(study.unanswered.items()):
        yield f"{count_noun(count, 'caption')} without an answer ({kind}): in none of the figures below"


def _tables(study: CaptionStudy) -> Iterator[Table]:
    counts, with_object = study.counts, study.with_object
    captions, longest = Column("captions", "count"), max(counts.histogram) or 1
    yield Table(
        "histogram",
        "Categories per caption",
        (Column("categories"), captions, Column("share", "percent", unit="%"), Column("")),
        tuple(
            TableRow((str(size), count, counts.share(count), "█" * round(_MAX_BAR * count / longest)))
            for size, count in enumerate(counts.histogram)
        ),
    )
    of_those = Column("of those with an object", "percent", unit="%")
    yield Table(
        "categories",
        "Captions per category",
        (Column("category"), captions, Column("share", "percent", unit="%"), of_those),
        tuple(
            TableRow((name, count, counts.share(count), with_object.share(with_object.together(name, name))))
            for name, count in counts.captions_with.items()
        ),
    )
    yield Table(
        "together",
        "Captions with both categories",
        (Column("together"), *(Column(other, "count") for other in CATEGORIES)),
        tuple(TableRow((one, *(counts.together(one, other) for other in CATEGORIES))) for one in CATEGORIES),
    )
