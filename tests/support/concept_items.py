"""Items of ConceptMix made by hand, and a chat model that answers their questions by what it is told."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.benchmarks.conceptmix.spec import ConceptSpec, RequestedConcept
from formalimg.scenes.scene import Scene
from formalimg.types import Item
from tests.support.scripted_chat import Asked, Known, Script

CAT = RequestedConcept("object", "cat", "the image contains one or more cats", "Does the image contain a cat?", (1,))
RED = RequestedConcept("color", "red", "the color of the cat is red", "Is the cat red?", (1,))
GLASS = RequestedConcept("texture", "glass", "the cat has a glass texture", "Does the cat look like glass?", (1,))
TWO = RequestedConcept("number", "2", "the number of cats is exactly 2", "Are there exactly two cats?", (1,))
INK = RequestedConcept("style", "ink", "the style of the image is ink", "Is the image an ink drawing?")

NOTHING = Known(Scene.of([]))
"""What an image shows does not matter to who answers by a script."""


def concept_item(*concepts: RequestedConcept, number: int = 0) -> Item[ConceptSpec]:
    """An item that asks for these concepts."""
    prompt = f"An image, number {number}."
    return Item("conceptmix", str(number), max(1, len(concepts) - 1), prompt, ConceptSpec(concepts), (), "1")


def questions_in(words: str) -> list[str]:
    """The questions at the end of what a chat model is sent; numbered ones are numbered right."""
    alone = words.rpartition("The question:\n")[2] if "The question:\n" in words else None
    if alone is not None:
        return [alone]
    lines = words.rpartition("The questions:\n")[2].splitlines()
    assert [line.partition(". ")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    return [line.partition(". ")[2] for line in lines]


def answers_by(said: Mapping[str, str]) -> Script:
    """Answers each question with these words, in the form that is asked for."""

    def script(asked: Asked) -> dict[str, object]:
        return answer_of(asked.words, said)

    return script


def answer_of(words: str, said: Mapping[str, str]) -> dict[str, object]:
    """The answer to what a chat model is sent."""
    entries: list[dict[str, object]] = [
        {"observation": f"saw: {question}", "answer": said[question]} for question in questions_in(words)
    ]
    if "The question:\n" in words:
        return entries[0]
    return {"answers": [{"number": number, **entry} for number, entry in enumerate(entries, 1)]}
