"""Reward tasks, which score an image by a suite item, a formula, or custom questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from formalimg._util.text import truncate
from formalimg.benchmarks.conditions import STYLES, Condition
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import default_digest, instruction_digest, load
from formalimg.benchmarks.questions.spec import QuestionSpec, text_questions
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.language.quoted_text import find_quoted_texts, find_wanted_texts
from formalimg.logic.checks import check
from formalimg.logic.errors import FormulaError
from formalimg.logic.parser import parse
from formalimg.logic.prenex import ClauseKind, complexity
from formalimg.logic.soft_score.best_binding import PreparedFormula, prepare_formula
from formalimg.logic.syntax import Formula
from formalimg.logic.vocabulary import vocabulary_names
from formalimg.rewards.inputs import require_task
from formalimg.rewards.weights import QUESTION, check_weights
from formalimg.types import Benchmark, Item

Key = TypeVar("Key")
Value = TypeVar("Value")

TaskLike: TypeAlias = "RewardTask | Item[Any] | tuple[str, str] | Formula | str | Mapping[str, Any]"
"""What an image is to show: an `Item`; suite and id; a formula, parsed or as text; a prepared `RewardTask`; or

- `{"suite": "knolling", "id": "17"}`,
- `{"formula": "(exists ?x …)", "vocabulary": "knolling"}`; with a vocabulary, the formula is checked against it,
- `{"words": "…", "questions": ["Is there a cat?", {"question": "…", "kind": "color", "weight": 2}]}`; questions that
  all have `"criteria"` are answered with scores, others with yes or no,
- `{"texts": ["Hello World"]}`: strings that the image is to show, read by a text reader,
- `{"prompt": "…"}`: the item with this prompt; else the text that it has in quotes.

Other keys of a mapping, such as `tag`, are ignored, so that rows of data sets are tasks.
"""

MAX_QUESTIONS = 64  # More are a mistake: each may cost a request
_QUESTION_KEYS = ("question", "kind", "weight", "criteria")

# maximum memory of cached formulas, estimated; a formula of ten variables takes about 100 KB
_MAX_CACHED_BYTES = 128 * 1024 * 1024
_MIN_CACHED_BYTES = 32 * 1024  # What a formula counts for at least, so that there are never more than some thousand
_DEFAULT_SUITE = "knolling"  # The suite of formulas without a vocabulary: logic decides about them
_TEXT_SUITE = "free-prompts"  # The suite of strings to read, which is that of any prompt


@dataclass(frozen=True, eq=False)
class RewardTask:
    """A prepared task for scoring an image."""

    item: Item[Any]  # the item that a judge is asked about
    formula: PreparedFormula | None = None  # the prepared formula, to be verified by logic; None where questions decide
    by_logic: bool = False  # whether boxes and colours decide, so that a grounder is enough
    # the weight of each question besides that of its kind; None if all count the same
    weights: tuple[float, ...] | None = None
    reads_text: bool = False  # whether a text reader decides


class TaskCache:
    """A thread-safe cache of prepared tasks."""

    def __init__(
        self,
        weights: Mapping[ClauseKind, int],
        items: Mapping[str, str | Path | Iterable[Item[Any]]] | None = None,
        suites: Sequence[str] | None = None,
    ) -> None:
        self._weights = weights
        self._sources = dict(items or {})
        for name in self._sources:
            suite(name)  # so that a wrong name is reported at once
        if suites is None:
            suites = [name for name in suite_names() if name in self._sources or default_digest(name)]
        for name in suites:
            suite(name)  # so that a wrong name is reported at once
        self._prompts = _PromptIndex(self.items, tuple(suites))
        self._items_by_suite = _LruCache[str, dict[str, Item[Any]]](len(self._sources) + 16)
        # One cache for formulas by their text and for objects by their identity: they share the memory.
        self._formulas = _LruCache[tuple[str, str | None] | int, tuple[object, RewardTask]](
            _MAX_CACHED_BYTES,
            lambda entry: max(_MIN_CACHED_BYTES, entry[1].formula.estimated_bytes if entry[1].formula else 0),
        )

    def prepare(self, task: TaskLike) -> RewardTask:
        """Prepare a task, or return it from the cache."""
        if isinstance(task, RewardTask):
            return task
        if isinstance(task, Item):
            return self._item_task(task)
        if isinstance(task, str):
            if not task.lstrip().startswith(("(", ";")):
                raise FormalimgError(
                    f"{truncate(task, 60, 20)!r} is not a formula: give the item, or the questions of a prompt, as in "
                    '{"words": "a red cup", "questions": ["Is there a cup?", "Is it red?"]}'
                )
            return self._formula_text_task(task, None)
        if isinstance(task, tuple):
            match task:
                case (str(name), str() | int() as id_):
                    return self._item_task(self._find_item(name, str(id_)))
            raise FormalimgError(f"{str(task)[:80]} is not a pair of suite and id")
        if isinstance(task, Mapping):
            return self._mapping_task(task)
        if isinstance(task, Formula):
            return self._cache_by_identity(task, lambda: self._formula_task(task, None))
        raise FormalimgError(f"a {type(task).__name__} cannot be scored: give an item, a formula or questions")

    def digests(self) -> dict[str, str]:
        """Return a digest of the items of each suite, loading custom items for it."""
        return {
            name: instruction_digest([*self.items(name).values()]) if name in self._sources else default_digest(name)
            for name in suite_names()
        }

    def _mapping_task(self, task: Mapping[str, Any]) -> RewardTask:
        match require_task(task):
            case {"suite": str(name), "id": str() | int() as id_} if not isinstance(id_, bool):
                return self._item_task(self._find_item(name, str(id_)))
            case {"formula": str(text), **fields} if isinstance(fields.get("vocabulary"), str | None):
                return self._formula_text_task(text, fields.get("vocabulary"))
            case {"questions": _} as questions:
                return parse_questions(questions)
            case {"texts": texts}:
                return _text_task(texts)
            case {"prompt": str(prompt)}:
                try:
                    return self._item_task(self._prompts.find(prompt))
                except FormalimgError:
                    if texts := find_quoted_texts(prompt):
                        return _text_task(texts, prompt)
                    raise
        raise FormalimgError("suite, id, formula and vocabulary must be texts")

    def _find_item(self, name: str, id_: str) -> Item[Any]:
        items = self.items(name)
        if id_ not in items:
            raise FormalimgError(f"{name} has no item {id_[:40]!r}: it has {len(items):,}, from {next(iter(items))}")
        return items[id_]

    def items(self, name: str) -> dict[str, Item[Any]]:
        """Return the items of a suite by id, loading them on first use."""
        return self._items_by_suite.get(name, lambda: self._load(name))

    def _load(self, name: str) -> dict[str, Item[Any]]:
        suite(name)
        source = self._sources.get(name)
        items = load(name, source) if source is None or isinstance(source, str | Path) else list(source)
        if not items:
            raise FormalimgError(f"no items of {name} were given")
        by_id = {item.id: item for item in items}
        ambiguous = next((item.id for item in items if by_id[item.id] is not item and by_id[item.id] != item), None)
        if ambiguous is not None:
            raise FormalimgError(f"two items of {name} have the id {ambiguous[:40]!r}: give each its own")
        return by_id

    def _item_task(self, item: Item[Any]) -> RewardTask:
        if not isinstance(item.spec, FormulaSpec):
            return RewardTask(item)
        spec = item.spec
        if spec.unreadable is not None:
            raise FormalimgError(f"cannot score item {item.id} of {item.suite}: {spec.unreadable_because}")
        return self._cache_by_identity(
            item,
            lambda: RewardTask(
                item, prepare_formula(spec.formula, weights=self._weights, credit="earned"), _is_by_logic(item.suite)
            ),
        )

    def _formula_text_task(self, text: str, vocabulary: str | None) -> RewardTask:
        # Never a file: the name may have come from anywhere.
        if vocabulary is not None and vocabulary not in vocabulary_names():
            raise FormalimgError(f"unknown vocabulary {vocabulary[:40]!r}: choose from {', '.join(vocabulary_names())}")
        return self._formulas.get((text, vocabulary), lambda: (None, self._formula_task(parse(text), vocabulary)))[1]

    def _formula_task(self, formula: Formula, vocabulary: str | None) -> RewardTask:
        problems = check(formula, vocabulary) if vocabulary is not None else []
        if problems:
            raise FormulaError(problems)
        prepared = prepare_formula(formula, weights=self._weights, credit="earned")
        suites = (name for name in suite_names() if vocabulary and suite(name).vocabulary == vocabulary)
        name = next(suites, _DEFAULT_SUITE)
        item = Item(name, "formula", complexity(formula), "", FormulaSpec.of(formula))
        return RewardTask(item, prepared, _is_by_logic(name))

    def _cache_by_identity(self, key: object, create: Callable[[], RewardTask]) -> RewardTask:
        """Cache a task by the identity of its formula, which is faster than comparing formulas."""
        return self._formulas.get(id(key), lambda: (key, create()))[1]


def _text_task(texts: object, prompt: str = "") -> RewardTask:
    if not isinstance(texts, list | tuple) or not 0 < len(texts) <= MAX_QUESTIONS:
        raise FormalimgError(f"texts must be a list of 1 to {MAX_QUESTIONS} strings")
    questions = text_questions(text if isinstance(text, str) else "" for text in texts)
    if not all(find_wanted_texts(question.question) for question in questions):
        raise FormalimgError("each of texts must be a string of at most 200 characters with a letter or a digit")
    return RewardTask(Item(_TEXT_SUITE, "texts", 1, prompt, QuestionSpec(questions)), reads_text=True)


def _is_by_logic(name: str) -> bool:
    """Return whether a suite is scored by boxes and colours, which also applies to unregistered custom suites."""
    return name not in suite_names() or suite(name).is_grounded


class _LruCache(Generic[Key, Value]):
    """A least-recently-used cache with a limit on the total size of its values."""

    def __init__(self, limit: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        self._room, self._size = limit, size
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, create: Callable[[], Value]) -> Value:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        value = create()  # outside of the lock: others need not wait, and creating it twice does no harm
        size = self._size(value)
        with self._lock:
            if key not in self._values:
                self._room -= size
            self._values[key] = value, size
            while self._room < 0:
                self._room += self._values.popitem(last=False)[1][1]
        return value


# --- the user's own questions


class OwnQuestion(NamedTuple):
    """A custom question with its kind, weight and scoring criteria."""

    question: str  # what is asked
    kind: str  # the kind of part that it becomes
    weight: float  # how much it counts
    criteria: str | None  # which score is for what; None if it is answered with yes or no


def parse_questions(task: Mapping[str, Any]) -> RewardTask:
    """Build a task from a prompt and questions with yes/no answers, or with scores if there are criteria."""
    prompt, entries = task.get("words", ""), task["questions"]
    if not isinstance(prompt, str):
        raise FormalimgError("words must be a text")
    if not isinstance(entries, list | tuple) or not 0 < len(entries) <= MAX_QUESTIONS:
        raise FormalimgError(f"questions must be a list of 1 to {MAX_QUESTIONS}")
    questions = [_parse_question(entry, number) for number, entry in enumerate(entries, 1)]
    with_criteria = [question for question in questions if question.criteria is not None]
    if with_criteria and len(with_criteria) < len(questions):
        raise FormalimgError("give criteria to all questions, for scores, or to none of them, for yes and no")
    benchmark = _suite_for_questions(has_scores=bool(with_criteria))
    make_item = benchmark.question_item_maker()
    assert make_item is not None
    # Scores are weighted means by the item's own weights.
    weights = None if benchmark.has_scores else tuple(question.weight for question in questions)
    return RewardTask(make_item(prompt, questions), weights=weights)


@cache
def _suite_for_questions(*, has_scores: bool) -> Benchmark:
    benchmarks = (suite(name) for name in suite_names())
    return next(
        benchmark for benchmark in benchmarks if benchmark.has_scores == has_scores and benchmark.question_item_maker()
    )


def _parse_question(entry: object, number: int) -> OwnQuestion:
    if isinstance(entry, str):
        entry = {"question": entry}
    if not isinstance(entry, Mapping):
        raise FormalimgError(f"question {number} must be a text, or an object with {', '.join(_QUESTION_KEYS)}")
    unknown_key = next((key for key in entry if key not in _QUESTION_KEYS), None)
    if unknown_key is not None:
        keys = ", ".join(_QUESTION_KEYS)
        raise FormalimgError(f"question {number}: {str(unknown_key)[:40]!r} is not known: choose from {keys}")
    text, kind, weight, criteria = (entry.get(key) for key in _QUESTION_KEYS)
    if not isinstance(text, str) or not text.strip():
        raise FormalimgError(f"question {number} has no words")
    if criteria is not None and not (isinstance(criteria, str) and criteria.strip()):
        raise FormalimgError(f"question {number}: criteria must be a text that says which score is for what")
    kinds = _suite_for_questions(has_scores=criteria is not None).part_kinds
    if kind is not None and kind not in kinds:
        raise FormalimgError(f"question {number}: kind must be one of {', '.join(kinds)}")
    # Questions of one kind share its weight among scores; those that name none are each a kind of their own.
    part_kind = str(kind or (QUESTION if criteria is None else f"{QUESTION} {number}"))
    return OwnQuestion(
        text, part_kind, check_weights({QUESTION: 1.0 if weight is None else weight})[QUESTION], criteria
    )


# --- items by their prompts


class _PromptIndex:
    """A thread-safe index of items by prompt, without white space and style text, built on the first lookup."""

    def __init__(self, read_items: Callable[[str], Mapping[str, Item[Any]]], suites: tuple[str, ...]) -> None:
        self._read_items, self._suites = read_items, suites
        self._items: Mapping[str, tuple[Item[Any], ...]] | None = None
        self._styles: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def find(self, prompt: str) -> Item[Any]:
        by_prompt = self._index()
        plain = _normalize_prompt(prompt)
        without_style = (plain.removeprefix(style) for style in self._styles if plain.startswith(style))
        items = next((by_prompt[text] for text in (plain, *without_style) if text in by_prompt), ())
        if not items:
            raise FormalimgError(
                f"no item of {', '.join(self._suites)} has the prompt {truncate(plain, 60, 20)!r}: send the prompt as "
                "exported, or name the suite and id"
            )
        if len({(item.suite, suite(item.suite).form.canonical_text(item.spec)) for item in items}) > 1:
            names = ", ".join(f"{item.id} of {item.suite}" for item in items[:4])
            raise FormalimgError(f"several items have this prompt and ask for different things ({names}): name one")
        return items[0]

    def _index(self) -> Mapping[str, tuple[Item[Any], ...]]:
        with self._lock:  # whoever comes meanwhile needs it too
            if self._items is None:
                by_prompt: dict[str, tuple[Item[Any], ...]] = {}
                for name in self._suites:
                    for item in self._read_items(name).values():
                        key = _normalize_prompt(item.prompt)
                        by_prompt[key] = (*by_prompt.get(key, ()), item)
                if any(suite(name).has_style_text for name in self._suites):
                    self._styles = tuple(
                        _normalize_prompt(Condition(style=style).texts[0].text) + " " for style in STYLES
                    )
                self._items = by_prompt
            return self._items


def _normalize_prompt(prompt: str) -> str:
    return " ".join(prompt.split())
