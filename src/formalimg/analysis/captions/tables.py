"""A study of captions for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from formalimg.analysis.captions.categories import CATEGORIES, CategoryCounts
from formalimg.analysis.captions.study import CaptionStudy

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult
    from rich.table import Table


_BAR = 40
"""How long the longest bar is."""

_NOTHING = "–"


def study_table(study: CaptionStudy) -> ConsoleRenderable:
    """The study as something that `rich` can print."""
    return _CaptionStudyView(study)


class _CaptionStudyView(NamedTuple):
    study: CaptionStudy

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for number, line in enumerate(_sentences(self.study)):
            yield Text(line, style="" if number else "bold")
        yield _histogram(self.study.counts)
        yield _categories(self.study)
        yield _together(self.study.counts)


def _sentences(study: CaptionStudy) -> Iterator[str]:
    finder = study.asked.get("model") or f"the lexicon, {study.asked['lexicon']}"
    yield f"{_many(study.captions, 'caption')} of {study.source}, by {finder}"
    for counts, whose in ((study.counts, "a caption"), (study.with_object, "a caption that names an object")):
        if counts.mean is not None:
            spread = "" if counts.deviation is None else f" ± {counts.deviation:.2f}"
            yield f"{counts.mean:.2f}{spread} categories in {whose}, {counts.most} at most ({counts.captions:,})"
    if study.empty:
        yield f"{_many(study.empty, 'empty line')} passed over"
    for kind, count in sorted(study.unanswered.items()):
        yield f"{_many(count, 'caption')} without an answer ({kind}): in none of the figures below"


def _histogram(counts: CategoryCounts) -> Table:
    table = _table("categories", ["captions", "share"])
    table.add_column("", no_wrap=True)
    longest = max(counts.histogram) or 1
    for size, count in enumerate(counts.histogram):
        table.add_row(str(size), f"{count:,}", _percent(counts, count), "█" * round(_BAR * count / longest))
    return table


def _categories(study: CaptionStudy) -> Table:
    table = _table("category", ["captions", "share", "of those with an object"])
    for category, count in study.counts.captions_with.items():
        beside = study.with_object
        share = _percent(beside, beside.together(category, category))
        table.add_row(category, f"{count:,}", _percent(study.counts, count), share)
    return table


def _together(counts: CategoryCounts) -> Table:
    table = _table("together", CATEGORIES)
    for one in CATEGORIES:
        table.add_row(one, *(f"{counts.together(one, other):,}" for other in CATEGORIES))
    return table


def _table(first: str, others: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for other in others:
        table.add_column(other, justify="right", no_wrap=True)
    return table


def _percent(counts: CategoryCounts, count: int) -> str:
    share = counts.share(count)
    return _NOTHING if share is None else f"{share:.1%}"


def _many(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' * (count != 1)}"
