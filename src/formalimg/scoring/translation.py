"""Translation of prompts to formulas by the built-in reader or a chat model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict

from formalimg._util.record_files import read_records
from formalimg._util.text import truncate
from formalimg.benchmarks.prompt_formulas import MAX_READ
from formalimg.errors import FormalimgError
from formalimg.language.free_english import find_unknown_nouns, read_free_english
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import understand
from formalimg.logic.checks import check
from formalimg.logic.parser import try_parse
from formalimg.logic.prenex import complexity
from formalimg.logic.syntax import Formula
from formalimg.logic.vocabulary import Vocabulary, vocabulary, vocabulary_names
from formalimg.models.base import Unanswered
from formalimg.models.pricing import Spending
from formalimg.prompts import load_prompts
from formalimg.scoring.writer import ask_until_valid, write_each
from formalimg.types import ChatModel

OPEN = "open"  # The vocabulary of natural scenes with every noun that a prompt names
_PROMPTS = Path(__file__).parent / "translator_prompts"

TranslatedBy: TypeAlias = Literal["reader", "model", "not translated"]


class Translation(NamedTuple):
    """The result of translating a prompt: a formula with its translator, or the reason for failure."""

    prompt: str
    formula: str | None
    how: TranslatedBy
    reason: str = ""


@dataclass(frozen=True)
class TranslationWords:
    """The vocabulary and classes for translating prompts."""

    suite: str  # the vocabulary whose predicates and phrases are used
    classes: tuple[str, ...] = ()  # further classes
    is_open: bool = False  # whether nouns that are not known are classes, too

    def of(self, prompt: str) -> TranslationWords:
        """Return a copy extended by the unknown nouns of the prompt, if the vocabulary is open."""
        if not self.is_open:
            return self
        return replace(self, classes=(*self.classes, *find_unknown_nouns(prompt, self.suite, self.classes)))

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary for checking formulas."""
        base = vocabulary(self.suite)
        words = {**base.words, "class": tuple(dict.fromkeys((*base.words["class"], *self.classes)))}
        return Vocabulary(base.name, words, base.predicates)


def translation_words(name: str) -> TranslationWords:
    """Load the words for a vocabulary name, a vocabulary file or a file of classes."""
    if name == OPEN:
        return TranslationWords("natural", is_open=True)
    if name in vocabulary_names():
        return TranslationWords(name)
    path = Path(name)
    if not path.is_file():
        names = ", ".join([*vocabulary_names(), OPEN])
        raise FormalimgError(f"there is no vocabulary {truncate(name, 60, 20)!r}: give {names}, or a file of classes")
    if path.suffix == ".toml":
        return TranslationWords("natural", vocabulary(path).words.get("class", ()))
    lines = (" ".join(str(record["class"]).split()) for record in read_records(path, "class") if "class" in record)
    return TranslationWords("natural", tuple(dict.fromkeys(line for line in lines if line)))


def read_prompts(file: Path) -> list[str]:
    """Read prompts from a text file with one per line, or from the `prompt` field of JSON Lines, JSON or CSV."""
    prompts = []
    for number, record in enumerate(read_records(file, "prompt"), 1):
        prompt = record.get("prompt")
        if not isinstance(prompt, str):
            raise FormalimgError(f"{file}, entry {number} has no text under the name prompt: give each one")
        if prompt.strip():
            prompts.append(" ".join(prompt.split()))
    if not prompts:
        raise FormalimgError(f"{file} has no prompts: write one per line")
    return prompts


def translate_by_reader(prompt: str, words: TranslationWords) -> Translation:
    """Translate a prompt with the built-in reader, which rejects prompts it does not fully understand."""
    if len(prompt) > MAX_READ:
        return Translation(prompt, None, "not translated", f"it has more than {MAX_READ:,} characters")
    try:
        formula = _read_whole(prompt, words)
        complexity(formula)
    except (FormalimgError, RecursionError) as error:  # not understood, or nobody can judge by it
        return Translation(prompt, None, "not translated", truncate(str(error), 200, 40))
    return Translation(prompt, str(formula), "reader")


def _read_whole(prompt: str, words: TranslationWords) -> Formula:
    """Parse a whole prompt as a formula, or raise an error if any part of it is left over."""
    try:
        return understand(prompt, words.suite, words.of(prompt).classes).formula
    except WordingError:
        free = read_free_english(prompt, words.suite, words.classes, any_noun=words.is_open)
        if free.unread:
            raise WordingError(f"left over: {', '.join(free.unread)}") from None
        return free.formula


def translation_shares(translations: Sequence[Translation]) -> dict[TranslatedBy, float]:
    """Return the proportion of prompts translated by the reader, by the model, and by neither."""
    counts = Counter(translation.how for translation in translations)
    ways: tuple[TranslatedBy, ...] = ("reader", "model", "not translated")
    return {way: counts[way] / len(translations) for way in ways}


class WrittenFormula(BaseModel):
    """A formula, or what cannot be said in one."""

    model_config = ConfigDict(strict=True)

    unsaid: str
    formula: str


class FormulaTranslator:
    """Translates prompts with a chat model and validates every formula.

    Attributes:
        chat: the chat model.
    """

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        texts = load_prompts(_PROMPTS)
        self._prompt, self._again = texts["translator"], texts["translator-again"]

    async def translate_all(
        self, prompts: Sequence[str], words: TranslationWords, spending: Spending
    ) -> dict[str, Translation]:
        """Translate all prompts, and return the translations by prompt."""
        return await write_each(
            prompts,
            lambda prompt: self._translate(prompt, words.of(prompt).vocabulary),
            self.chat,
            spending,
            "by translating: give a larger one, and only what is missing is asked",
        )

    async def _translate(self, prompt: str, terms: Vocabulary) -> Translation:
        def check_formula(written: WrittenFormula) -> Translation | str:
            if not written.formula.strip():
                unsaid = truncate(" ".join(written.unsaid.split()), 200, 40)
                return Translation(prompt, None, "not translated", f"{self.chat.name}: cannot be said: {unsaid}")
            formula, problems = try_parse(written.formula)
            if formula is not None:
                problems = check(formula, terms)
            if formula is None or problems:
                return truncate(problems[0].message, 200, 40)
            try:
                complexity(formula)
            except FormalimgError as error:
                return truncate(str(error), 200, 40)
            return Translation(prompt, str(formula), "model")

        predicates = []
        for predicate in terms.predicates.values():
            arguments = ["?x" if kind == "variable" else f"'{kind}'" for kind in predicate.arguments]
            predicates.append(f"- ({' '.join([predicate.name, *arguments])}): {predicate.meaning}")
        words = "\n".join(f"- {kind}: {', '.join(values)}" for kind, values in terms.words.items())
        sent = self._prompt.fill({"prompt": prompt, "predicates": "\n".join(predicates), "words": words})
        result = await ask_until_valid(self.chat, sent, WrittenFormula, check_formula, self._again)
        if isinstance(result, Unanswered):
            return Translation(prompt, None, "not translated", f"{self.chat.name}, {result.kind}: {result.reason}")
        if isinstance(result, str):
            return Translation(prompt, None, "not translated", f"{self.chat.name} wrote no valid formula: {result}")
        return result
