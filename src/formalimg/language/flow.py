"""Flow: clauses as sentences that go on from one another, with pronouns, relative clauses and pairs.

Each sentence can be read in one way: a pronoun is a subject only after a sentence with the same subject, a relative
clause belongs to the object named last, and what follows "every" names something of its rule or begins with "in each
case".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from formalimg.language.description import Rule
from formalimg.language.lexicon import PRONOUNS
from formalimg.language.phrases import NounPhrase, PhraseBuilder, Tail
from formalimg.language.planning import Clause, Enumeration, Statement, mentioned_objects
from formalimg.language.sentences import RuleBeginning, realize_clause, verb_phrase

SHORT = 16
"""Limit on the words of sentences that are joined to one."""

_SUBJECT_WORDS = ("the", "a", "an", "that", *PRONOUNS)
"""Words that a sentence begins with, if it does with its subject."""

_RELATIVE = 85
"""In how many cases of a hundred a relative clause says what follows about the object named last."""

_PAIRED = 75
"""In how many cases of a hundred two short sentences are joined."""

_MAX_WORDS = 28
"""Limit on the words of a sentence with a relative clause."""


@dataclass
class Sentence:
    """A sentence without capital and full stop; `subjects` are those of its last clause."""

    text: str
    subjects: tuple[str, ...] = ()
    is_plain: bool = False
    """Whether another short sentence can be joined to it."""
    is_short: bool = False
    """Whether it can be joined to another sentence."""
    tail: Tail | None = None
    """The object that it ends with, of which a relative clause can follow."""
    pronouns: int = 0
    """How many sentences in a row have a pronoun as their subject."""


def write_rule(rule: Rule, beginning: RuleBeginning, phrases: PhraseBuilder) -> list[str]:
    """Return the sentences of a rule, the first of which has "every"."""
    own = {rule.variable, *rule.body.objects}
    subjects = (beginning.subject,) if beginning.subject else ()
    first = Sentence(beginning.text, subjects, tail=phrases.tail if beginning.subject == rule.variable else None)
    return write_clauses(beginning.clauses, phrases, own=own, first=first)


def write_clauses(
    clauses: Sequence[Clause],
    phrases: PhraseBuilder,
    *,
    own: set[str] | None = None,
    first: Sentence | None = None,
    there: bool = False,
) -> list[str]:
    """Return clauses as sentences.

    Args:
        clauses: what to say, in this order.
        phrases: the words, and what has been introduced so far.
        own: the objects of the rule that the clauses belong to.
        first: the sentence that they follow.
        there: does the text begin with them, so that "there is" is the best beginning?
    """
    sentences = [first] if first else []
    for clause in clauses:
        before = sentences[-1] if sentences else Sentence("")
        if _extends(clause, before, phrases):
            sentences[-1] = _with_relative_clause(clause, before, phrases)
            continue
        is_anchored = own is None or bool(own & phrases.known & set(mentioned_objects(clause)))
        rule = None if own is None else "" if is_anchored else phrases.lexicon.each_case
        sentence = _write_clause(clause, before, phrases, rule=rule, first=there and not sentences)
        if is_anchored:
            sentences.append(sentence)
        elif len(sentences) == 1 and len(before.text.split()) <= SHORT and "," not in before.text:
            sentences[-1] = Sentence(f"{before.text}, and {sentence.text}", sentence.subjects)
        else:
            sentences.append(Sentence(f"{phrases.lexicon.each_case}, {sentence.text}", sentence.subjects))
    return [sentence.text for sentence in _pair(sentences, phrases)]


def _write_clause(
    clause: Clause, before: Sentence, phrases: PhraseBuilder, *, rule: str | None, first: bool
) -> Sentence:
    subjects = tuple(clause.subjects) if isinstance(clause, Statement) else ()
    is_new = not any(obj in phrases.known for obj in subjects)
    also = subjects == before.subjects if subjects else isinstance(clause, Enumeration) and bool(before.text)
    pronoun = also and not is_new and len(subjects) == 1 and before.pronouns < 2
    text = realize_clause(clause, phrases, rule=rule, also=also, first=first, pronoun=pronoun)
    words = text.split()
    is_subject_first = bool(subjects) and words[0] in _SUBJECT_WORDS
    is_short = len(words) <= SHORT and "every" not in words and "," not in text and not pronoun
    return Sentence(
        text,
        subjects if is_subject_first else (),
        is_subject_first and is_short,
        is_short,
        phrases.tail if is_subject_first else None,
        before.pronouns + 1 if pronoun else 0,
    )


def _extends(clause: Clause, before: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a clause can follow as "which is above the plate"."""
    if before.tail is None or not isinstance(clause, Statement) or clause.subjects != [before.tail.obj]:
        return False
    parts = [part for prop in clause.properties for part in prop]
    if len(clause.properties) > 2 or len(clause.neighbors) + bool(parts) > 1 or not all(p.positive for p in parts):
        return False
    words = len(before.text.split()) + 6 * len(clause.properties) + 7 * len(clause.neighbors)
    return words <= _MAX_WORDS and phrases.rng.likely(_RELATIVE)


def _with_relative_clause(clause: Clause, before: Sentence, phrases: PhraseBuilder) -> Sentence:
    assert isinstance(clause, Statement)
    assert before.tail is not None
    who = "which" if phrases.names[before.tail.obj].noun.pronoun == "it" else "who"
    return Sentence(f"{before.text}, {who} {verb_phrase(NounPhrase('', before.tail.many), clause, phrases)}")


def _pair(sentences: list[Sentence], phrases: PhraseBuilder) -> list[Sentence]:
    """Join two short sentences in a row, so that the text does not sound choppy."""
    paired: list[Sentence] = []
    for sentence in sentences:
        before = paired[-1] if paired else None
        is_joint = before and before.is_plain and sentence.is_short and not {*before.subjects} & {*sentence.subjects}
        if before and is_joint and phrases.rng.likely(_PAIRED):
            is_contrast = before.tail is None or sentence.subjects != (before.tail.obj,)
            joint = phrases.rng.one_of(("and", "while")) if is_contrast else "and"
            paired[-1] = Sentence(f"{before.text}, {joint} {sentence.text}", sentence.subjects)
        else:
            paired.append(sentence)
    return paired
