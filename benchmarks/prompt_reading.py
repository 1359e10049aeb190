"""Prompt reading: the share of prompts of each list that are read as formulas for a detector, and samples to check.

Give files: a prompt on each line, a table with a column `prompt` (and `category`, which makes a list of each), or
JSON Lines with `prompt`. Read by sentences alone is what our readers made of a prompt before there was free English.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from random import Random
from typing import Any

from formalimg._util.record_files import read_records
from formalimg.benchmarks.prompt_formulas import read_formula
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.language.free_english import find_unknown_nouns
from formalimg.language.parser import understand
from formalimg.logic.vocabulary import vocabulary

SEED = 36


def read_lists(files: list[Path]) -> dict[str, list[str]]:
    """Return the prompts of each list by its name."""
    lists: dict[str, list[str]] = {}
    for file in files:
        for record in read_records(file, "prompt"):
            folded = {str(key).lower(): value for key, value in record.items()}
            prompt = folded.get("prompt")
            name = f"{file.stem}-{folded['category']}" if "category" in folded else file.stem
            if isinstance(prompt, str) and prompt.strip():
                lists.setdefault(name, []).append(prompt.strip())
    return lists


def is_read_by_sentences(prompt: str, nouns: tuple[str, ...]) -> bool:
    """Return whether the readers of sentences understand a prompt, with any noun."""
    classes = tuple(sorted({*nouns} - {*vocabulary("natural").words["class"]}))
    try:
        understand(prompt, "natural", (*classes, *find_unknown_nouns(prompt, "natural", classes)))
    except FormalimgError:
        return False
    return True


def main() -> None:
    """Print the shares, and write samples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--samples", type=Path, help="folder for LIST.tsv: prompt, formula, words left over")
    parser.add_argument("--size", type=int, default=60)
    options = parser.parse_args()
    nouns = tuple(coco_classes().words)
    print(f"{'list':32} prompts  by sentences  read  with nothing left over")
    for name, prompts in read_lists(options.files).items():
        read: list[tuple[str, Any]] = [(prompt, read_formula(prompt, nouns)) for prompt in prompts]
        rows = [(prompt, spec.text, spec.left_over) for prompt, spec in read if isinstance(spec, QuestionSpec)]
        before = sum(is_read_by_sentences(prompt, nouns) for prompt in prompts)
        whole = sum(not left for *_, left in rows)
        shares = [f"{100 * count / len(prompts):5.1f} %" for count in (before, len(rows), whole)]
        print(f"{name:32} {len(prompts):7} {shares[0]:>13} {shares[1]:>9} {shares[2]:>10}", flush=True)
        if options.samples:
            options.samples.mkdir(parents=True, exist_ok=True)
            with (options.samples / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, delimiter="\t", lineterminator="\n")
                writer.writerow(("prompt", "formula", "left over"))
                writer.writerows(sorted(Random(SEED).sample(rows, min(options.size, len(rows)))))


if __name__ == "__main__":
    main()
