"""What is particular to FormalImg: formulas, and when two of them say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from formalimg.authoring.conversation import Conversation
from formalimg.authoring.formulas.attempting import Attempt
from formalimg.authoring.formulas.texts import Texts
from formalimg.authoring.outcome import Outcome
from formalimg.authoring.plan import Slot, WritingPlan
from formalimg.authoring.shelf import Likeness, Shelf
from formalimg.logic import Value, atoms
from formalimg.suites import FormulaSpec, WordingError, same_meaning_as_written

_NEAR = 0.8


class FormulaCraft:
    """How items of FormalImg are written."""

    def __init__(self, plan: WritingPlan, prompts: Path | None) -> None:
        self._plan = plan
        self._texts = Texts(plan.suite, prompts)

    @property
    def likeness(self) -> Likeness:
        """Items are the same if their formulas say the same up to names and order."""
        return Likeness(_signature, _same, "duplicate formula", _NEAR)

    @property
    def shapes(self) -> Mapping[str, object]:
        """The versions of the texts."""
        return {"prompts": self._texts.versions}

    async def attempt(self, slot: Slot, number: int, talk: Conversation, shelf: Shelf) -> Outcome:
        """Make one attempt."""
        return await Attempt(self._plan, slot, number, talk, self._texts, shelf).made()

    def summary(self, tried: Sequence[Outcome], accepted: Sequence[Outcome]) -> Mapping[str, object]:
        """How many prompts the checker mended, and what our own reader said of the words."""
        read = Counter(outcome.notes.get("agreement") or "not understood" for outcome in accepted)
        return {
            "polished": sum(bool(outcome.notes.get("polished")) for outcome in accepted),
            "words_read_by_us": dict(sorted(read.items())),
        }


def _signature(spec: FormulaSpec) -> Hashable:
    return tuple(
        sorted(
            (atom.predicate, *(word.text for word in atom.arguments if isinstance(word, Value)))
            for atom in atoms(spec.formula)
        )
    )


def _same(one: FormulaSpec, other: FormulaSpec) -> bool:
    try:
        return same_meaning_as_written(one.formula, other.formula)
    except WordingError:
        return True  # too many variables look alike to tell: what may be a duplicate is not taken
