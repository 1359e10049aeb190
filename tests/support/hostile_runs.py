"""Runs, a study and files of somebody whose every text is hostile; made once for all outputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from PIL import Image

from formalimg.benchmarks.conceptmix.spec import Category, ConceptSpec, RequestedConcept
from formalimg.benchmarks.items_file import write_items
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.judges.base import LoadedImage
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.manifest import read_manifest, write_manifest
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.rated_runs import opened, take
from tests.support.hostile_text import ALPHABET, EVERYTHING, NAMES

FOLDER = "=evil` $(evil) <b evil>|'\"# \x1b[2J\u202e\u200b\n# evil"
"""The name of a run folder: whatever a file system takes."""

_COUNT = 14
_CATEGORIES: tuple[Category, ...] = ("color", "number", "spatial", "style")
_STARTS = ("=", "@", "-", "\t", "\n# ", "+")
"""Names begin as formulas, lists and headings do."""


class HostileJudge:
    """A judge whose name, settings, reasons and answers are hostile."""

    concurrency = 1

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings: Mapping[str, Setting] = {"a": EVERYTHING, name: name}

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        """Leave every seventh image unscored, and fail what the number of the item has as bits."""
        assert isinstance(item.spec, ConceptSpec)
        number = int(item.id.rpartition("-")[2])
        if number % 7 == 6:
            return Unscored(NAMES[0], EVERYTHING, {"answer": EVERYTHING})  # type: ignore[arg-type]
        parts = tuple(
            Part(
                concept.question, concept.category, float(number >> bit & 1), about=(concept.value,), reason=EVERYTHING
            )
            for bit, concept in enumerate(item.spec.concepts)
        )
        return Verdict(all(part.score for part in parts), parts, {"explanation": EVERYTHING, "answer": "\ud800"})


def hostile_items() -> list[Item[ConceptSpec]]:
    """Items that together have every text of the alphabet, as prompts, values, statements and questions."""
    texts = list(ALPHABET.values())
    items = []
    for number in range(_COUNT):
        chosen = texts[number::_COUNT]
        concepts = tuple(
            RequestedConcept(category, text, text, f"{text}?", ())
            for category, text in zip(_CATEGORIES[: number % 3 + 2], chosen, strict=False)
        )
        items.append(Item("conceptmix", f"item-{number}", len(concepts) - 1, " ".join(chosen), ConceptSpec(concepts)))
    return items


def forge(home: Path) -> None:
    """Make `runs/0`, `runs/1` and `runs/` + FOLDER, `worlds`, `items`, `study` and files."""
    items = hostile_items()
    texts = list(ALPHABET.values())

    def paint(prompt: str, seed: int) -> Image.Image:
        if seed % 9 == 8:
            raise RuntimeError(EVERYTHING)
        return Image.radial_gradient("L").rotate(seed % 360).resize((24, 16))

    for number, (folder, name) in enumerate(zip(("0", "1", FOLDER), (*NAMES, NAMES[0]), strict=False)):
        run = home / "runs" / folder
        config = RunConfig(items, CallableModel(paint, name=f"{_STARTS[number]}{name}"[:990]), size=64)
        for judge in range(2):
            execute(config, run, HostileJudge(f"{_STARTS[number + judge]}{NAMES[-judge]}"[:990]))
        manifest = read_manifest(run)
        forged = replace(manifest, made_with=EVERYTHING, suite_version=NAMES[0], prompts=NAMES[1], odd=NAMES[0])
        write_manifest(replace(forged, matched=NAMES[1], layouts=NAMES[0], created=manifest.created), run)
        note = {"schema": 1, "tags": ["<b evil>", "=evil", "`evil`|"], "note": EVERYTHING[:3900]}
        (run / "tags.json").write_text(json.dumps(note), encoding="utf-8")
    worlds = [
        scored_item(f"{number:03}-l{level}", level, suite="cf-world-rules") for number in range(2) for level in (1, 2)
    ]
    worlds = [replace(item, prompt=EVERYTHING, tags=("physics", NAMES[0])) for item in worlds]
    scores = {item.id: [0.25 * number] for number, item in enumerate(worlds)}
    scored_run(home / "worlds", worlds, scores, model=f"={NAMES[0]}", judge=NAMES[1])
    write_items(items, home / "items")
    execute(
        RunConfig(items[:2], CallableModel(paint, name=NAMES[1]), size=64), home / "small" / "0", HostileJudge(NAMES[0])
    )
    (home / "items.csv").write_text(
        csv_rows(
            ["item", "prompt", "question", "question_id"],
            [[f"cup-{number}", text, text, "1"] for number, text in enumerate(NAMES)],
        ),
        encoding="utf-8",
    )
    (home / "answers.csv").write_text(
        csv_rows(
            ["model", "item", "sample", "question", "answer"],
            [
                [name, item, "0", "1", answer]
                for name in NAMES
                for item in ("cup-0", "cup-1", "evil")
                for answer in ("yes",)
            ],
        ),
        encoding="utf-8",
    )
    with opened(home / "runs" / "0", home / "runs" / "1") as runs:
        create_study(home / "study", runs, "questions", raters=2, per_image=2)
    with open_study(home / "study") as study:
        for rater in ("rater-1", "rater-2"):
            take(study, rater, lambda task, step: step.kind != "likert" or 3, 3)
    (home / "captions.txt").write_text("".join(f"{' '.join(text.split())}\n" for text in texts), encoding="utf-8")
    (home / "captions.jsonl").write_text("".join(f"{json.dumps({'caption': text})}\n" for text in texts))


def csv_rows(heads: list[str], rows: list[list[str]]) -> str:
    """Return a CSV file as anybody writes it."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([heads, *rows])
    return text.getvalue()
