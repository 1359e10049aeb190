"""A blind check of the drawn worlds: drawings without labels, and what was named in them compared with what they show.

    python tools/blind_check.py draw FOLDER --seed 1     writes FOLDER/sheet-00.png and so on, and FOLDER/key.json
    python tools/blind_check.py score FOLDER             compares FOLDER/answers.txt with the key

An answer is a line per drawing: its number and what is seen, in the words of the catalog, as in `17: red glass cup`,
`18: cat, cartoon` or `19: cup HigherUp LeftOf table`. Look at the sheets, and write, before opening the key.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw

from formalimg.benchmarks.loader import load
from formalimg.drawing.brief import BriefObject, BriefRelation, SceneBrief
from formalimg.drawing.drawability import why_not_drawable
from formalimg.drawing.layout import NoDrawing, solve_drawn
from formalimg.drawing.render import draw_scene
from formalimg.logic.vocabulary import vocabulary

CELL, COLUMNS, ROWS = 330, 4, 3
RELATIONS = ("LeftOf", "RightOf", "HigherUp", "LowerDown", "OnTopOf", "InFrontOf", "In", "Holding", "NextTo", "Outside")
STYLES = (
    *("cartoon", "cubism", "cyberpunk", "expressionism", "graffiti", "impressionism", "ink", "manga"),
    *("oil painting", "pixel art", "pop art", "sketch", "watercolor"),
)
KINDS = {"material": 18, "shape": 18, "state": 24, "plain": 8, "relation": 32, "style": 16}
"""What drawings are about, with how often."""


def requests(random: Random) -> Iterator[SceneBrief]:
    """Yield briefs that can be drawn, of words of Natural and of ConceptMix: an object with attributes, or a pair."""
    words = vocabulary("natural").words
    bindings = [item.spec.binding for item in load("conceptmix")]
    mixed = sorted({each.item for binding in bindings if binding is not None for each in binding.objects})
    worlds = (
        (words["class"], words["material"], words["shape"]),
        (mixed, ("fluffy", "glass", "metal"), ("circle", "heart", "rectangle", "square", "triangle")),
    )
    while True:
        kind = random.choices(tuple(KINDS), tuple(KINDS.values()))[0]
        classes, materials, shapes = random.choice(worlds)
        color = random.choice(words["color"]) if random.random() < 0.5 else None
        one, other = BriefObject(random.choice(classes), color=color), BriefObject(random.choice(classes))
        # Words are drawn again until something can be drawn, so that rare ones come up as often as common ones.
        for _ in range(400):
            match kind:
                case "material":
                    brief = SceneBrief((replace(one, material=random.choice(materials)),))
                case "shape":
                    brief = SceneBrief((replace(one, shape=random.choice(shapes)),))
                case "state":
                    brief = SceneBrief((replace(one, states=(random.choice(words["state"]),)),))
                case "relation":
                    relation = BriefRelation(random.choice(RELATIONS), 0, 1)
                    brief = SceneBrief((replace(one, color=None), other), (relation,))
                case "style":
                    brief = SceneBrief((one,), (), random.choice(STYLES))
                case _:
                    brief = SceneBrief((one,))
            if why_not_drawable(brief) is None:
                yield brief
                break
            one = replace(one, item=random.choice(classes))
            other = replace(other, item=random.choice(classes))


def is_named(kind: str, word: str, answer: str, key: dict[str, str]) -> bool:
    """Return whether an answer says a word; of a relation, also if it says it the other way round, or says more."""
    if kind != "relation":
        return _SPELLINGS.get(word, word).lower() in answer.lower()
    turned = answer.find(key["class"]) > answer.find(key["other class"])
    wanted = {_CONVERSES.get(word, "") if turned else word}
    if word in ("NextTo", "Outside"):  # the same both ways
        wanted = {word}
    if word == "Outside":  # whatever stands apart is outside
        wanted |= {"LeftOf", "RightOf", "HigherUp", "LowerDown", "NextTo"}
    if word in ("On", "OnTopOf"):
        wanted = set() if turned else {"On", "OnTopOf"}
    return bool(wanted & set(answer.split()))


_SPELLINGS = {"triangular": "triangle", "round": "circle", "rectangular": "rectangle"}
"""Words of the two suites for one shape."""
_CONVERSES = {"LeftOf": "RightOf", "RightOf": "LeftOf", "HigherUp": "LowerDown", "LowerDown": "HigherUp"}


def words_of(brief: SceneBrief) -> dict[str, str]:
    """Return the words that somebody who looks at the drawing should say, by kind."""
    one = brief.objects[0]
    said = {"class": one.item, "color": one.color, "material": one.material, "shape": one.shape}
    said["state"] = one.states[0] if one.states else None
    if brief.relations:
        said |= {"relation": brief.relations[0].name, "other class": brief.objects[1].item}
    said["style"] = brief.style
    return {kind: word for kind, word in said.items() if word is not None}


def draw(folder: Path, seed: int, count: int) -> None:
    """Write sheets of numbered drawings, and their key."""
    folder.mkdir(parents=True)
    key: list[dict[str, str]] = []
    cells: list[Image.Image] = []
    for brief in requests(Random(seed)):
        found = solve_drawn(brief)
        if isinstance(found, NoDrawing):
            continue
        cells.append(draw_scene(found, size=2 * CELL).resize((CELL, CELL), Image.Resampling.LANCZOS))
        key.append(words_of(brief))
        if len(cells) == count:
            break
    for start in range(0, count, COLUMNS * ROWS):
        sheet = Image.new("RGB", (COLUMNS * (CELL + 6), ROWS * (CELL + 6)), "white")
        pen = ImageDraw.Draw(sheet)
        for place, cell in enumerate(cells[start : start + COLUMNS * ROWS]):
            at = (place % COLUMNS * (CELL + 6), place // COLUMNS * (CELL + 6))
            sheet.paste(cell, at)
            pen.rectangle((*at, at[0] + 34, at[1] + 16), fill="white")
            pen.text((at[0] + 4, at[1] + 2), str(start + place), fill="black")
        sheet.save(folder / f"sheet-{start // (COLUMNS * ROWS):02}.png")
    (folder / "key.json").write_text(json.dumps(key, indent=0))


def score(folder: Path) -> None:
    """Print how many words of each kind were named, and every word that was not."""
    key = json.loads((folder / "key.json").read_text())
    asked: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for line in (folder / "answers.txt").read_text().splitlines():
        number, _, answer = line.partition(":")
        for kind, word in key[int(number)].items():
            asked[kind] += 1
            if is_named(kind, word, answer, key[int(number)]):
                named[kind] += 1
            else:
                print(f"{number}: {kind} {word!r} of {' '.join(key[int(number)].values())!r}, answered{answer}")
    print("| kind | named |\n| --- | ---: |")
    for kind, count in asked.items():
        print(f"| {kind} | {named[kind]} of {count} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=("draw", "score"))
    options.add_argument("folder", type=Path)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=200)
    chosen = options.parse_args()
    if chosen.action == "draw":
        draw(chosen.folder, chosen.seed, chosen.count)
    else:
        score(chosen.folder)


if __name__ == "__main__":
    main()
