"""A blind look at drawings of items: numbered drawings, one question about each, and a key that is kept apart.

    python -m tools.blind_check draw FOLDER KEY --seed 1    writes drawings, contact sheets, free.md and choice.md to
                                                            FOLDER, and key.json to the folder KEY
    python -m tools.blind_check score ANSWERS KEY           compares ANSWERS (lines such as `17: b`) with the key

A reader who has not seen the vocabulary, the prompts or the key answers free.md first, in any words, then choice.md.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from PIL import Image, ImageDraw, ImageFont

from formalimg.benchmarks.formal.spec import BriefSpec, NothingToDrawError, drawn_request, undrawable_because
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite as get_suite
from formalimg.drawing.catalog import drawn_catalog
from formalimg.drawing.layout import solve_drawn
from formalimg.drawing.render import draw_scene
from formalimg.drawing.scene import DrawnScene, DrawnSpace
from formalimg.drawing.truth import is_ordinary
from formalimg.judges.certificates.scene_changes import find_vocabulary, generate_changes
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.scene import SceneRelation
from formalimg.scenes.solver.results import SolverLimitError
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Item

IMAGE, CELL, COLUMNS, ROWS = 900, 450, 4, 3
SHARES = {"size": 36, "relation": 26, "class": 12, "material": 8, "shape": 6, "state": 6, "color": 3, "style": 3}
"""What the questions are about, by how many of a hundred: most went wrong with sizes and contact."""
ORDINARY_SIZES = 8
"""So many of the questions of size are about drawings of which no size is asked any more."""
SUITES = ("natural", "conceptmix")
SHALLOW = ("tree", "flower", "plant", "pan", "sandwich")
"""Classes of which "on" and "in" are both said."""
RELATIONS = {
    "On": "is on {b}",
    "OnTopOf": "is on {b}",
    "In": "is inside {b}",
    "Holding": "holds {b}",
    "InFrontOf": "is in front of {b} and hides a part",
    "NextTo": "is beside {b} and does not touch it",
    "LeftOf": "is to the left of {b}",
    "RightOf": "is to the right of {b}",
    "HigherUp": "is higher up than {b} and does not touch it",
    "LowerDown": "is lower than {b} and does not touch it",
}
SIZE_CHOICES = ("tiny", "about the usual size", "huge", "cannot tell: nothing to compare with")


class Target(NamedTuple):
    """One question about a drawing: the objects that are marked, the right answer and the wrong ones."""

    kind: str
    question: str
    answer: str
    choices: tuple[str, ...]
    marked: tuple[int, ...] = ()
    second: tuple[int, ...] = ()


class Drawing(NamedTuple):
    """A drawing of an item, and for each class of which a size is asked this size."""

    source: str
    drawn: DrawnScene
    sizes: dict[str, str]


def drawings(items: Iterable[Item[Any]]) -> Iterator[Drawing]:
    """Yield drawings of the items that can be drawn."""
    for item in items:
        if undrawable_because(item.spec) is not None:
            continue
        try:
            drawn = solve_drawn(drawn_request(item.spec))
        except SolverLimitError:
            continue
        if isinstance(drawn, DrawnScene):
            yield Drawing(f"{item.suite} {item.id}", drawn, _sizes(item))


def _sizes(item: Item[Any]) -> dict[str, str]:
    if not isinstance(item.spec, BriefSpec):
        return {}
    try:
        return {obj.item: obj.size for obj in item.spec.scene_brief().objects if obj.size is not None}
    except NothingToDrawError:
        return {}


def _targets(drawn: DrawnScene, sizes: dict[str, str], rng: Random) -> Iterator[Target]:
    words, catalog = vocabulary("natural").words, drawn_catalog()
    objects = drawn.scene.objects
    groups: dict[str, list[int]] = defaultdict(list)
    for number, obj in enumerate(objects):
        groups[obj.label].append(number)
    for label, size in sizes.items():
        yield _size_target(label, size, groups[label])
    for relation in sorted(_relations(drawn, groups)):
        yield _relation_target(relation, drawn, groups, rng)
    for label, numbers in groups.items():
        obj, marked = objects[numbers[0]], tuple(numbers)
        aspect = _aspect(label)
        near = sorted(
            (other for other in catalog.classes if other not in groups), key=lambda each: abs(_aspect(each) - aspect)
        )
        yield Target("class", "What is marked A?", label, _choose(label, near[:14], rng), marked)
        if obj.material:
            texture = "fluffy" if obj.material == "fluffy" else obj.material
            yield Target(
                "material",
                f"What is the {label} (A) made of?",
                texture,
                _choose(texture, words["material"], rng),
                marked,
            )
        if obj.shape:
            shape = {"circle": "round", "rectangle": "rectangular", "triangle": "triangular"}.get(obj.shape, obj.shape)
            shapes = ("round", "rectangular", "triangular", "heart", "square", "cylindrical")
            others = [each for each in shapes if {each, shape} != {"square", "rectangular"}]
            yield Target(
                "shape", f"Which outline does the {label} (A) have?", shape, _choose(shape, others, rng), marked
            )
        if obj.states:
            shown = catalog.entry(label).shown_states(obj.states)
            others = [state for state in words["state"] if state not in shown]
            yield Target(
                "state",
                f"In which state is what is marked A ({label})?",
                obj.states[0],
                _choose(obj.states[0], others, rng),
                marked,
            )
        if obj.color and obj.color != "other":
            colors = [color for color in words["color"] if color != obj.color]
            yield Target(
                "color", f"Which colour has the {label} (A)?", obj.color, _choose(obj.color, colors, rng), marked
            )
    if drawn.style is not None:
        styles = (
            "cartoon",
            "cubism",
            "cyberpunk",
            "graffiti",
            "impressionism",
            "ink",
            "manga",
            "oil painting",
            "pixel art",
            "pop art",
            "sketch",
            "watercolor",
        )
        near_styles = {
            "oil painting": {"impressionism", "expressionism"},
            "impressionism": {"oil painting", "expressionism"},
            "expressionism": {"oil painting", "impressionism"},
            "ink": {"manga", "sketch"},
        }
        fit = [style for style in styles if style not in near_styles.get(drawn.style, ())]
        yield Target("style", "In which style is the picture?", drawn.style, _choose(drawn.style, fit, rng))


def _aspect(label: str) -> float:
    icon = drawn_catalog().icon(label)
    return 1.0 if icon is None else icon.aspect


def _size_target(label: str, size: str, marked: Sequence[int]) -> Target:
    plural = "are the objects" if len(marked) > 1 else "is the object"
    question = f"How large {plural} marked A ({label}) compared with the usual size of such an object?"
    return Target("size", question, size, SIZE_CHOICES, tuple(marked))


def _find_usual(drawing: Drawing, rng: Random) -> tuple[Drawing, Target] | None:
    """Return the drawing with a sized object at its usual size, as certificates change it; None if it cannot be."""
    if len(drawing.sizes) != 1:
        return None
    (label,) = drawing.sizes
    labels = [obj.label for obj in drawing.drawn.scene.objects]
    references = sorted({*labels} - {label})
    for changed in islice(generate_changes(drawing.drawn, find_vocabulary(get_suite("conceptmix")), rng), 60):
        objects = [(obj.label, obj.box) for obj in changed.scene.objects]
        same = [name for name, _ in objects] == labels
        if same and all(is_ordinary(word, objects, label, references, drawn_catalog()) for word in ("tiny", "huge")):
            numbers = [number for number, name in enumerate(labels) if name == label]
            target = _size_target(label, SIZE_CHOICES[1], numbers)
            return drawing._replace(drawn=changed), target._replace(kind="usual size")
    return None


def _relations(drawn: DrawnScene, groups: dict[str, list[int]]) -> Iterator[SceneRelation]:
    """Yield relations between objects that are alone of their class: recorded ones, occlusion and directions."""
    space = DrawnSpace(drawn)
    single = [numbers[0] for numbers in groups.values() if len(numbers) == 1]
    for first in single:
        for second in single:
            for name in RELATIONS:
                if name != "OnTopOf" and space.holds(name, first, second):
                    yield SceneRelation(name, first, second)


def _relation_target(relation: SceneRelation, drawn: DrawnScene, groups: dict[str, list[int]], rng: Random) -> Target:
    space, (name, first, second) = DrawnSpace(drawn), relation
    labels = [f"the {drawn.scene.objects[number].label} ({mark})" for number, mark in ((first, "A"), (second, "B"))]
    carried = space.carries(first, second)
    false = [
        words.format(b=labels[1])
        for other, words in RELATIONS.items()
        if not space.holds(other, first, second)
        and other != "OnTopOf"
        # What touches is not told apart by where it is: a bird on the left end of a roof is to the left of its middle.
        and not (carried and other in ("LeftOf", "RightOf", "NextTo"))
        # A plant on a sofa is in front of its back, and whoever sits on a branch is in the tree.
        and not (carried and other == "InFrontOf")
        and not (name in ("On", "In") and other in ("On", "In") and drawn.scene.objects[second].label in SHALLOW)
    ]
    kind = "contact" if name in ("On", "In", "Holding", "InFrontOf") else "direction"
    answer = RELATIONS[name].format(b=labels[1])
    question = f"Where is A, or what does it do with B? T{labels[0][1:]} …"
    return Target(kind, question, answer, _choose(answer, false, rng), (first,), (second,))


def _choose(answer: str, others: Sequence[str], rng: Random) -> tuple[str, ...]:
    wrong = rng.sample(sorted(set(others) - {answer}), 3)
    choices = [answer, *wrong]
    rng.shuffle(choices)
    return tuple(choices)


def choose_targets(rng: Random, count: int) -> Iterator[tuple[Drawing, Target]]:
    """Yield drawings with one question each, in the shares of `SHARES`."""
    wanted = {kind: round(count * share / 100) for kind, share in SHARES.items()}
    wanted["usual size"] = round(count * ORDINARY_SIZES / 100)
    wanted["size"] -= wanted["usual size"]
    wanted["direction"] = wanted["relation"] // 3
    wanted["contact"] = wanted.pop("relation") - wanted["direction"]
    suites = [load(suite) for suite in SUITES]
    for items in suites:
        rng.shuffle(items)
    sized = [item for items in suites for item in items if _sizes(item)]
    for drawing in drawings(sized):
        usual = _find_usual(drawing, rng) if wanted["usual size"] else None
        if usual is not None and rng.random() < 0.4:
            wanted["usual size"] -= 1
            yield usual
        elif wanted["size"]:
            targets = [target for target in _targets(drawing.drawn, drawing.sizes, rng) if target.kind == "size"]
            wanted["size"] -= 1
            yield drawing, rng.choice(targets)
        if not wanted["size"] and not wanted["usual size"]:
            break
    plain = [[item for item in items if not _sizes(item)] for items in suites]
    for drawing in drawings(chain.from_iterable(zip(*plain, strict=False))):
        targets = [target for target in _targets(drawing.drawn, drawing.sizes, rng) if wanted[target.kind] > 0]
        if not targets:
            continue
        # The kinds that are most wanted come first; among these, any.
        most = max(wanted[target.kind] for target in targets)
        target = rng.choice([target for target in targets if wanted[target.kind] == most])
        wanted[target.kind] -= 1
        yield drawing, target
        if not any(wanted.values()):
            return


def mark(image: Image.Image, drawn: DrawnScene, target: Target) -> Image.Image:
    """Return the drawing with the letters A and B beside what is asked about, and corners around it."""
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(26)
    for letter, color, numbers in (("A", "#d0006f", target.marked), ("B", "#0057d0", target.second)):
        for number in numbers:
            box = drawn.scene.objects[number].box
            left, top, right, bottom = (edge * image.width / 1000 for edge in (box.xmin, box.ymin, box.xmax, box.ymax))
            tick = min(22.0, (right - left) / 3, (bottom - top) / 3)
            for x, y, across, down in (
                (left, top, 1, 1),
                (right, top, -1, 1),
                (left, bottom, 1, -1),
                (right, bottom, -1, -1),
            ):
                pen.line([(x + across * tick, y), (x, y), (x, y + down * tick)], color, 3)
            at = (max(0.0, left - 4), top - 30 if top > 32 else top)
            pen.rectangle((at[0], at[1], at[0] + 24, at[1] + 28), fill="white", outline=color)
            pen.text((at[0] + 4, at[1]), letter, color, font)
    return image


def draw(folder: Path, key_folder: Path, seed: int, count: int) -> None:
    """Write drawings, sheets and questions, and the key to its own folder."""
    folder.mkdir(parents=True)
    key_folder.mkdir(parents=True, exist_ok=True)
    key: list[dict[str, Any]] = []
    cells: list[Image.Image] = []
    free, choice = ["# Answer freely, one line per drawing\n"], ["# Choose one of four\n"]
    chosen = list(choose_targets(Random(seed), count))
    Random(seed).shuffle(chosen)
    for number, (drawing, target) in enumerate(chosen):
        image = mark(draw_scene(drawing.drawn, IMAGE), drawing.drawn, target)
        image.save(folder / f"{number:03}.png")
        cells.append(image.resize((CELL, CELL), Image.Resampling.LANCZOS))
        letters = "".join(f" ({letter}) {text}." for letter, text in zip("abcd", target.choices, strict=True))
        free.append(f"{number}. {target.question}")
        choice.append(f"{number}. {target.question}{letters}")
        right = "abcd"[target.choices.index(target.answer)]
        key.append({"kind": target.kind, "source": drawing.source, "answer": target.answer, "letter": right})
    for start in range(0, len(cells), COLUMNS * ROWS):
        _sheet(cells[start : start + COLUMNS * ROWS], start).save(folder / f"sheet-{start // (COLUMNS * ROWS):02}.png")
    (folder / "free.md").write_text("\n".join(free) + "\n", encoding="utf-8")
    (folder / "choice.md").write_text("\n".join(choice) + "\n", encoding="utf-8")
    (key_folder / "key.json").write_text(json.dumps(key, indent=0), encoding="utf-8")


def _sheet(cells: Sequence[Image.Image], start: int) -> Image.Image:
    sheet = Image.new("RGB", (COLUMNS * (CELL + 6), ROWS * (CELL + 6)), "white")
    pen = ImageDraw.Draw(sheet)
    for place, cell in enumerate(cells):
        at = (place % COLUMNS * (CELL + 6), place // COLUMNS * (CELL + 6))
        sheet.paste(cell, at)
        pen.rectangle((at[0] + CELL - 44, at[1], at[0] + CELL, at[1] + 22), fill="white")
        pen.text((at[0] + CELL - 40, at[1] + 1), str(start + place), "black", ImageFont.load_default(18))
    return sheet


def score(answers: Path, key_folder: Path) -> None:
    """Print how many questions of each kind were answered rightly by choice, with 95 % intervals, and the others."""
    key = json.loads((key_folder / "key.json").read_text(encoding="utf-8"))
    letters = dict(re.findall(r"^\s*(\d+)\s*[:.]\s*\(?([a-dA-D])\b", answers.read_text(encoding="utf-8"), re.MULTILINE))
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for number, row in enumerate(key):
        asked[row["kind"]] += 1
        if letters.get(str(number), "").lower() == row["letter"]:
            right[row["kind"]] += 1
        else:
            print(
                f"{number} ({row['source']}): {row['answer']!r} is {row['letter']}, answered {letters.get(str(number))}"
            )
    print("| asked about | right by choice | 95 % interval |\n| --- | ---: | --- |")
    for kind, total in [*asked.items(), ("all", asked.total())]:
        hits = right.total() if kind == "all" else right[kind]
        low, high = clopper_pearson(hits, total)
        print(f"| {kind} | {hits} of {total} | {low:.0%} to {high:.0%} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("action", choices=("draw", "score"))
    options.add_argument("path", type=Path, help="the folder to write to, or the file of answers")
    options.add_argument("key", type=Path, help="the folder of the key")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=100)
    chosen = options.parse_args()
    if chosen.action == "draw":
        draw(chosen.path, chosen.key, chosen.seed, chosen.count)
    else:
        score(chosen.path, chosen.key)


if __name__ == "__main__":
    main()
