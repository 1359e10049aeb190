"""Speed of drawn worlds: witnesses, images and verdicts of items, and each style, in CPU milliseconds."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.draw_contact_sheets import style_sample

from formalimg import load
from formalimg.benchmarks.formal.spec import drawn_request, undrawable_because
from formalimg.drawing import styles
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import signed_png
from formalimg.judges.base import LoadedImage
from formalimg.judges.drawn_judge import judge_drawing
from formalimg.types import Verdict

SIZES = (512, 1024)
Result = TypeVar("Result")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=5, help="images of each style and size (default 5)")
    options.add_argument("--items", type=int, default=60, help="items of each suite (default 60)")
    chosen = options.parse_args()
    for suite in ("natural", "conceptmix"):
        item_times(suite, chosen.items)
    style_times(chosen.images)


def item_times(suite: str, count: int) -> None:
    """Each step of a run of the oracle, over items of all levels."""
    items = [item for item in load(suite) if undrawable_because(item.spec) is None]
    steps: dict[str, list[float]] = {
        name: [] for name in ("witness", "image, 512 px", "image, 1024 px", "sign, 1024 px", "judge, 1024 px")
    }
    solve_drawn(drawn_request(items[0].spec))  # load what is loaded once
    for item in items[:: max(1, len(items) // count)]:
        drawn = timed(steps["witness"], partial(solve_drawn, drawn_request(item.spec), seed=1))
        if not isinstance(drawn, DrawnScene):
            continue
        timed(steps["image, 512 px"], partial(draw_scene, drawn, 512))
        image = timed(steps["image, 1024 px"], partial(draw_scene, drawn, 1024))
        data = timed(steps["sign, 1024 px"], partial(signed_png, image, drawn))
        verdict = timed(steps["judge, 1024 px"], partial(judge_drawing, item, LoadedImage(data, image)))
        assert isinstance(verdict, Verdict), verdict
        assert verdict.passed, item.id
    print(f"{suite}, {len(steps['witness'])} items, ms of CPU time".ljust(42) + "  median      p90      max")
    for name, times in steps.items():
        ranked = sorted(times)
        shown = (statistics.median(ranked), ranked[int(0.9 * len(ranked))], ranked[-1])
        print(f"    {name:<38}" + " ".join(f"{value:>8.0f}" for value in shown))


def timed(times: list[float], work: Callable[[], Result]) -> Result:
    start = time.process_time()
    found = work()
    times.append((time.process_time() - start) * 1000)
    return found


def style_times(images: int) -> None:
    """The baseline is the drawing without a style."""
    print("style, median ms of CPU time per image".ljust(42) + "".join(f"{size:>8} px" for size in SIZES))
    styles.apply(style_sample(64), styles.STYLES[0], 1)  # load what is loaded once
    rows = {"no style (rendering only)": [median_ms(images, partial(_plain, size)) for size in SIZES]}
    drawings = [style_sample(size) for size in SIZES]
    for style in styles.STYLES:
        rows[style] = [median_ms(images, partial(styles.apply, drawing, style)) for drawing in drawings]
    for name, times in rows.items():
        print(f"    {name:<38}" + "".join(f"{milliseconds:>8.0f}   " for milliseconds in times))


def _plain(size: int, seed: int) -> object:
    return style_sample(size)


def median_ms(images: int, draw: Callable[[int], object]) -> float:
    times = []
    for seed in range(images):
        start = time.process_time()
        draw(seed)
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
