"""Two items are the same if they ask for the same, in whatever order and words."""

from __future__ import annotations

from collections.abc import Hashable

from formalimg.benchmarks.conceptmix.generation import content_key
from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from tests.benchmarks.conceptmix.given import given


def content(text: str, *, bound: bool = True) -> Hashable:
    concepts, binding = given(text)
    asked = [RequestedConcept(*one.concept, f"say {number}", f"{number}?") for number, one in enumerate(concepts)]
    return content_key(ConceptSpec(tuple(asked), binding if bound else None))


def test_the_order_does_not_matter() -> None:
    assert content("red cat | blue dog | 1 left 2 | 2 above 1") == content("blue dog | red cat | 1 above 2 | 2 left 1")
    assert content("red cat | blue dog", bound=False) == content("dog | red blue cat", bound=False)


def test_who_has_what_does() -> None:
    different = [
        "red cat | blue dog",
        "blue cat | red dog",
        "red blue cat | dog",
        "red cat | blue dog | 1 left 2",
        "red cat | blue dog | 2 left 1",
        "red cat | blue dog | 2 right 1",
        "red cat | blue dog | style ink",
        "red cat | blue dog | style manga",
    ]
    assert len({content(text) for text in different}) == len(different)


def test_what_was_added_counts_where_a_relation_names_it() -> None:
    assert content("cat | +table | 1 top 2") != content("cat | +bench | 1 top 2")
    assert content("tiny cat | +table") == content("tiny cat | +bench")
