"""Speed of drawn worlds: the time of each style, in CPU milliseconds per image at 512 and 1024 pixels."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

from formalimg.scenes.drawn import styles
from formalimg.scenes.drawn.styles.sheet import sample_drawing

SIZES = (512, 1024)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=5, help="images of each style and size (default 5)")
    chosen = options.parse_args()
    style_times(chosen.images)


def style_times(images: int) -> None:
    """The baseline is the drawing without a style."""
    print("style, median ms of CPU time per image".ljust(42) + "".join(f"{size:>8} px" for size in SIZES))
    styles.apply(sample_drawing(64), styles.STYLES[0], 1)  # load what is loaded once
    rows = {"no style (rendering only)": [median_ms(images, partial(_plain, size)) for size in SIZES]}
    drawings = [sample_drawing(size) for size in SIZES]
    for style in styles.STYLES:
        rows[style] = [median_ms(images, partial(styles.apply, drawing, style)) for drawing in drawings]
    for name, times in rows.items():
        print(f"    {name:<38}" + "".join(f"{milliseconds:>8.0f}   " for milliseconds in times))


def _plain(size: int, seed: int) -> object:
    return sample_drawing(size)


def median_ms(images: int, draw: Callable[[int], object]) -> float:
    times = []
    for seed in range(images):
        start = time.process_time()
        draw(seed)
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
