"""Measures the English of prompts by level, beside the published ones: length, sentences, vocabulary, and odd wording.

For maintainers, after a change of the wording or of what is synthesised: `python -m tools.prompt_statistics knolling
natural [--reworded] [--published FOLDER]` prints one table per suite.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite as benchmark
from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.syntax import Forall, Formula, atoms, subformulas
from formalimg.types import Item

PUBLISHED = Path(__file__).parents[2] / "shared" / "official" / "formalimg" / "benchmarks"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[A-Za-z0-9'-]+")
_DRAWS = 50
"""How many subsets of the size of the published set are drawn to count distinct words."""


class Prompt(NamedTuple):
    """A prompt, its level, and the formula that it states."""

    level: int
    text: str
    formula: Formula


class PromptStatistics(NamedTuple):
    """Measures of prompts of one level, or of all; shares are from 0 to 1."""

    prompts: int
    words: float
    words_per_atom: float
    sentences: float
    words_per_sentence: float
    semicolons: float
    orders: float
    universal: float


def measure_prompts(prompts: Sequence[Prompt]) -> PromptStatistics:
    """Return the measures of prompts: words and sentences are medians, words per atom and per sentence are pooled."""
    texts = [prompt.text for prompt in prompts]
    lengths = [len(_WORD.findall(text)) for text in texts]
    counts = [len(_SENTENCE_END.split(text.strip())) for text in texts]
    atom_count = sum(len(list(atoms(prompt.formula))) for prompt in prompts)
    universal = [any(isinstance(part, Forall) for part in subformulas(prompt.formula)) for prompt in prompts]
    return PromptStatistics(
        len(texts),
        statistics.median(lengths),
        sum(lengths) / atom_count,
        statistics.median(counts),
        sum(lengths) / sum(counts),
        statistics.mean(";" in text for text in texts),
        statistics.mean("in this order" in text for text in texts),
        statistics.mean(universal),
    )


def count_distinct_words(prompts: Sequence[Prompt], sizes: dict[int, int]) -> float:
    """Return the mean number of distinct words in random subsets with so many prompts of each level."""
    rng = random.Random(0)
    by_level = {level: [prompt for prompt in prompts if prompt.level == level] for level in sizes}
    numbers = []
    for _ in range(_DRAWS):
        chosen = [
            p for level, size in sizes.items() for p in rng.sample(by_level[level], min(size, len(by_level[level])))
        ]
        numbers.append(len({word.lower() for prompt in chosen for word in _WORD.findall(prompt.text)}))
    return statistics.mean(numbers)


def read_published(folder: Path) -> list[Prompt]:
    """Return the published prompts of a folder with one JSON file each."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [Prompt(record["k"], record["prompt"], parse(record["dsl"])) for record in records]


def read_default_items(suite: str, *, reworded: bool, step: int) -> Iterator[Prompt]:
    """Yield the prompts of the default items, as they are stored or as `realize` words them now."""
    items: list[Item[FormulaSpec]] = load(suite)
    for number, item in enumerate(items[::step]):
        formula = item.spec.formula
        if formula is not None:
            text = realize(formula, benchmark(suite).vocabulary, seed=number) if reworded else item.prompt
            yield Prompt(item.level, text, formula)


def format_table(ours: Sequence[Prompt], published: Sequence[Prompt]) -> Iterator[str]:
    """Yield the lines of a Markdown table by level; each cell is ours, with the published value behind a stroke."""
    yield "| K | words | words/atom | sentences | words/sentence | semicolons | in this order | forall |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for level in (*sorted({prompt.level for prompt in ours}), None):
        sides = [[p for p in prompts if level in (None, p.level)] for prompts in (ours, published)]
        rows = [measure_prompts(side)[1:] if side else None for side in sides]
        forms = ("g", ".1f", "g", ".1f", ".0%", ".0%", ".0%")
        cells = [
            " / ".join(format(row[place], form) for row in rows if row is not None) for place, form in enumerate(forms)
        ]
        yield f"| {'all' if level is None else level} | {' | '.join(cells)} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("suites", nargs="+", help="knolling, natural or knolling-counts")
    options.add_argument("--published", type=Path, default=PUBLISHED, help="folder with the published prompts")
    options.add_argument("--reworded", action="store_true", help="word the formulas anew instead of the stored texts")
    options.add_argument("--step", type=int, default=1, help="take only every so many items (default: all)")
    chosen = options.parse_args()
    for suite in chosen.suites:
        ours = list(read_default_items(suite, reworded=chosen.reworded, step=chosen.step))
        published = read_published(chosen.published / suite)
        print(
            f"\n{suite}: {len(ours):,} prompts / {len(published)} published\n", *format_table(ours, published), sep="\n"
        )
        sizes = {level: sum(p.level == level for p in published) or 3 for level in {p.level for p in ours}}
        words = [f"{count_distinct_words(side, sizes):.0f}" for side in (ours, published) if side]
        print(f"\ndistinct words in {sum(sizes.values())} prompts: {' / '.join(words)}")


if __name__ == "__main__":
    main()
