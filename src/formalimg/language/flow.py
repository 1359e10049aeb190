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
from formalimg.language.phrases import PhraseBuilder, Tail
from formalimg.language.planning import Clause, Enumeration, Statement, objects_in
from formalimg.language.sentences import realize_clause, verb_phrase

_SHORT = 16  # Limit on the words of the beginning of a rule to which another clause is joined
_MAX_WORDS = 32  # Limit on the words of a sentence that is joined from two, or has a relative clause
_SUBJECT_WORDS = (
    "the",
    "a",
    "an",
    "that",
    *PRONOUNS,
)  # Words at the beginning of a sentence that begins with its subject
_RELATIVE_CHANCE = 85  # Percentage of relative clauses about the last object, if possible
_PAIR_CHANCE = 75  # Percentage of short sentences that are joined, if possible


@dataclass
class Sentence:
    """A sentence without capitalization or final period. `subjects` are the subjects of its last clause."""

    text: str
    subjects: tuple[str, ...] = ()
    first_subjects: tuple[str, ...] = ()  # the subjects it begins with, unless they are pronouns
    is_joinable: bool = False  # whether it can be joined to the sentence before
    tail: Tail | None = None  # the object at its end, to which a relative clause can be attached
    ends_in_list: bool = False  # whether it ends with several objects, so that "and a cup" would seem to continue them
    pronouns: int = 0  # how many sentences in a row have a pronoun as their subject
    mentioned: set[str] = field(default_factory=set)  # the objects that a pronoun after it could stand for


def write_rule(
    rule: Rule, text: str, subject: str | None, clauses: Sequence[Clause], phrases: PhraseBuilder
) -> list[str]:
    """Return the sentences of a rule that begins with the text, which contains "every", about the subject."""
    tail = phrases.tail if subject == rule.variable else None
    first = Sentence(text, (subject,) if subject else (), tail=tail, ends_in_list=phrases.ends_in_list)
    return write_clauses(clauses, phrases, rule_objects={rule.variable, *rule.body.objects}, first=first)


def write_clauses(
    clauses: Sequence[Clause],
    phrases: PhraseBuilder,
    *,
    rule_objects: set[str] | None = None,
    first: Sentence | None = None,
    there: bool = False,
) -> list[str]:
    """Convert clauses to sentences. With `there`, the first begins with "there is" if possible."""
    sentences = [first] if first else []
    each_case = phrases.lexicon.each_case
    for clause in clauses:
        previous = sentences[-1] if sentences else Sentence("")
        if isinstance(clause, Statement) and previous.tail and _can_extend(clause, previous, phrases):
            relative = "which" if phrases.names[previous.tail.obj].noun.pronoun == "it" else "who"
            text = f"{previous.text}, {relative} {verb_phrase(clause, phrases, plural=previous.tail.is_plural)}"
            sentences[-1] = Sentence(text, first_subjects=previous.first_subjects, is_joinable=previous.is_joinable)
            continue
        is_anchored = rule_objects is None or bool(rule_objects & phrases.known & set(objects_in(clause)))
        rule = None if rule_objects is None else "" if is_anchored else each_case
        sentence = _write_clause(clause, previous, phrases, rule=rule, first=there and not sentences)
        if is_anchored:
            sentences.append(sentence)
        elif _can_append_unanchored(previous, sentence, each_case, is_first=len(sentences) == 1):
            sentences[-1] = Sentence(f"{previous.text}, and {sentence.text}", sentence.subjects)
        else:
            sentences.append(Sentence(f"{each_case}, {sentence.text}", sentence.subjects))
    return [sentence.text for sentence in _join_pairs(sentences, phrases)]


def _can_append_unanchored(previous: Sentence, sentence: Sentence, each_case: str, *, is_first: bool) -> bool:
    """Return whether a clause that mentions no object of its rule can be joined to the previous sentence."""
    if previous.ends_in_list:
        return False
    if is_first:
        return len(previous.text.split()) <= _SHORT and "," not in previous.text
    words = len(previous.text.split()) + len(sentence.text.split())
    return previous.text.startswith(each_case) and previous.text.count(",") == 1 and words <= _MAX_WORDS


def _write_clause(
    clause: Clause, previous: Sentence, phrases: PhraseBuilder, *, rule: str | None, first: bool
) -> Sentence:
    subjects = tuple(clause.subjects) if isinstance(clause, Statement) else ()
    is_new = not any(obj in phrases.known for obj in subjects)
    also = subjects == previous.subjects if subjects else isinstance(clause, Enumeration) and bool(previous.text)
    pronoun = also and not is_new and len(subjects) == 1 and previous.pronouns < 2
    pronoun = pronoun and _is_clear_pronoun(subjects[0], previous, phrases)
    text = realize_clause(clause, phrases, rule=rule, also=also, first=first, pronoun=pronoun)
    words = text.split()
    leading = subjects if words[0] in _SUBJECT_WORDS else ()
    return Sentence(
        text,
        leading,
        () if pronoun else leading,
        not pronoun and not isinstance(clause, Enumeration) and "every" not in words,
        phrases.tail if leading else None,
        phrases.ends_in_list,
        previous.pronouns + 1 if pronoun else 0,
        {*objects_in(clause), *(previous.mentioned if pronoun else ())},
    )


def _is_clear_pronoun(obj: str, previous: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a pronoun would refer unambiguously to the object.

    "They" is never clear, because it could refer to all objects in the previous sentence.
    """
    pronoun = phrases.pronoun_name(obj)
    other_pronouns = {phrases.pronoun_name(name) for name in previous.mentioned - {obj}}
    return pronoun != "they" and obj not in phrases.ruled and pronoun not in other_pronouns


def _can_extend(clause: Statement, previous: Sentence, phrases: PhraseBuilder) -> bool:
    """Return whether a clause can be attached as a relative clause, such as "which is above the plate"."""
    if previous.tail is None or clause.subjects != [previous.tail.obj]:
        return False
    parts = [part for prop in clause.properties for part in prop]
    if len(clause.properties) > 2 or len(clause.neighbors) + bool(parts) > 1 or not all(p.positive for p in parts):
        return False
    words = len(previous.text.split()) + 6 * len(clause.properties) + 7 * len(clause.neighbors)
    return words <= _MAX_WORDS and phrases.rng.likely(_RELATIVE_CHANCE)


def _join_pairs(sentences: list[Sentence], phrases: PhraseBuilder) -> list[Sentence]:
    joined: list[Sentence] = []
    for sentence in sentences:
        previous = joined[-1] if joined else Sentence("")
        words = len(previous.text.split()) + len(sentence.text.split())
        is_short = words <= _MAX_WORDS and "," not in previous.text and not previous.ends_in_list
        has_other_subjects = bool(previous.first_subjects) and not {*previous.first_subjects} & {
            *sentence.first_subjects
        }
        if is_short and has_other_subjects and sentence.is_joinable and phrases.rng.likely(_PAIR_CHANCE):
            joined[-1] = Sentence(f"{previous.text}, and {sentence.text}", sentence.subjects)
        else:
            joined.append(sentence)
    return joined
