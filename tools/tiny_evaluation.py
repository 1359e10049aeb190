"""What `builtin/tiny` learned: a run of it by what training held out, how well its images are read, and a sheet.

formalimg run knolling -m builtin/tiny --size 512
python tools/tiny_evaluation.py runs/knolling-builtin-tiny --sheet docs/images/tiny.png
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from formalimg import Scene, draw, verify
from formalimg.drawing.icon_scene import DrawingError
from formalimg.judges.base import Grounding
from formalimg.judges.grounders.icons import ground_icons
from formalimg.models.builtin.tiny.model import (
    IMAGE_SIZE,
    MAX_TRAINED_LEVEL,
    WEIGHTS,
    TinyModel,
    Unseen,
    load_tiny,
    unseen_in,
)
from formalimg.runs.reader import Judged, open_run
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Item, Verdict

NAMES: dict[Unseen, str] = {
    "color": "a class in a colour it never had",
    "pair": "two classes never related before",
    "side": "a class never left or right of another",
}


COLUMNS = (*((level,) for level in range(1, MAX_TRAINED_LEVEL + 1)), tuple(range(2, MAX_TRAINED_LEVEL + 1)))


def held_out_table(images: Sequence[tuple[Judged, frozenset[Unseen]]]) -> Iterator[str]:
    """Yield a row for what was seen in training, and for each kind of what was not, level by level."""
    yield "| prompts with | " + " | ".join(f"K {levels[0]}" for levels in COLUMNS[:-1]) + " | K 2–6 |"
    yield "| --- |" + " ---: |" * len(COLUMNS)
    for kind, name in (("", "nothing unseen"), *NAMES.items()):
        chosen = [judged for judged, unseen in images if (kind in unseen if kind else not unseen)]
        cells = (_rate([judged for judged in chosen if judged.outcome.level in levels]) for levels in COLUMNS)
        yield f"| {name} | " + " | ".join(cells) + " |"


def _rate(images: Sequence[Judged]) -> str:
    scored = [judged.verdict.passed for judged in images if isinstance(judged.verdict, Verdict)]
    if not scored:
        return "–"
    low, high = clopper_pearson(sum(map(bool, scored)), len(scored))
    return f"{100 * sum(map(bool, scored)) / len(scored):.0f} ({100 * low:.0f}–{100 * high:.0f})"


def reading_table(model: TinyModel, images: Sequence[tuple[Judged, Item[Any]]]) -> Iterator[str]:
    """Yield how what was read from images agrees with the layouts that they were painted from."""
    found: Counter[str] = Counter()
    for judged, item in images:
        layout = model.plan(item.prompt, judged.seed)
        images_of = {"painted": model.paint(layout, judged.seed)}
        with suppress(DrawingError):  # some boxes are too narrow for a drawing
            images_of["drawn"] = draw(layout, IMAGE_SIZE)
        for name, image in images_of.items():
            seen = ground_icons(image)
            found[f"{name} images"] += 1
            if not isinstance(seen, Grounding):
                continue
            found[f"{name} read"] += 1
            found[f"{name} same objects"] += _names(seen.scene) == _names(layout)
            same = verify(item.spec.formula, seen.scene).passed == verify(item.spec.formula, layout).passed
            found[f"{name} same verdict"] += same
    yield "| images | in all | read | of these with the same objects | with the same verdict |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in ("drawn", "painted"):
        yield f"| {name} | " + " | ".join(str(found[f"{name} {what}"]) for what in _COUNTED) + " |"


_COUNTED = ("images", "read", "same objects", "same verdict")


def _names(scene: Scene) -> list[tuple[str, str | None]]:
    return sorted((obj.label, obj.color) for obj in scene.objects)


def contact_sheet(images: Sequence[tuple[Judged, Item[Any]]], columns: int, side: int) -> Image.Image:
    """Return images in a grid, each framed in green if it passes, red if it fails, and grey if it was not read."""
    rows = -(-len(images) // columns)
    sheet = Image.new("RGB", (columns * side, rows * side), "white")
    draw_on = ImageDraw.Draw(sheet)
    for number, (judged, _) in enumerate(images):
        left, top = number % columns * side, number // columns * side
        with Image.open(str(judged.image)) as image:
            sheet.paste(image.convert("RGB").resize((side - 6, side - 6), Image.Resampling.BOX), (left + 3, top + 3))
        passed = judged.verdict.passed if isinstance(judged.verdict, Verdict) else None
        tone = {True: "#2e7d32", False: "#c62828", None: "#9e9e9e"}[passed]
        draw_on.rectangle((left + 1, top + 1, left + side - 2, top + side - 2), outline=tone, width=2)
    return sheet


def main() -> None:
    """Print the tables, and write the sheet."""
    parser = argparse.ArgumentParser(description="Say what builtin/tiny learned.")
    parser.add_argument("run", type=Path, help="a run of builtin/tiny on knolling")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="the weights of the run, if they are others")
    parser.add_argument("--sheet", type=Path, help="the contact sheet to write: four images of each level")
    parser.add_argument("--read", type=int, default=400, metavar="N", help="images to check the reading with")
    args = parser.parse_args()
    with closing(open_run(args.run)) as run:
        items: dict[str, Item[Any]] = {item.id: item for item in run.suite_items()}
        images = [(judged, items[judged.outcome.item]) for judged in run.judged()]
    print("\n".join(held_out_table([(one, unseen_in(item.spec.formula, item.level)) for one, item in images])))
    random.Random(1).shuffle(images)
    if args.sheet:
        chosen = [one for level in range(1, 11) for one in [pair for pair in images if pair[1].level == level][:4]]
        contact_sheet(chosen, 8, 160).quantize(192).save(args.sheet, optimize=True)
    print("\n" + "\n".join(reading_table(load_tiny(args.weights), images[: args.read])))


if __name__ == "__main__":
    main()
