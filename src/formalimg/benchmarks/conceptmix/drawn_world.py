"""The world of ConceptMix as built-in models draw it: its nouns, its words, and how much of them the reader forgets."""

from __future__ import annotations

from collections.abc import Iterator

from formalimg.benchmarks.conceptmix.plausibility import pool_objects, reference_objects
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.words import noun_forms, plural_of
from formalimg.drawing.catalog import drawn_catalog
from formalimg.models.builtin.drawn_world import DrawnWorld, Meaning, MisreadRates, WorldNoun


def _nouns() -> Iterator[WorldNoun]:
    for thing in (*pool_objects(), *reference_objects()):
        one, many, also = noun_forms(thing.name)
        yield WorldNoun(thing.name, one, many, (*also, *thing.names, *map(plural_of, thing.names)))


def _phrases() -> Iterator[tuple[str, Meaning]]:
    pools = load_pools(profile="official-code")
    for item in drawn_catalog().classes:
        forms = noun_forms(item)
        yield from ((text.replace("-", " "), ("class", item)) for text in (*forms.one, *forms.many))
    for category in ("color", "shape", "texture", "style"):
        kind = "material" if category == "texture" else category
        yield from ((value, (kind, value)) for value in pools[category].values)


# Pass rates fall with k as those of published models do; prompts have few facts.
WORLD = DrawnWorld(MisreadRates(0.2, 0.35, 0.15, 0.6, 0.6, 0.3), _nouns, _phrases)
