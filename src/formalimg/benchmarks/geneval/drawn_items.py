"""Items of the six tasks that can be drawn, in our own words: what judges are certified by, without published data."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from random import Random
from typing import Any

from formalimg.benchmarks.geneval.spec import TAGS
from formalimg.benchmarks.object_spec import OBJECT_COLORS, RELATIONS, ExcludedObjects, IncludedObjects, ObjectSpec
from formalimg.logic.vocabulary import vocabulary
from formalimg.types import Item


def make_drawn_items(suite: str) -> list[Item[Any]]:
    """Return items of all tasks with classes and colours that can be drawn; always the same, so that ids are known."""
    rng = Random("drawn items")
    items: list[Item[Any]] = []
    for level, tag in enumerate(TAGS, 1):
        asked: dict[ObjectSpec, str] = {}
        # Some combinations come twice, so more are drawn than are kept; of single objects there are few.
        for spec, prompt in islice(_specs(tag, rng), 4 * _words()["per_task"]):
            asked.setdefault(spec, prompt)
        kept = islice(asked.items(), _words()["per_task"])
        items += [Item(suite, f"{tag}-{n}", level, prompt, spec, (tag,)) for n, (spec, prompt) in enumerate(kept)]
    return items


@cache
def _words() -> dict[str, Any]:
    text = (files("formalimg.benchmarks.geneval") / "drawn_items.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _specs(tag: str, rng: Random) -> Iterator[tuple[ObjectSpec, str]]:
    """Yield specs of a task with their prompts, at random, without end."""
    words = _words()
    known = vocabulary("knolling").words["color"]
    colors = [color for color in OBJECT_COLORS if color in known]
    while True:
        first, second = rng.sample(words["classes"], 2)
        one, other = rng.sample(colors, 2)
        number = rng.choice(list(words["counts"]))
        relation = rng.choice(RELATIONS)
        exclude: tuple[ExcludedObjects, ...] = ()
        match tag:
            case "single_object":
                include = [IncludedObjects(first, 1)]
                said = _one(first)
            case "two_object":
                include = [IncludedObjects(first, 1), IncludedObjects(second, 1)]
                said = f"{_one(first)} and {_one(second)}"
            case "counting":
                include = [IncludedObjects(first, int(number))]
                exclude = (ExcludedObjects(first, int(number) + 1),)
                said = f"{words['counts'][number]} {words['many'].get(first, f'{first}s')}"
            case "colors":
                include = [IncludedObjects(first, 1, one)]
                said = _one(first, one)
            case "position":
                include = [IncludedObjects(second, 1), IncludedObjects(first, 1, "", relation, 0)]
                said = f"{_one(first)} {words['places'][relation]} {_one(second)}"
            case _:
                include = [IncludedObjects(first, 1, one), IncludedObjects(second, 1, other)]
                said = f"{_one(first, one)} and {_one(second, other)}"
        yield ObjectSpec(tag, tuple(include), exclude), f"a photo of {said}"


def _one(label: str, color: str = "") -> str:
    """Return one object with its article: "an apple", "a red apple"."""
    phrase = f"{color} {_words()['one'].get(label, label)}".strip()
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"
