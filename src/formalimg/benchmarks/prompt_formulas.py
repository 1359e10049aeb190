"""Parsing of prompts into formulas by the English readers, with questions for the words left over."""

from __future__ import annotations

from collections.abc import Collection

from formalimg._util.text import truncate
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.questions.spec import QuestionSpec, unread_question
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.language.free_english import find_unknown_nouns, read_free_english
from formalimg.language.lexicon import WordingError
from formalimg.language.parser import understand
from formalimg.logic.prenex import complexity
from formalimg.logic.syntax import atoms
from formalimg.logic.verification import STYLE_PREDICATE
from formalimg.logic.vocabulary import vocabulary as load_vocabulary
from formalimg.scenes.scene import Scene

MAX_READ = 2_000
"""The most characters that are read as a formula: a longer text has more objects than anybody can judge."""

_FREE = "natural"  # The vocabulary of free English


def read_formula(
    prompt: str, nouns: Collection[str] | None = None, *, partly: bool = True
) -> QuestionSpec | WordingError:
    """Return the formula expressed by a prompt in plain English, or the reason why it cannot be parsed.

    Parts of the prompt that the formula does not cover are returned with it as questions.
    """
    if len(prompt) > MAX_READ:
        return WordingError(f"it has more than {MAX_READ:,} characters")
    sentence, is_own = _read_sentences(prompt, nouns)
    if is_own:
        return sentence
    free = _read_freely(prompt, nouns)
    if isinstance(free, WordingError):
        return free if isinstance(sentence, WordingError) else sentence
    is_decided = isinstance(sentence, QuestionSpec) and (
        nouns is None
        or (
            sentence.formula is not None
            and all(
                atom.predicate == STYLE_PREDICATE or Scene.always_decides(atom)
                for atom in atoms(sentence.formula.formula)
            )
        )
    )
    return free if not free.questions or (partly and not is_decided) else sentence


def _read_sentences(prompt: str, nouns: Collection[str] | None) -> tuple[QuestionSpec | WordingError, bool]:
    """Parse a prompt sentence by sentence, and return also whether it is in a suite's own language."""
    reason = WordingError("no suite has an English")
    vocabularies = dict.fromkeys(suite(name).vocabulary for name in suite_names() if suite(name).vocabulary)
    # The words for natural scenes come first: these are about any image, and not about drawings of things.
    for vocabulary in reversed(vocabularies):
        try:
            formula, is_own = understand(prompt, vocabulary, _classes_of(prompt, vocabulary, nouns))
            complexity(formula)
        except WordingError as error:
            reason = error
        except FormalimgError as error:  # a formula that is read, but that nobody can judge by
            reason = WordingError(truncate(str(error), 100, 40))
        else:
            return QuestionSpec(formula=FormulaSpec.of(formula), vocabulary=vocabulary), is_own
    return reason, False


def _read_freely(prompt: str, nouns: Collection[str] | None) -> QuestionSpec | WordingError:
    """Parse a prompt as free English; words that are left over become questions."""
    classes = tuple(sorted(set(nouns or ()) - set(load_vocabulary(_FREE).words["class"])))
    try:
        reading = read_free_english(prompt, _FREE, classes, any_noun=nouns is not None, looked_for=nouns or ())
        complexity(reading.formula)
    except WordingError as error:
        return error
    except FormalimgError as error:
        return WordingError(truncate(str(error), 100, 40))
    questions = tuple(unread_question(words, prompt) for words in dict.fromkeys(reading.unread))
    return QuestionSpec(questions, FormulaSpec.of(reading.formula), _FREE)


def _classes_of(prompt: str, vocabulary: str, nouns: Collection[str] | None) -> tuple[str, ...]:
    if nouns is None:
        return ()
    classes = tuple(sorted(set(nouns) - set(load_vocabulary(vocabulary).words["class"])))
    return (*classes, *find_unknown_nouns(prompt, vocabulary, classes))
