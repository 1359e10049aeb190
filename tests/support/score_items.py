"""Items of CF-World made by hand, and answers to their questions by what is to be said."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec, WeightedQuestion
from formalimg.types import Item
from tests.support.scripted_chat import Asked, Script

SHARP = WeightedQuestion("integrity", "Is it sharp?", "1: sharp. 0: blurred.", 3)
RISES = WeightedQuestion("assessment", "Does the apple fall up?", "1: up. 0.5: it floats. 0: down.", 15)
LEAVES = WeightedQuestion("logic", "Do the leaves fall up?", "1: all do. 0: one does not.", 8)
WATER = WeightedQuestion("logic", "Does the water run up?", "1: it does. 0: it does not.", 8)
TREE = WeightedQuestion("adherence", "Is there a tree?", "1: yes. 0: no.", 2)


def score_item(
    *questions: WeightedQuestion, level: int = 2, number: int = 0, suite: str = "cf-world"
) -> Item[CounterfactualSpec]:
    """An item that is judged by these questions."""
    spec = CounterfactualSpec(f"g{number}", "The apple falls up.", questions)
    return Item(suite, f"g{number}-l{level}", level, f"An apple, number {number}.", spec, ("physics",), "1")


def questions_in(words: str) -> dict[str, str]:
    """The questions at the end of what a chat model is sent, which are numbered right, and their criteria."""
    lines = words.rpartition("The questions:\n")[2].splitlines()
    asked, criteria = lines[::2], lines[1::2]
    assert [line.partition(". ")[0] for line in asked] == [str(number) for number in range(1, len(asked) + 1)]
    assert all(line.startswith("   Criteria: ") for line in criteria)
    return {
        question.partition(". ")[2]: rule.removeprefix("   Criteria: ")
        for question, rule in zip(asked, criteria, strict=True)
    }


def scores_by(said: Mapping[str, object], form: str = "numbered") -> Script:
    """Gives each question this score, in the form that is asked for."""

    def script(asked: Asked) -> dict[str, object]:
        return answer_of(asked.words, said, form)

    return script


def answer_of(words: str, said: Mapping[str, object], form: str = "numbered") -> dict[str, object]:
    """The answer to what a chat model is sent."""
    entries = [{"reasoning": f"saw: {question}", "score": said[question]} for question in questions_in(words)]
    if form == "published":
        return {str(number): entry for number, entry in enumerate(entries, 1)}
    return {"answers": [{"number": number, **entry} for number, entry in enumerate(entries, 1)]}
