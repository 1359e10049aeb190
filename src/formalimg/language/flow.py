"""Combine clauses into sentences, using pronouns, relative clauses and conjunctions.

Each sentence can be read in one way: a pronoun is a subject only after a sentence with the same subject, a relative
clause belongs to the object named last, and what follows "every" names something of its rule or begins with "in each
case".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from formalimg.language.description import Rule
from formalimg.language.lexicon import PRONOUNS
from formalimg.language.phrases import NounPhrase, PhraseBuilder, Tail
from formalimg.language.planning import Clause, Enumeration, Statement, mentioned_objects
from formalimg.language.sentences import RuleBeginning, realize_clause, verb_phrase

_SHORT = 16  # Limit on the words of a beginning of a rule to which another clause is joined
_SUBJECT_WORDS = ("the", "a", "an", "that", *PRONOUNS)  # Words that a sentence begins with, if it does with its subject
_RELATIVE = 85  # In how many cases of a hundred a relative clause says what follows about the object named last
_PAIRED = 75  # In how many cases of a hundred two short sentences are joined
_MAX_WORDS = 32  # Limit on the words of a sentence that is joined from two, or has a relative clause


@dataclass
class Sentence:
    """A sentence without capitalization or final period. `subjects` are the subjects of its last clause."""

    text: str
    subjects: tuple[str, ...] = ()
    first_subjects: tuple[str, ...] = ()
    """The subjects it begins with, if it begins with subjects that are no pronouns."""
    is_joinable: bool = False
    """Whether it can be joined to the sentence before."""
    tail: Tail | None = None
    """The object that it ends with, of which a relative clause can follow."""
    ends_in_list: bool = False
    """Whether it ends with several objects, so that "and a cup" would seem to go on with them."""
    pronouns: int = 0
    """How many sentences in a row have a pronoun as their subject."""
    mentioned: set[str] = field(default_factory=set)
    """The objects that a pronoun after it could stand for."""


def write_rule(rule: Rule, beginning: RuleBeginning, phrases: PhraseBuilder) -> list[str]:
    """Return the sentences of a rule. The first contains "every"."""
    rule_objects = {rule.variable, *rule.body.objects}
    subjects = (beginning.subject,) if beginning.subject else ()
    tail = phrases.tail if beginning.subject == rule.variable else None
    first = Sentence(beginning.text, subjects, tail=tail, ends_in_list=phrases.ends_in_list)
    return write_clauses(beginning.clauses, phrases, rule_objects=rule_objects, first=first)


def write_clauses(
    clauses: Sequence[Clause],
    phrases: PhraseBuilder,
    *,
    rule_objects: set[str] | None = None,
    first: Sentence | None = None,
    there: bool = False,
) -> list[str]:
    """Convert clauses to sentences."""
    sentences = [first] if first else []
    for clause in clauses:
        before = sentences[-1] if sentences else Sentence("")
        if _extends(clause, before, phrases):
            sentences[-1] = _with_relative_clause(clause, before, phrases)
            continue
        is_anchored = rule_objects is None or bool(rule_objects & phrases.known & set(mentioned_objects(clause)))
        rule = None if rule_objects is None else "" if is_anchored else phrases.lexicon.each_case
        sentence = _write_clause(clause, before, phrases, rule=rule, first=there and not sentences)
        if is_anchored:
            sentences.append(sentence)
        elif _takes_unanchored(before, sentence, phrases.lexicon.each_case, is_first=len(sentences) == 1):
            sentences[-1] = Sentence(f"{before.text}, and {sentence.text}", sentence.subjects)
        else:
            sentences.append(Sentence(f"{phrases.lexicon.each_case}, {sentence.text}", sentence.subjects))
    return [sentence.text for sentence in _pair(sentences, phrases)]


def _takes_unanchored(before: Sentence, sentence: Sentence, each_case: str, *, is_first: bool) -> bool:
    """Return whether a clause that mentions no object of its rule can be joined to the previous sentence."""
    if before.ends_in_list:
        return False
    if is_first:
        return len(before.text.split()) <= _SHORT and "," not in before.text
    words = len(before.text.split()) + len(sentence.text.split())
    return before.text.startswith(each_case) and before.text.count(",") == 1 and words <= _MAX_WORDS


def _write_clause(
    clause: Clause, before: Sentence, phrases: PhraseBuilder, *, rule: str | None, first: bool
) -> Sentence:
    subjects = tuple(clause.subjects) if isinstance(clause, Statement) else ()
    is_new = not any(obj in phrases.known for obj in subjects)
    also = subjects == before.subjects if subjects else isinstance(clause, Enumeration) and bool(before.text)
    pronoun = also and not is_new and len(subjects) == 1 and before.pronouns < 2
    pronoun = pronoun and _is_clear_pronoun(subjects[0], before, phrases)
    text = realize_clause(clause, phrases, rule=rule, also=also, first=first, pronoun=pronoun)
    words = text.split()
    is_subject_first = bool(subjects) and words[0] in _SUBJECT_WORDS
    leading = subjects if is_subject_first else ()
    return Sentence(
        text,
        leading,
        () if pronoun else leading,
        not pronoun and not isinstance(clause, Enumeration) and "every" not in words,
        phrases.tail if is_subject_first else None,
        phrases.ends_in_list,
        before.pronouns + 1 if pronoun else 0,
        {*mentioned_objects(clause), *(before.mentioned if pronoun else ())},
    )


def _is_clear_pronoun(obj: str, before: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a pronoun would refer unambiguously to the object.

    "They" is never clear, because it could refer to all objects in the previous sentence.
    """
    pronoun = phrases.subject_pronoun(obj)
    others = {phrases.subject_pronoun(other) for other in before.mentioned - {obj}}
    return pronoun != "they" and obj not in phrases.ruled and pronoun not in others


def _extends(clause: Clause, before: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a clause can be attached as a relative clause, such as "which is above the plate"."""
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
    text = f"{before.text}, {who} {verb_phrase(NounPhrase('', before.tail.many), clause, phrases)}"
    return Sentence(text, first_subjects=before.first_subjects, is_joinable=before.is_joinable)


def _pair(sentences: list[Sentence], phrases: PhraseBuilder) -> list[Sentence]:
    """Join pairs of short consecutive sentences to avoid choppy text."""
    paired: list[Sentence] = []
    for sentence in sentences:
        before = paired[-1] if paired else Sentence("")
        if _can_join(before, sentence) and phrases.rng.likely(_PAIRED):
            paired[-1] = Sentence(f"{before.text}, and {sentence.text}", sentence.subjects)
        else:
            paired.append(sentence)
    return paired


def _can_join(before: Sentence, sentence: Sentence) -> bool:
    """Return whether two sentences can be joined, based on length, commas and subjects."""
    words = len(before.text.split()) + len(sentence.text.split())
    is_short = words <= _MAX_WORDS and "," not in before.text
    is_other = not {*before.first_subjects} & {*sentence.first_subjects}
    return bool(before.first_subjects) and sentence.is_joinable and is_short and is_other and not before.ends_in_list
