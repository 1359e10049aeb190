"""Which categories of concepts captions speak of (Figure 9 of ConceptMix)."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.analysis import CaptionStudy
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.heat import HeatMap, heat_map
from formalimg.reporting.drawings.histogram import Column, Histogram, histogram
from formalimg.suites import CATEGORIES


def drawings_of_captions(study: CaptionStudy) -> Iterator[Drawing]:
    """Which categories stand together in captions, and how many; of the captions that name an object, as in the paper."""
    counts = study.with_object
    if not counts.captions:
        return
    total = counts.captions
    note = f"Of the {total:,} captions that name an object, out of {study.captions:,}."
    together: dict[tuple[str, str], float] = {
        (one, other): counts.together(one, other) / total for one in CATEGORIES for other in CATEGORIES
    }
    yield heat_map(
        "captions-together",
        HeatMap(
            "Captions that speak of two categories of concepts, in percent",
            f"{note} On the diagonal: those that speak of the one category.",
            CATEGORIES,
            CATEGORIES,
            together,
            {pair: f"{100 * share:.1f}" for pair, share in together.items()},
        ),
    )
    sizes = counts.histogram
    yield histogram(
        "captions-categories",
        Histogram(
            "How many categories of concepts captions speak of",
            f"{note} Mean {counts.mean:.2f}." if counts.mean is not None else note,
            tuple(Column(n - 0.5, n + 0.5, count, f"{n} categories") for n, count in enumerate(sizes) if n),
            "captions",
            "categories in a caption",
            tuple((float(n), str(n)) for n in range(1, len(sizes))),
        ),
    )
