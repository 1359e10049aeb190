"""Formulas of prompts: what our readers of English make of a prompt, and the words that they leave over."""

from __future__ import annotations

from collections.abc import Collection

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec, unread_question
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.language.free_english import read_free_english
from formalimg.language.lexicon import WordingError
from formalimg.language.open_nouns import find_unknown_nouns
from formalimg.language.parser import understand
from formalimg.logic.prenex import complexity
from formalimg.logic.vocabulary import vocabulary as load_vocabulary
from formalimg.scenes.seen_relations import is_seen_in_boxes

MAX_READ = 2_000
"""The most characters that are read as a formula: a longer text has more objects than anybody can judge."""

_FREE = "natural"
"""The vocabulary of free English."""


def read_formula(
    prompt: str, nouns: Collection[str] | None = None, *, partly: bool = True
) -> QuestionSpec | WordingError:
    """Return the formula that a prompt says in plain English, or why it cannot be read.

    What a formula leaves out of the prompt stands beside it, as questions.

    Args:
        prompt: the prompt.
        nouns: further classes, if any noun may name a class; None for the classes of the suite alone.
        partly: whether a formula may leave words of the prompt out.
    """
    why = WordingError("no suite has an English")
    if len(prompt) > MAX_READ:
        return WordingError(f"it has more than {MAX_READ:,} characters")
    vocabularies = dict.fromkeys(suite(name).vocabulary for name in suite_names() if suite(name).vocabulary)
    read: FormulaSpec | None = None
    words = ""
    # The words for natural scenes come first: these are about any image, and not about drawings of things.
    for vocabulary in reversed(vocabularies):
        try:
            formula = understand(prompt, vocabulary, _classes_of(prompt, vocabulary, nouns)).formula
            complexity(formula)
        except WordingError as error:
            why = error
        except FormalimgError as error:  # a formula that is read, but that nobody can judge by
            why = WordingError(truncate(str(error), 100, 40))
        else:
            read, words = FormulaSpec.of(formula), vocabulary
            break
    if read is None or (nouns is not None and not is_seen_in_boxes(read.formula)):
        free = _read_freely(prompt, nouns)
        if isinstance(free, QuestionSpec) and (partly or not free.questions):
            return free
        why = free if isinstance(free, WordingError) else why
    return why if read is None else QuestionSpec(formula=read, vocabulary=words)


def _read_freely(prompt: str, nouns: Collection[str] | None) -> QuestionSpec | WordingError:
    """Return what is read of a prompt in free English; the words left over become questions."""
    classes = tuple(sorted(set(nouns or ()) - set(load_vocabulary(_FREE).words["class"])))
    try:
        found = read_free_english(prompt, _FREE, classes, any_noun=nouns is not None, looked_for=nouns or ())
        complexity(found.formula)
    except WordingError as error:
        return error
    except FormalimgError as error:
        return WordingError(truncate(str(error), 100, 40))
    questions = tuple(unread_question(words, prompt) for words in dict.fromkeys(found.unread))
    return QuestionSpec(questions, FormulaSpec.of(found.formula), _FREE)


def _classes_of(prompt: str, vocabulary: str, nouns: Collection[str] | None) -> tuple[str, ...]:
    if nouns is None:
        return ()
    classes = tuple(sorted(set(nouns) - set(load_vocabulary(vocabulary).words["class"])))
    return (*classes, *find_unknown_nouns(prompt, vocabulary, classes))
