"""What an image is scored by: an item of a suite, a formula, or questions of one's own."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.logic import (
    ClauseKind,
    Formula,
    FormulaError,
    Prepared,
    check,
    complexity,
    parse,
    prepare,
    vocabulary_names,
)
from formalimg.rewards.questions import Questions, questions_in
from formalimg.suites import FormulaSpec, Item, default_digest, instruction_digest, load, suite, suite_names

Ready = TypeVar("Ready")

TaskLike: TypeAlias = "Task | Item[Any] | tuple[str, str] | Formula | str | Mapping[str, Any]"
"""What an image is to show: an `Item`; suite and id; a formula, parsed or as text; what was made ready before; or

- `{"suite": "knolling", "id": "17"}`,
- `{"formula": "(exists ?x …)", "vocabulary": "knolling"}`; with a vocabulary, the formula is checked against it,
- `{"words": "…", "questions": ["Is there a cat?", {"question": "…", "kind": "color", "weight": 2}]}`; questions that
  all have `"criteria"` are answered with scores, others with yes or no.
"""

FORMS = {"id": ("suite", "id"), "formula": ("formula", "vocabulary"), "questions": ("words", "questions")}
"""The keys of each form of mapping, by the key that tells which it is."""

_MOST_REMEMBERED = 4096
"""So many formulas are remembered, or fewer long ones."""

_LONG = 1000
"""So many characters a formula may have to count as one: to be ready takes memory for each."""

_KNOLLING, _NATURAL = "knolling", "natural"


@dataclass(frozen=True, eq=False)
class Task:
    """What an image is scored by, made ready.

    Attributes:
        item: what a judge is asked about.
        formula: the formula, ready to be judged by logic; None where questions decide.
        by_logic: whether boxes and colours decide, so that a grounder is enough.
        weights: what each question counts besides what its kind does; None if all count the same.
    """

    item: Item[Any]
    formula: Prepared | None = None
    by_logic: bool = False
    weights: tuple[float, ...] | None = None


class Tasks:
    """Makes tasks ready and remembers them. May be used by several threads."""

    def __init__(
        self, weights: Mapping[ClauseKind, int], items: Mapping[str, str | Path | Iterable[Item[Any]]] | None = None
    ) -> None:
        self._weights = weights
        self._sources = dict(items or {})
        for name in self._sources:
            suite(name)  # so that a wrong name is told at once
        self._suites = _Remembered[str, dict[str, Item[Any]]](len(self._sources) + 16)
        self._by_text = _Remembered[tuple[str, str | None], Task](_MOST_REMEMBERED)
        self._by_identity = _Remembered[int, tuple[object, Task]](_MOST_REMEMBERED)

    def ready(self, given: TaskLike) -> Task:
        """The task that is meant.

        Raises:
            FormalimgError: if there is none; the message says what to do.
        """
        if isinstance(given, Task):
            return given
        if isinstance(given, Item):
            return self._of_item(given)
        if isinstance(given, str):
            return self._of_text(given, None)
        if isinstance(given, tuple):
            match given:
                case (str(name), str() | int() as number):
                    return self._of_item(self._item(name, str(number)))
            raise FormalimgError(f"{str(given)[:80]} is no pair of suite and id")
        if isinstance(given, Mapping):
            return self._of_mapping(given)
        if isinstance(given, Formula):
            return self._kept(given, lambda: self._of_formula(given, None))
        raise FormalimgError(f"nothing can be scored by a {type(given).__name__}: give an item, a formula or questions")

    def digests(self) -> dict[str, str]:
        """By suite, a digest of what its items ask; those of one's own are read for it."""
        return {
            name: instruction_digest([*self._items(name).values()]) if name in self._sources else default_digest(name)
            for name in suite_names()
        }

    def _of_mapping(self, given: Mapping[str, Any]) -> Task:
        told = [key for key in FORMS if key in given]
        if len(told) != 1:
            raise FormalimgError(
                "say by what to score: suite and id, or formula and vocabulary, or words and questions"
            )
        strange = [str(key) for key in given if key not in FORMS[told[0]]]
        if strange:
            raise FormalimgError(f"{strange[0][:40]!r} is not known beside {told[0]}: leave it out")
        match told[0], given:
            case "id", {"suite": str(name), "id": str() | int() as number} if not isinstance(number, bool):
                return self._of_item(self._item(name, str(number)))
            case "formula", {"formula": str(text)} if isinstance(given.get("vocabulary"), str | None):
                return self._of_text(text, given.get("vocabulary"))
            case "questions", _:
                return _of_questions(questions_in(given))
        raise FormalimgError(f"{' and '.join(FORMS[told[0]])} must be texts")

    def _item(self, name: str, number: str) -> Item[Any]:
        items = self._items(name)
        if number not in items:
            raise FormalimgError(f"{name} has no item {number[:40]!r}: it has {len(items):,}, from {next(iter(items))}")
        return items[number]

    def _items(self, name: str) -> dict[str, Item[Any]]:
        return self._suites.get(name, lambda: self._loaded(name))

    def _loaded(self, name: str) -> dict[str, Item[Any]]:
        suite(name)
        source = self._sources.get(name)
        found = load(name, source) if source is None or isinstance(source, str | Path) else list(source)
        if not found:
            raise FormalimgError(f"no items of {name} were given")
        items = {item.id: item for item in found}
        torn = next((item.id for item in found if items[item.id] is not item and items[item.id] != item), None)
        if torn is not None:
            raise FormalimgError(f"two items of {name} have the id {torn[:40]!r}: give each its own")
        return items

    def _of_item(self, item: Item[Any]) -> Task:
        if not isinstance(item.spec, FormulaSpec):
            return Task(item)
        spec = item.spec
        return self._kept(
            item, lambda: Task(item, prepare(spec.formula, weights=self._weights), item.suite != _NATURAL)
        )

    def _of_text(self, text: str, words: str | None) -> Task:
        if words is not None and words not in vocabulary_names():  # never a file: the name may have come from anywhere
            raise FormalimgError(f"unknown vocabulary {words[:40]!r}: known are {', '.join(vocabulary_names())}")
        return self._by_text.get((text, words), lambda: self._of_formula(parse(text), words), ceil(len(text) / _LONG))

    def _of_formula(self, formula: Formula, words: str | None) -> Task:
        problems = check(formula, words) if words is not None else []
        if problems:
            raise FormulaError(problems)
        prepared = prepare(formula, weights=self._weights)
        name = words if words in (_KNOLLING, _NATURAL) else _KNOLLING
        return Task(
            Item(name, "formula", complexity(formula), "", FormulaSpec.of(formula)), prepared, words != _NATURAL
        )

    def _kept(self, given: object, make: Callable[[], Task]) -> Task:
        """By identity, because to compare formulas takes longer than to judge by one; kept, so that it stays itself."""
        return self._by_identity.get(id(given), lambda: (given, make()))[1]


def _of_questions(asked: Questions) -> Task:
    return Task(asked.item, weights=asked.weights)


Key = TypeVar("Key")


class _Remembered(Generic[Key, Ready]):
    """What was made lately, up to a number, where what is large counts as several."""

    def __init__(self, most: int) -> None:
        self._room = most
        self._made: OrderedDict[Key, tuple[Ready, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Ready], counts: int = 1) -> Ready:
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key][0]
        made = make()  # outside of the lock: others need not wait, and to make it twice does no harm
        with self._lock:
            if key not in self._made:
                self._room -= counts
            self._made[key] = made, counts
            while self._room < 0:
                self._room += self._made.popitem(last=False)[1][1]
        return made
