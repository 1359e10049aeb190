"""Counts, by level, how many items of Natural and ConceptMix can be drawn, and what keeps the others from it.

For maintainers, after a change of what can be drawn: `python tools/drawable_shares.py [--published FOLDER] [--step N]`
prints the share of items that can be drawn, by level and reason. Every such item is solved, and its witness verified.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from formalimg.benchmarks.loader import load
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.scene import SceneBrief
from formalimg.types import Item


class DrawableShares(NamedTuple):
    """How many items of each level there are and can be drawn, why the others cannot, and seconds per witness."""

    items: Counter[int]
    drawable: Counter[int]
    reasons: Counter[str]
    seconds: list[float]


def drawable_shares(items: Iterable[Item[Any]]) -> DrawableShares:
    shares = DrawableShares(Counter(), Counter(), Counter(), [])
    for item in items:
        shares.items[item.level] += 1
        spec = item.spec
        if getattr(spec, "formula", None) is None and getattr(spec, "binding", None) is None:
            shares.reasons["no binding"] += 1
            continue
        request = spec.formula if hasattr(spec, "formula") else SceneBrief.from_json(spec.binding.to_json())
        reason = why_not_drawable(request)
        if reason is not None:
            shares.reasons[reason.split(":")[0]] += 1
            continue
        start = time.process_time()
        found = solve_drawn(request)
        shares.seconds.append(time.process_time() - start)
        if isinstance(found, NoDrawing):
            shares.reasons["no layout"] += 1
        else:
            shares.drawable[item.level] += 1
    return shares


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--published", help="folder of the published prompts of ConceptMix")
    options.add_argument("--step", type=int, default=1, help="count only every so many items (default: all)")
    chosen = options.parse_args()
    tables: dict[str, list[Item[Any]]] = {"Natural": load("natural"), "ConceptMix": load("conceptmix")}
    if chosen.published:
        tables["ConceptMix, published"] = load("conceptmix", chosen.published)
    for name, items in tables.items():
        shares = drawable_shares(items[:: chosen.step])
        levels = sorted(shares.items)
        print(f"| {name} | {' | '.join(map(str, levels))} | all |")
        print("| --- |" + " --- |" * (len(levels) + 1))
        cells = [f"{shares.drawable[level] / shares.items[level]:.0%}" for level in levels]
        print(f"| drawable | {' | '.join(cells)} | {shares.drawable.total() / shares.items.total():.1%} |")
        reasons = ", ".join(f"{number} {word}" for word, number in shares.reasons.most_common(12))
        print(f"\nof {shares.items.total()}; not: {reasons}")
        times = sorted(shares.seconds)
        print(
            f"witness: median {statistics.median(times) * 1000:.0f} ms of CPU time,"
            f" 9 of 10 within {times[int(0.9 * len(times))] * 1000:.0f} ms\n",
            flush=True,
        )


if __name__ == "__main__":
    main()
