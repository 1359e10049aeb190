"""Prompt parsing: tokens, phrasebooks, and mentions of concepts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple, TypeAlias, TypeVar

from formalimg.benchmarks.conceptmix.plausibility import object_facts
from formalimg.benchmarks.conceptmix.spec import ATTRIBUTES, Concept
from formalimg.benchmarks.conceptmix.words import function_words, lexicon_entry, number_word, plural_of, singular_of

_Value = TypeVar("_Value")

Phrase: TypeAlias = tuple[str, ...]  # A phrase as its tokens
_WORD = re.compile(r"[^\W_]+|[.,;:!?()]")
_PARTING = str.maketrans(dict.fromkeys("-‐‑‒–—_/’'\"“”‘", " "))


class PhraseMeaning(NamedTuple):
    """A concept that a phrase can mean, and whether the phrase only hints at the concept."""

    concept: Concept
    hinted: bool = False


PhraseMeanings: TypeAlias = tuple[PhraseMeaning, ...]  # All meanings of a phrase; empty if it names something else


def split_tokens(text: str) -> Phrase:
    """Return the lower-case words and punctuation marks of a text; hyphens separate words."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).translate(_PARTING).lower()))


def find_phrases(tokens: Sequence[str], book: Mapping[Phrase, _Value]) -> Iterator[tuple[int, int, _Value]]:
    """Yield the start, end and value of each phrase in `book`, longest match first."""
    longest = max(map(len, book), default=0)
    index = 0
    while index < len(tokens):
        for length in range(min(longest, len(tokens) - index), 0, -1):
            value = book.get(tuple(tokens[index : index + length]))
            if value is not None:
                yield index, index + length, value
                index += length
                break
        else:
            index += 1


@cache
def phrase_group(group: str) -> Mapping[Phrase, bool]:
    """Return a group of function words as a phrasebook."""
    return dict.fromkeys(map(split_tokens, sorted(function_words(group))), True)


def build_phrasebook(requested: Set[Concept], optional: Set[Concept]) -> Mapping[Phrase, PhraseMeanings]:
    """Return the meanings of phrases, preferring requested concepts where a phrase is ambiguous."""
    mine: dict[Phrase, list[PhraseMeaning]] = {}
    for concept in sorted(requested):
        for phrase, hinted in concept_phrases(concept):
            mine.setdefault(phrase, []).append(PhraseMeaning(concept, hinted))
    book = dict(_book_of(frozenset(optional)))
    for phrase, meanings in mine.items():
        categories = {meaning.concept.category for meaning in meanings}
        others_of_it = (meaning for meaning in book.get(phrase, ()) if meaning.concept.category not in categories)
        book[phrase] = _pick_clearest([*meanings, *others_of_it])
    return book


@cache
def _book_of(concepts: frozenset[Concept]) -> Mapping[Phrase, PhraseMeanings]:
    book: dict[Phrase, list[PhraseMeaning]] = {phrase: [] for phrase in phrase_group("something_else")}
    for concept in sorted(concepts):
        for phrase, hinted in concept_phrases(concept):
            # A hint at an object that is already named says nothing of objects that are not.
            if not (hinted and concept.category == "object"):
                book.setdefault(phrase, []).append(PhraseMeaning(concept, hinted))
    return {phrase: _pick_clearest(meanings) for phrase, meanings in book.items()}


def _pick_clearest(meanings: Sequence[PhraseMeaning]) -> PhraseMeanings:
    best: dict[str, PhraseMeaning] = {}
    for clear in sorted(meanings, key=lambda meaning: meaning.hinted):
        best.setdefault(clear.concept.category, clear)
    return tuple(best.values())


@cache
def concept_phrases(concept: Concept) -> tuple[tuple[Phrase, bool], ...]:
    """Return the phrases for a concept, each with a flag for mere hints."""
    category, value = concept
    entry = lexicon_entry(category, value)
    texts = [value, *entry.get("said", ()), *([entry["before"]] if "before" in entry else ())]
    if category in ("object", "shape"):
        texts += [singular_of(value), plural_of(value)]
    elif category == "number":
        texts.append(number_word(value))
    elif category == "style" and "picture" in entry:
        texts.append(entry["picture"])
    names = object_facts(value).names if category == "object" else ()
    hints = (*entry.get("hinted", ()), *entry.get("also", ()), *names, *map(plural_of, names))
    return tuple((split_tokens(text), False) for text in texts) + tuple((split_tokens(text), True) for text in hints)


PUNCTUATION = frozenset(".,;:!?()")  # Punctuation tokens
_ENDS = frozenset(".!?")
_GLUE = ("and", ",")
_OF_COLOUR = {"color", "colour", "colored", "coloured", "painted"}
_KNOWN = ("others", "verbs", "linkers", "articles", "pronouns", "of_attributes", "pictures")


class ConceptMention(NamedTuple):
    """A mention of a concept, covering the tokens from `start` (inclusive) to `end` (exclusive)."""

    concept: Concept
    hinted: bool
    start: int
    end: int


@dataclass(frozen=True)
class ParsedPrompt:
    """A tokenized text and its concept mentions."""

    tokens: tuple[str, ...]
    mentions: tuple[ConceptMention, ...]

    @cached_property
    def objects(self) -> dict[int, ConceptMention]:
        """Object mentions by start index."""
        return {mention.start: mention for mention in self.mentions if mention.concept.category == "object"}

    @cached_property
    def attributes(self) -> dict[int, ConceptMention]:
        """Attribute mentions by start index."""
        return {mention.start: mention for mention in self.mentions if mention.concept.category in ATTRIBUTES}

    @cached_property
    def spans(self) -> dict[int, ConceptMention]:
        """Object and attribute mentions by the index of each token they cover."""
        mentions = [*self.attributes.values(), *self.objects.values()]
        return {index: mention for mention in mentions for index in range(mention.start, mention.end)}

    def is_adjective(self, index: int) -> bool:
        """Return whether an attribute other than a number starts at `index`."""
        return index in self.attributes and self.attributes[index].concept.category != "number"

    def is_unknown(self, index: int) -> bool:
        """Return whether the token at `index` looks like a noun or adjective that is not a known concept."""
        token = self.tokens[index] if 0 <= index < len(self.tokens) else "."
        return not (
            index in self.spans
            or token in PUNCTUATION
            or any(token in function_words(group) for group in _KNOWN)
            or token.endswith(("ing", "ed", "ly"))
            or token.isdigit()
        )

    def sentence(self, index: int) -> range:
        """Return the token range of the sentence around an index."""
        ends = [number for number, token in enumerate(self.tokens) if token in _ENDS]
        start = max((number + 1 for number in ends if number < index), default=0)
        return range(start, min((number for number in ends if number >= index), default=len(self.tokens)))

    def objects_in(self, tokens: range) -> list[ConceptMention]:
        """Return the object mentions that start in a range, in order."""
        return [self.objects[index] for index in tokens if index in self.objects]

    def previous_subject(self, index: int) -> ConceptMention | None:
        """Return the subject of the previous sentence: its only object, or the object it begins with."""
        before = self.sentence(index).start - 1
        while before > 0:
            sentence = self.sentence(before - 1)
            objects = self.objects_in(sentence)
            if objects:
                begins = self.is_adjacent(sentence.start, objects[0].start, function_words("openings"))
                return objects[0] if begins or len({obj.concept for obj in objects}) == 1 else None
            before = sentence.start - 1
        return None

    def is_adjacent(self, start: int, end: int, also: frozenset[str] = frozenset()) -> bool:
        """Return whether only articles, attributes and words in `also` lie between two indexes."""
        words = function_words("articles") | function_words("of_attributes") | function_words("ordinals") | also
        return all(
            self.tokens[index] in words or (index in self.spans and self.spans[index].concept.category in ATTRIBUTES)
            for index in range(start, end)
        )

    def occurrences(self, group: str) -> list[range]:
        """Return the token ranges of all phrases in a group of function words."""
        return [range(start, end) for start, end, _ in find_phrases(self.tokens, phrase_group(group))]

    def preposition_before(self, mention: ConceptMention) -> str:
        """Return the preposition before an object and its modifiers, or an empty string."""
        index = mention.start - 1
        while index >= 0 and self.is_adjacent(index, index + 1):
            index -= 1
        return self.tokens[index] if index >= 0 and self.tokens[index] in function_words("prepositions") else ""


def parse_prompt(text: str, requested: Iterable[Concept], optional: Iterable[Concept] = ()) -> ParsedPrompt:
    """Find all concept mentions in a text, except spatial concepts.

    Args:
        text: the text.
        requested: the concepts it should mention.
        optional: concepts it may mention too; an ambiguous word is read as a requested concept where possible.
    """
    tokens = split_tokens(text)
    phrases = list(find_phrases(tokens, build_phrasebook(set(requested), set(optional))))
    mentions = [
        ConceptMention(meaning.concept, meaning.hinted, start, end)
        for start, end, meanings in phrases
        for meaning in meanings
    ]
    covered = {index for start, end, _ in phrases for index in range(start, end)}
    mentions += [
        ConceptMention(Concept("number", token), False, index, index + 1)
        for index, token in enumerate(tokens)
        if index not in covered and (token.isdigit() or token in function_words("large_numbers"))
    ]
    rough = ParsedPrompt(tokens, tuple(sorted(mentions, key=lambda mention: mention.start)))
    clear = ParsedPrompt(tokens, tuple(_disambiguate(rough)))
    return ParsedPrompt(
        tokens,
        tuple(
            mention._replace(hinted=True) if _is_part(clear, mention) or _is_absent(clear, mention) else mention
            for mention in clear.mentions
        ),
    )


def _disambiguate(parsed: ParsedPrompt) -> Iterator[ConceptMention]:
    """Yield the mentions consistent with their context: "orange" is a fruit or a colour."""
    spans = [(mention.start, mention.end) for mention in parsed.mentions]
    for mention in parsed.mentions:
        is_other = _is_adjective if mention.concept.category == "object" else _is_noun
        if spans.count((mention.start, mention.end)) == 1 or not is_other(parsed, mention):
            yield mention


def _is_adjective(parsed: ParsedPrompt, mention: ConceptMention) -> bool:
    starts = {attribute.end: attribute.start for attribute in parsed.attributes.values()}
    index = _before_glue(parsed, mention.start, starts)
    while index in starts:
        index = _before_glue(parsed, starts[index], starts)
    # In predicate position: "is orange", "is tiny and orange".
    is_predicate = index > 0 and parsed.tokens[index - 1] in function_words("copulas") | _OF_COLOUR | {"in"}
    return is_predicate or _precedes_noun(parsed, mention.end)


def _before_glue(parsed: ParsedPrompt, index: int, ends: Mapping[int, int]) -> int:
    while index > 1 and parsed.tokens[index - 1] in _GLUE and (index - 1 in ends or parsed.tokens[index - 2] in _GLUE):
        index -= 1
    return index


def _precedes_noun(parsed: ParsedPrompt, index: int) -> bool:
    while index < len(parsed.tokens):
        if index in parsed.objects or parsed.tokens[index] in _OF_COLOUR:
            return True
        if index in parsed.attributes:
            index = parsed.attributes[index].end
        elif parsed.tokens[index] in _GLUE and parsed.is_adjective(index + 1):
            index += 1
        else:
            return False
    return False


def _is_noun(parsed: ParsedPrompt, mention: ConceptMention) -> bool:
    """Return whether a mention certainly names an object."""
    before = parsed.tokens[mention.start - 1] if mention.start else ""
    after = parsed.tokens[mention.end] if mention.end < len(parsed.tokens) else "."
    described = any(attribute.end == mention.start for attribute in parsed.attributes.values()) or before == "shaped"
    groups = ("others", "verbs", "linkers", "links_of_attributes")
    ended = after in PUNCTUATION or any(after in function_words(group) for group in groups)
    return (described or before in function_words("articles")) and ended and not _is_adjective(parsed, mention)


def _is_part(parsed: ParsedPrompt, mention: ConceptMention) -> bool:
    """Return whether an object is only part of another object's name: a cat statue, a robot dog."""
    category, value = mention.concept
    if category != "object" or parsed.tokens[mention.start : mention.end] != split_tokens(singular_of(value)):
        return False
    if mention.end in parsed.objects:
        return mention.end not in parsed.attributes  # which may be a colour after all: "is the apple orange"
    after = parsed.tokens[mention.end] if mention.end < len(parsed.tokens) else "."
    counted = parsed.spans.get(mention.start - 1)
    if counted is not None and counted.concept.category == "number" and plural_of(value) != singular_of(value):
        return parsed.is_unknown(mention.end)
    is_verb = after.endswith("s") or after in function_words("behind_nouns")
    return parsed.is_unknown(mention.end) and not is_verb


def _is_absent(parsed: ParsedPrompt, mention: ConceptMention) -> bool:
    """Return whether a named object need not be visible: a cat's bowl, or a bowl for a cat."""
    if mention.concept.category != "object":
        return False
    index = mention.start - 1
    while index >= 0 and parsed.is_adjacent(index, index + 1) and parsed.tokens[index] != "like":
        index -= 1
    before = parsed.tokens[index] if index >= 0 else ""
    if before in function_words("of_no_presence"):
        return True
    sentence = parsed.sentence(mention.start)
    in_an_image = before == "of" and index > 0 and parsed.tokens[index - 1] in function_words("pictures")
    if in_an_image and parsed.objects_in(range(sentence.start, index)):
        return True
    owned = parsed.tokens[mention.end + 1] if mention.end + 1 < len(parsed.tokens) else "."
    return parsed.tokens[mention.end : mention.end + 1] == ("s",) and owned not in function_words("wholes")


def describes_image(parsed: ParsedPrompt, style: ConceptMention) -> bool:
    """Return whether a style applies to the image: "a cartoon of a cat", but not "a cat watches a cartoon"."""
    index = style.end
    while index < len(parsed.tokens) and (parsed.is_adjective(index) or _is_style(parsed, index)):
        index += 1
    token = parsed.tokens[index] if index < len(parsed.tokens) else "."
    if index in parsed.objects or token in function_words("pictures") | function_words("words_for_style"):
        return True  # a noun for an image or a depicted object comes next: "a cubist dog"
    if parsed.is_unknown(style.end) and parsed.tokens[style.end] not in function_words("behind_nouns"):
        return False
    index, start = style.start - 1, parsed.sentence(style.start).start
    skipped = function_words("articles") | function_words("degrees") | function_words("words_for_style")
    while index >= start and (parsed.tokens[index] in skipped or _is_style(parsed, index)):
        index -= 1
    if index < start or parsed.tokens[index] in function_words("before_styles") | function_words("pictures"):
        return True
    # Ink is in bottles, and images are drawn with it.
    before = parsed.tokens[max(index - 1, start) : index]
    if parsed.tokens[index] == "of":
        return bool(set(before) & (function_words("words_for_style") | function_words("pictures")))
    return parsed.tokens[index] == "with" and bool(set(before) & function_words("makings"))


def _is_style(parsed: ParsedPrompt, index: int) -> bool:
    return any(
        mention.start <= index < mention.end for mention in parsed.mentions if mention.concept.category == "style"
    )
