"""Tags for odd records of published data: their meanings and counts.

Only the authors can correct published data. An odd record is therefore loaded, tagged with what is odd, listed by
`formalimg items census` and counted in the manifest of a run; if it cannot be judged, it is unscored. A record is
skipped, and also listed, only if no item can be made from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from formalimg._util.strict_json import is_utf8
from formalimg.types import Item

NO_PROMPT = "no-prompt"
EXTRA_FIELDS = "extra-fields"
BROKEN_TEXT = "broken-text"
ODD_NAME = "odd-name"
REPEATED_FIELD = "repeated-field"

OUTSIDE_VOCABULARY = "outside-vocabulary"
UNKNOWN_PREDICATE = "unknown-predicate"
WRONG_ARITY = "wrong-arity"
UNREADABLE_FORMULA = "unreadable-formula"
K_DIFFERS = "k-differs"
K_MALFORMED = "k-malformed"
CLASSES_DIFFER = "classes-differ"
CLASSES_MALFORMED = "classes-malformed"
NO_CNF = "no-cnf"

ODD_INDEX = "odd-index"
COUNTS_DIFFER = "counts-differ-from-k"
QUESTIONS_MOVED = "questions-moved"
NOT_A_QUESTION = "line-without-question"
NO_QUESTION = "concept-without-question"
NO_CONCEPT = "question-without-concept"
UNKNOWN_CONCEPT = "unknown-concept"
DUPLICATE_PROMPT = "duplicate-prompt"
NO_BINDING = "no-binding"
BINDING_CHANGED = "binding-changed"

NO_QUESTIONS = "no-questions"
QUESTIONS_INCOMPLETE = "questions-incomplete"
QUESTION_MENDED = "question-mended"
UNKNOWN_QUESTION_TYPE = "unknown-question-type"
ASSESSMENT_COUNT = "assessment-count"
DUPLICATE_ID = "duplicate-id"
FIELD_MALFORMED = "field-malformed"
UNKNOWN_CATEGORY = "unknown-category"
ID_AND_CATEGORY_DIFFER = "id-and-category-differ"
NO_PARTNER = "no-partner"
NO_GROUP = "no-group"

UNKNOWN_PARENT = "unknown-parent"
CIRCULAR_PARENTS = "circular-parents"
DUPLICATE_QUESTION = "duplicate-question"
EMPTY_QUESTION = "empty-question"
EXPECTED_UNKNOWN = "expected-unknown"
PROMPTS_DIFFER = "prompts-differ"

UNKNOWN_TASK = "unknown-task"
UNREADABLE_OBJECTS = "unreadable-objects"

SKIPPED = "skipped"  # What skipped records are counted as, beside the tags
ODD_TAGS: Mapping[str, str] = {
    # records of all suites
    NO_PROMPT: "there is no prompt, so no image can be asked for: unscored",
    EXTRA_FIELDS: "fields that such a record does not have: ignored",
    BROKEN_TEXT: "characters or values that are no text: replaced by U+FFFD, or left out",
    ODD_NAME: "a file name or id that is no number: the item has a name made of it",
    REPEATED_FIELD: "a field that occurs twice, or a number that is none: the last one counts",
    # formulas
    OUTSIDE_VOCABULARY: "words or kinds of words that the vocabulary does not have: judged as they are",
    UNKNOWN_PREDICATE: "predicates that the vocabulary does not have: judged as they are where the judge can",
    WRONG_ARITY: "a predicate with too many or too few arguments: judged as it is where the judge can",
    UNREADABLE_FORMULA: "dsl is no closed formula: unscored",
    K_DIFFERS: "k is not the K of the formula: the level is the published k",
    K_MALFORMED: "k is missing or no whole number: the level is what its text says, else K of the formula, else 0",
    CLASSES_DIFFER: "object_classes are not the classes of the formula: objects are looked for by the published list",
    CLASSES_MALFORMED: "object_classes is missing or no list of words: the classes of the formula are used",
    NO_CNF: "cnf is missing or no text: it is made from dsl anyway",
    # concepts with a question each
    ODD_INDEX: "no index of its own: the id has an x and the place in the file, and there is no binding",
    COUNTS_DIFFER: "not k + 1 categories, concepts and questions: all questions are asked, and the level is k",
    QUESTIONS_MOVED: "a question stands in another place than its concept: paired by content, and kept in its place",
    NOT_A_QUESTION: "a line that is no question about the image: left out",
    NO_QUESTION: "a concept that no question asks for: listed, and images are judged without it",
    NO_CONCEPT: "a question for none of the concepts: asked like the others, as the published code does",
    UNKNOWN_CONCEPT: "a concept without a name, or of no known category: its question is asked",
    DUPLICATE_PROMPT: "another item has the same prompt: images are told apart by the index in their names",
    NO_BINDING: "the file of bindings has no record for it, or two: read without one",
    BINDING_CHANGED: "the binding does not have the concepts of the item: read without it",
    # groups with weighted questions
    NO_QUESTIONS: "no questions were published: unscored",
    QUESTIONS_INCOMPLETE: "a question cannot be read, and a score without it would be another: unscored",
    QUESTION_MENDED: "a weight that is no number above 0: the usual one of its type is taken",
    UNKNOWN_QUESTION_TYPE: "a question of an unknown type: asked with its weight, as one about the prompt",
    ASSESSMENT_COUNT: "not exactly one question of the type Assessment Point: judged as it is",
    DUPLICATE_ID: "another record has this id: the item has a number behind it",
    FIELD_MALFORMED: "a field of the wrong type: a number is read as text, anything else as missing",
    UNKNOWN_CATEGORY: "none of the known categories: unscored",
    ID_AND_CATEGORY_DIFFER: "the id says another category: the category counts",
    NO_PARTNER: "the other prompt of the pair is missing",
    NO_GROUP: "there is no such group in prompt, and so no questions: unscored",
    # question graphs
    UNKNOWN_PARENT: "a question depends on one that is not there: asked without that parent",
    CIRCULAR_PARENTS: "parents that lead in a circle: they count where zeroing is direct, and are left out otherwise",
    DUPLICATE_QUESTION: "two questions of the same id: the second has a number behind it",
    EMPTY_QUESTION: "a record without words to ask, or far too many: left out",
    EXPECTED_UNKNOWN: "an expected answer that is neither yes nor no: yes is taken",
    PROMPTS_DIFFER: "the questions of one item come with different prompts: the first counts",
    # objects with counts and places
    UNKNOWN_TASK: "a tag that is none of the six: judged, and not part of Overall",
    UNREADABLE_OBJECTS: "include or exclude cannot be read: unscored",
}
"""What each tag of an odd record means, and what is made of it."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class SkippedRecord(NamedTuple):
    """A file or record that could not be turned into an item, and the reason."""

    where: str
    why: str


def odd_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return only those tags that mark an odd record."""
    return tuple(tag for tag in tags if tag in ODD_TAGS)


def odd_meanings(tags: Iterable[str]) -> list[str]:
    """Return one line for each tag that marks an odd record, with its meaning."""
    return [f"{tag}: {ODD_TAGS[tag]}" for tag in odd_tags(tags)]


def plain_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that do not mark odd records; items are grouped by these."""
    return tuple(tag for tag in tags if tag not in ODD_TAGS)


def ordered_tags(found: Iterable[str]) -> tuple[str, ...]:
    """Return tags of odd records without duplicates, in canonical order."""
    present = set(found)
    return tuple(tag for tag in ODD_TAGS if tag in present)


def count_odd(tags: Iterable[Iterable[str]], skipped: int = 0) -> dict[str, int]:
    """Return the number of items with each tag of odd records, and the number of skipped records."""
    counts: Counter[str] = Counter()
    for tag_set, count in Counter(map(tuple, tags)).items():  # thousands of items have a few different sets of tags
        counts.update(dict.fromkeys(odd_tags(tag_set), count))
    return {**{tag: counts[tag] for tag in ODD_TAGS if counts[tag]}, **({SKIPPED: skipped} if skipped else {})}


def odd_text(counts: Mapping[str, int]) -> str:
    """Return counts of odd records as one line, such as `unknown-predicate 2, skipped 1`."""
    return ", ".join(f"{tag} {count}" for tag, count in counts.items())


def odd_lines(items: Iterable[Item[Any]], skipped: Sequence[SkippedRecord] = ()) -> list[str]:
    """Return the odd records as lines of text: each tag with its meaning and item ids, then the skipped records."""
    ids: dict[str, list[str]] = {}
    for item in items:
        for tag in odd_tags(item.tags):
            ids.setdefault(tag, []).append(item.id)
    lines = [f"{tag} {len(ids[tag])} ({ODD_TAGS[tag]}): {', '.join(ids[tag])}" for tag in ODD_TAGS if tag in ids]
    if skipped:
        lines.append(f"{SKIPPED} {len(skipped)} (no item could be made of it):")
        lines += [f"  {record.where}: {record.why}" for record in skipped]
    return lines


def clean_text(text: str) -> tuple[str, bool]:
    """Replace lone surrogates in a text, and return it with whether it had any."""
    return (text, False) if is_utf8(text) else (_SURROGATE.sub("\ufffd", text), True)


def clean_line(text: str, tags: set[str]) -> str:
    """Replace unprintable characters in a text, and add the tag for it if there were any."""
    if text.isprintable():  # lone surrogates are not
        return text
    tags.add(BROKEN_TEXT)
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
