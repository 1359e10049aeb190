"""Our judges on real generated images: `python benchmarks/real_images.py DRAWBENCH_FOLDER [RUNS_FOLDER]`.

The folder has `prompts.csv` (id, category, prompt) and the images of Stable Diffusion 1.4 and 2.1 as `MODEL/ID.jpg`.
What 170 of them show is in `real_images/labels.csv`, read by a multimodal language model: see the README beside it. All
thresholds were chosen on SD 1.4, so its rows flatter the judge; those of SD 2.1 do not.

Printed, each with exact 95 % intervals:

1. the eyes, thing by thing: classes that a prompt names and that both readings saw (or both did not), their numbers in
   Counting, and the colours of single objects;
2. the pipeline, from the prompt to the verdict: unscored images, pass rates by each eye and by the labels, sensitivity
   and specificity;
3. the claim about the two models, decided by the judge alone, with 50 and with 100 labelled images (both models' images
   of 25 and 50 prompts), and by the labels alone, with the rates of both: over random draws of the labelled prompts.

With `RUNS_FOLDER`, verdicts are kept there, and the same command looks at nothing twice. An hour on two cores.
"""

from __future__ import annotations

import csv
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from decisions import Difference, World, by_both, by_judge, by_labels

from formalimg import score
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.runs.reader import open_run
from formalimg.stats.corrected import corrected_rate
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Verdict

LABELS = Path(__file__).parent / "real_images" / "labels.csv"
MODELS = ("sd-1.4", "sd-2.1")
EYES = ("yolov3+ssd", "yolov3", "ssd")
"""Networks of `detector/coco`, the default first."""
READER = "ocr/rapidocr"
TEXT = "Text"
CATEGORIES = ("Colors", "Counting", "Positional", TEXT)
DRAWS = 1_000

_OBJECT = re.compile(r"(\d+) ([^;(]+?)(?: \(([^)]*)\))?(?:; |$)")


class Label(NamedTuple):
    """What the readings say of one image."""

    model: str
    item: str
    category: str
    passes: bool
    objects: tuple[Mapping[str, SeenClass], Mapping[str, SeenClass]]


class SeenClass(NamedTuple):
    """How many objects of a class a reading saw, and their colours."""

    number: int
    colors: tuple[str, ...]


class Judged(NamedTuple):
    """What a judge says of an image: its verdict, None if it is unscored, and the objects that it found."""

    passes: bool | None
    objects: Sequence[Mapping[str, Any]] = ()


def read_labels(path: Path = LABELS) -> list[Label]:
    """Return the labels of all images."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Label(
                row["model"],
                row["id"],
                row["category"],
                row["pass"] == "yes",
                (_read_objects(row["objects_1"]), _read_objects(row["objects_2"])),
            )
            for row in csv.DictReader(file)
        ]


def _read_objects(text: str) -> Mapping[str, SeenClass]:
    return {
        found[2]: SeenClass(int(found[1]), tuple(found[3].split(", ")) if found[3] else ())
        for found in _OBJECT.finditer(text)
    }


def judge_images(
    folder: Path, runs: Path, prompts: Mapping[str, str], labels: Sequence[Label], eye: str
) -> list[Judged]:
    """Return what a judge says of the images of these labels."""
    images = [str(folder / label.model / f"{label.item}.jpg") for label in labels]
    judge, options = (READER, {}) if eye == READER else ("detector/coco", {"network": eye})
    texts = [prompts[label.item] for label in labels]
    # Drawings, by which judges are tried first, are not what a detector for photographs was trained on.
    scores = score(
        images,
        texts,
        judge,
        judge_options=options,
        preflight=False,
        folder=runs / f"{labels[0].model}-{eye.rpartition('/')[2]}",
    )
    by_item = {judged.outcome.item: judged.verdict for judged in open_run(Path(str(scores.folder))).judged()}
    return [Judged(each.passed, _objects_of(by_item.get(each.item))) for each in scores]


def _objects_of(verdict: object) -> Sequence[Mapping[str, Any]]:
    scene = verdict.evidence.get("scene") if isinstance(verdict, Verdict) else None
    return scene["objects"] if isinstance(scene, Mapping) else ()


def named_classes(prompt: str) -> list[str]:
    """Return the classes of COCO that a prompt names."""
    return [name for name in coco_classes().ids if re.search(rf"\b{name}s?\b", prompt.lower())]


# --- the eyes, thing by thing


class Thing(NamedTuple):
    """A class that a prompt names: what both readings and the eye say of it."""

    category: str
    number: int | None
    is_there: bool | None
    colors: tuple[str, ...]
    main_colors: tuple[str, ...]
    found: int
    found_color: str | None


def list_things(labels: Sequence[Label], judged: Sequence[Judged], prompts: Mapping[str, str]) -> Iterator[Thing]:
    """Yield the named classes of all images that were scored."""
    find = coco_classes().find
    for label, seen in zip(labels, judged, strict=True):
        if seen.passes is None or label.category == TEXT:
            continue
        for name in named_classes(prompts[label.item]):
            readings = [next((own for word, own in each.items() if find(word) == name), None) for each in label.objects]
            both = [each for each in readings if each is not None]
            if len(both) < len(readings):
                continue
            counts = {each.number for each in both}
            is_there = None if 0 in counts and len(counts) > 1 else 0 not in counts
            mine = [each for each in seen.objects if find(str(each["label"])) == name]
            is_single = counts == {1} and len(mine) == 1
            yield Thing(
                label.category,
                both[0].number if len(counts) == 1 else None,
                is_there,
                tuple(color for each in both for color in each.colors) if is_single else (),
                tuple(each.colors[0] for each in both if each.colors) if is_single else (),
                len(mine),
                str(mine[0].get("color")) if is_single else None,
            )


def share(values: Iterable[bool]) -> str:
    """Return a share with its exact interval."""
    listed = list(values)
    if not listed:
        return "–"
    low, high = clopper_pearson(sum(listed), len(listed))
    return f"{sum(listed)} of {len(listed)}, {fmean(listed):.2f} ({low:.2f}–{high:.2f})"


def print_things(model: str, eye: str, things: Sequence[Thing]) -> None:
    """Print a row of the first table."""
    cells = [
        share(thing.found > 0 for thing in things if thing.is_there),
        share(thing.found == 0 for thing in things if thing.is_there is False),
        share(
            thing.found == thing.number for thing in things if thing.category == "Counting" and thing.number is not None
        ),
        share(thing.found_color in thing.main_colors for thing in things if thing.main_colors),
        share(thing.found_color in thing.colors for thing in things if thing.colors),
    ]
    print_row(model, eye, *cells)


# --- the pipeline


def print_verdicts(model: str, eye: str, category: str, labels: Sequence[Label], judged: Sequence[Judged]) -> None:
    """Print a row of the second table."""
    pairs = [(label.passes, seen.passes) for label, seen in zip(labels, judged, strict=True)]
    scored = [(truth, bool(passes)) for truth, passes in pairs if passes is not None]
    print_row(
        *(model, eye, category, f"{len(scored)} / {len(pairs) - len(scored)}"),
        share(passes for _, passes in scored),
        share(truth for truth, _ in pairs),
        share(passes for truth, passes in scored if truth),
        share(not passes for truth, passes in scored if not truth),
        share(passes == truth for truth, passes in scored),
    )


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print("|", " | ".join(cells), "|", flush=True)


def print_header(title: str, *names: str) -> None:
    """Print the head of a Markdown table."""
    print(f"\n{title}\n")
    print_row(*names)
    print_row(*("---" for _ in names))


# --- the claim


def print_claims(world: World, eye: str) -> None:
    """Print how often SD 1.4 is said to be better than SD 2.1, and how well its lead is known."""
    pair = (MODELS[0], MODELS[1])
    truth, prompts = world.truth(pair), world.prompts
    ways: list[tuple[str, Callable[..., Difference], int]] = [
        ("judge alone", by_judge, 0),
        *((f"{2 * count} labelled images", by_both, count) for count in (25, 50)),
        *((f"labels alone, {2 * count} images", by_labels, count) for count in (25, 50)),
    ]
    for name, decide, count in ways:
        chance = random.Random(name)
        drawn = [set(chance.sample(range(len(prompts)), count)) for _ in range(DRAWS if count else 1)]
        decided = [decide(world, pair, prompts, labelled) for labelled in drawn]
        print_row(
            eye,
            name,
            *(_corrected_rate(world, model, drawn) for model in pair),
            f"{100 * fmean(each.estimate for each in decided):.1f}",
            f"±{50 * fmean(each.interval.high - each.interval.low for each in decided):.1f}",
            f"{fmean(each.p <= 0.05 and each.estimate > 0 for each in decided):.2f}",
            f"{fmean(each.p <= 0.05 and each.estimate * truth < 0 for each in decided):.2f}",
            f"{fmean(each.interval.low <= truth <= each.interval.high for each in decided):.2f}",
        )


def _corrected_rate(world: World, model: str, drawn: Sequence[set[int]]) -> str:
    """Return the pass rate of a model, corrected by the labels of drawn prompts: the means over all draws."""
    judge, people, prompts = world.judge[model], world.people[model], world.prompts
    passes = sum(judge[prompt] for prompt in prompts)
    if not drawn[0]:
        return f"{100 * passes / len(prompts):.1f}"
    rates = [
        corrected_rate(
            passes, len(prompts), [(judge[prompts[number]], people[prompts[number]]) for number in sorted(labelled)]
        )
        for labelled in drawn
    ]
    half = fmean(rate.high - rate.low for rate in rates) / 2
    return f"{100 * fmean(rate.estimate for rate in rates):.1f} ±{100 * half:.1f}"


def main(folder: Path, runs: Path) -> None:
    """Judge all labelled images, and print the three tables."""
    with (folder / "prompts.csv").open(encoding="utf-8", newline="") as file:
        prompts = {row["id"]: row["prompt"] for row in csv.DictReader(file)}
    labels = read_labels()
    seen: dict[tuple[str, str, str], Judged] = {}
    for model in MODELS:
        for eye in (*EYES, READER):
            own = [label for label in labels if label.model == model and (label.category == TEXT) == (eye == READER)]
            try:
                judged = judge_images(folder, runs, prompts, own, eye)
            except FormalimgError as error:
                print(f"{model}, {eye}: {error}", file=sys.stderr)
                judged = [Judged(None)] * len(own)
            seen |= {(model, eye, label.item): each for label, each in zip(own, judged, strict=True)}
    print_header(
        "Thing by thing", "model", "eye", "is there", "is not there", "number", "main colour", "a colour of it"
    )
    for model in MODELS:
        for eye in EYES:
            own = [label for label in labels if label.model == model and label.category != TEXT]
            print_things(model, eye, list(list_things(own, [seen[model, eye, each.item] for each in own], prompts)))
    columns = ("scored / unscored", "passes", "labels", "sensitivity", "specificity", "accuracy")
    print_header("Verdicts", "model", "eye", "category", *columns)
    for model in MODELS:
        for category in CATEGORIES:
            own = [label for label in labels if (label.model, label.category) == (model, category)]
            for eye in (READER,) if category == TEXT else EYES:
                print_verdicts(model, eye, category, own, [seen[model, eye, each.item] for each in own])
    print_header(
        "SD 1.4 minus SD 2.1, in points",
        "eye",
        "decided by",
        *MODELS,
        "difference",
        "95 %",
        "claimed",
        "reversed",
        "covered",
    )
    people = {model: {each.item: each.passes for each in labels if each.model == model} for model in MODELS}
    for eye in EYES:
        by_eye = {model: verdicts_of(model, eye, labels, seen) for model in MODELS}
        print_claims(World(by_eye, people), eye)


def verdicts_of(
    model: str, eye: str, labels: Sequence[Label], seen: Mapping[tuple[str, str, str], Judged]
) -> dict[str, bool]:
    """Return the verdicts on the images that were scored: of the reader on texts, of an eye on others."""
    chosen = {
        label.item: seen[model, READER if label.category == TEXT else eye, label.item].passes
        for label in labels
        if label.model == model
    }
    return {item: passes for item, passes in chosen.items() if passes is not None}


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as made:
        main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else made))
