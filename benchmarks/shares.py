"""What of published prompts logic can decide: the tables of docs/guides/translate.md.

Each file is loaded as its suite loads it. Its prompts are read by our reader alone, without a model, with three
vocabularies; its own data is translated where it says what to look for; the rest stays questions. The files are not
part of the repository: what is not there is left out, and named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.benchmarks.geneval2 import judge as geneval2
from formalimg.benchmarks.loader import load_with_skipped
from formalimg.benchmarks.object_spec import ObjectSpec, to_formula
from formalimg.benchmarks.odd_records import odd_tags
from formalimg.benchmarks.questions.spec import QuestionSpec
from formalimg.errors import FormalimgError
from formalimg.scoring.translation import translate_by_reader, translation_words
from formalimg.types import Item


class _Published(NamedTuple):
    """A published file: what it is called, the suite that loads it, and where it lies in the folder."""

    title: str
    suite: str
    place: str


FILES = (
    _Published("GenEval", "geneval", "geneval/evaluation_metadata.jsonl"),
    _Published("GenEval 2, every 10th", "geneval2", "geneval2"),
    _Published("DSG-1k", "questions", "dsg/dsg-1k-anns.csv"),
    _Published("T2I-CoReBench, four files", "questions", "corebench"),
    _Published("ConceptMix, k = 1 to 7", "conceptmix", "conceptmix/sentence_collection"),
)
CLASSES = "geneval/object_names.txt"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path, help="the folder that holds the published files, by benchmark")
    folder = options.parse_args().folder
    there = [(each, folder / each.place) for each in FILES if (folder / each.place).exists()]
    for each in FILES:
        if not (folder / each.place).exists():
            print(f"{each.title}: there is no {folder / each.place}", file=sys.stderr)
    loaded = [(each.title, *_load(each, place)) for each, place in there]

    print("| prompts | loaded | odd | skipped | formula from its data | questions | with a formula | stay questions |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for title, items, skipped in loaded:
        print(
            f"| {title} | {len(items):,} | {_odd(items):,} | {skipped:,} | {' | '.join(_by_data(items))} |", flush=True
        )

    vocabularies = {"`natural`": "natural", "`open`": "open"}
    if (folder / CLASSES).exists():
        vocabularies["a file with GenEval's class names"] = str(folder / CLASSES)
    print(f"\n| prompts | | {' | '.join(vocabularies)} |")
    print(f"| --- | ---: |{' ---: |' * len(vocabularies)}")
    for title, items, _ in loaded:
        prompts = list(dict.fromkeys(item.prompt for item in items if item.prompt))
        cells = [_share(_read(prompts, name), len(prompts)) for name in vocabularies.values()]
        print(f"| {title} | {len(prompts):,} | {' | '.join(cells)} |", flush=True)


def _load(published: _Published, place: Path) -> tuple[list[Item[Any]], int]:
    loaded = load_with_skipped(published.suite, place)
    return loaded.items, len(loaded.skipped)


def _odd(items: Sequence[Item[Any]]) -> int:
    return sum(bool(odd_tags(item.tags)) for item in items)


def _by_data(items: Sequence[Item[Any]]) -> tuple[str, str, str, str]:
    """Return how many items are formulas by their own data, and what becomes of their questions."""
    asked = [
        one for item in items for one in getattr(item.spec, "questions", ()) if isinstance(item.spec, QuestionSpec)
    ]
    asked_of_concepts = sum(len(getattr(item.spec, "concepts", ())) for item in items)
    if asked:
        decided = sum(geneval2.question_formula(one) is not None for one in asked)
        whole = sum(geneval2.is_decidable(item) for item in items)
        return _share(whole, len(items)), f"{len(asked):,}", _share(decided, len(asked)), f"{len(asked) - decided:,}"
    if asked_of_concepts:
        return "–", f"{asked_of_concepts:,}", "–", f"{asked_of_concepts:,}"
    return _share(sum(_succeeds(to_formula, item.spec) for item in items), len(items)), "–", "–", "–"


def _succeeds(translate: Callable[[ObjectSpec], object], spec: ObjectSpec) -> bool:
    try:
        translate(spec)
    except (FormalimgError, IndexError):  # a record without objects, or with words that no formula can quote
        return False
    return True


def _read(prompts: Sequence[str], vocabulary: str) -> int:
    words = translation_words(vocabulary)
    return sum(translate_by_reader(prompt, words).formula is not None for prompt in prompts)


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else "–"


if __name__ == "__main__":
    main()
