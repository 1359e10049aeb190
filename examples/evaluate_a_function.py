"""Evaluate any Python function that generates images: no model class, no configuration.

Run it with `python examples/evaluate_a_function.py`. Replace `paint` by your own pipeline: it gets the prompt (and a
seed and a size, if it has parameters of these names) and returns a PIL image, bytes, or the path of a file.
"""

from __future__ import annotations

import random
import sys
import tempfile

from PIL import Image

import formalimg
from formalimg.drawing import draw, drawable_classes


def paint(prompt: str, seed: int, size: int) -> Image.Image:
    """Draw the first class that the prompt names, once, in the middle: passes now and then at K = 1."""
    named = [label for label in drawable_classes() if label.replace("_", " ") in prompt] or ["cup"]
    objects = [formalimg.SceneObject(label, formalimg.Box(380, 380, 620, 620), color="red") for label in named[:1]]
    canvas = draw(formalimg.Scene.of(objects), size)
    return canvas if random.Random(seed).random() > 0.02 else Image.new("RGB", (size, size), "black")


def main(folder: str) -> None:
    """Evaluate the function on a few items of each level, print pass rates and write a report."""
    # `paint` draws as the built-in models do, which the built-in judge can read; for other images name a chat model.
    result = formalimg.evaluate(
        paint, "knolling", judge="builtin/icons", name="paint", per_level=4, size=512, folder=f"{folder}/run"
    )
    print(result.table())
    summary = result.summary()
    rate = summary.levels[1]
    if rate.interval is not None:
        low, high = rate.interval
        sure = f"{low:.0%} to {high:.0%} with {summary.confidence:.0%} confidence"
        print(f"K=1: {rate.passed} of {rate.scored} passed, {sure}")
    for judged in result.run.judged():
        if judged.outcome.passed is False:
            print(f"\nwhy item {judged.outcome.item} failed:\n{judged.verdict.evidence['explanation']}")
            break
    result.write_report(f"{folder}/report.html")
    print(f"\nreport in {folder}/report.html")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="formalimg-example-"))
