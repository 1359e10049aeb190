"""Prints what the words of prompts are like: `python tools/prompt_vocabulary.py SUITE[=PATH] …`, one table for each.

As in `python tools/prompt_vocabulary.py conceptmix conceptmix=@2 conceptmix=../shared/official/conceptmix`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import median

from formalimg.benchmarks.loader import load

_WORD = re.compile(r"[a-z]+")
_PLACEMENTS = "placed positioned located situated arranged found set put displayed seated stationed suspended parked"


def main(sources: Sequence[str]) -> None:
    for source in sources:
        suite, _, path = source.partition("=")
        items = load(suite, path or None)
        levels = sorted({item.level for item in items})
        print(f"{source}: {len(items):,} prompts")
        print("level  distinct words  words per prompt  words per sentence  verbs of pose and place")
        for name, prompts in [
            *((str(level), [item.prompt for item in items if item.level == level]) for level in levels),
            ("all", [item.prompt for item in items]),
        ]:
            print(f"{name:>5}  {_statistics(prompts)}")


def _statistics(prompts: Sequence[str]) -> str:
    words = Counter(word for prompt in prompts for word in _words(prompt))
    lengths = [len(list(_words(prompt))) for prompt in prompts]
    sentences = [len(list(_words(each))) for prompt in prompts for each in re.split(r"(?<=[.!?])\s+", prompt)]
    poses = sum(words[word] for word in _pose_words())
    return f"{len(words):14,}  {median(lengths):16g}  {median(sentences):18g}  {poses:23,}"


def _words(text: str) -> Iterator[str]:
    return iter(_WORD.findall(text.lower()))


def _pose_words() -> set[str]:
    """Return the verbs of pose that our prompts may use, in all forms, and verbs of placement."""
    text = (files("formalimg.benchmarks.conceptmix") / "phrasing.toml").read_text(encoding="utf-8")
    forms = {word for pose in tomllib.loads(text)["poses"].values() for form in pose for word in form.split()}
    return (forms | set(_PLACEMENTS.split())) - {"is", "are", "has", "have", "in", "midair", "out"}


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(f"usage: python tools/{Path(__file__).name} SUITE[=PATH] …")
    main(sys.argv[1:])
