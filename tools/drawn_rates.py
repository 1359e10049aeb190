"""Pass rates of the built-in models on suites with a drawn world: of their scenes, without drawing them.

    python tools/drawn_rates.py natural --per-level 20

prints the share of items of each level that a model draws, and of these the share that pass, in percent, as a table.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

from formalimg import load
from formalimg.drawing.scene import DrawnScene
from formalimg.judges.drawn_judge import judge_drawn_scene
from formalimg.models.base import ImageRequest
from formalimg.models.builtin.baselines import Baseline, open_baseline
from formalimg.types import Item, Verdict

MODELS = ("oracle", "reader", "scatter")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("suite", choices=("natural", "conceptmix"))
    options.add_argument("--per-level", type=int, help="the first items of each level (default all)")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--processes", type=int)
    chosen = options.parse_args()
    taken: Counter[int] = Counter()
    numbers = []
    for number, item in enumerate(_items(chosen.suite)):
        taken[item.level] += 1
        if chosen.per_level is None or taken[item.level] <= chosen.per_level:
            numbers.append(number)
    levels = sorted(taken)
    print(f"| | {' | '.join(map(str, levels))} | all |")
    print(f"| --- |{' ---: |' * (len(levels) + 1)}")
    with ProcessPoolExecutor(chosen.processes) as pool:
        for name in MODELS:
            work = [(chosen.suite, name, number, chosen.seed) for number in numbers]
            found = list(pool.map(outcome, work, chunksize=8))
            _print_row(f"{name}: drawn", found, levels, lambda passed: passed is not None, lambda passed: True)
            _print_row(f"{name}: pass", found, levels, bool, lambda passed: passed is not None)


def outcome(work: tuple[str, str, int, int]) -> tuple[int, bool | None]:
    """Return the level of an item, and whether the scene of a model passes; None if it draws none."""
    suite, name, number, seed = work
    item = _items(suite)[number]
    model = open_baseline(name, {})
    assert isinstance(model, Baseline)
    assert model.compose_drawn is not None
    spec = item.spec if model.sees_spec else None
    drawn = model.compose_drawn(ImageRequest(item.id, 0, item.prompt, seed, spec=spec, suite=suite))
    if not isinstance(drawn, DrawnScene):
        return item.level, None
    verdict = judge_drawn_scene(item, drawn)
    assert isinstance(verdict, Verdict), (item.id, verdict)
    return item.level, verdict.passed


@cache
def _items(suite: str) -> list[Item[Any]]:
    return list(load(suite))


def _print_row(name: str, found: list[tuple[int, bool | None]], levels: list[int], counts: Any, among: Any) -> None:
    cells = []
    for group in [*([level] for level in levels), levels]:
        those = [passed for level, passed in found if level in group and among(passed)]
        cells.append(f"{100 * sum(map(counts, those)) / len(those):.1f}" if those else "–")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
