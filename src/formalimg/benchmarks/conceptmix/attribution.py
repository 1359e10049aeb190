"""Attribution in a prompt: which objects an attribute or number belongs to, and whether a style is that of the image.

A simple reading of noun phrases; what it cannot decide belongs to no object.
"""

from __future__ import annotations

from formalimg.benchmarks.conceptmix.concept_mentions import ConceptMention, ParsedPrompt
from formalimg.benchmarks.conceptmix.words import function_words

_NONE: frozenset[str] = frozenset()
_MAX_UNKNOWN = 2
_MATERIAL = ("shape", "texture")


def attribute_owners(parsed: ParsedPrompt, attribute: ConceptMention) -> frozenset[str]:
    """Return the objects that have an attribute; empty if it belongs to something else, or cannot be decided."""
    if attribute.concept.category == "number":
        return counted_objects(parsed, attribute) or _counted_before(parsed, attribute)
    head, described = _head(parsed, attribute)
    if head is not None:
        return _coordinated(parsed, head)
    return _NONE if described is False else _predicate_owners(parsed, attribute, is_word_for_it=bool(described))


def counted_objects(parsed: ParsedPrompt, number: ConceptMention) -> frozenset[str]:
    """Return the objects directly after a number."""
    head, _ = _head(parsed, number)
    return _NONE if head is None else _coordinated(parsed, head)


def counts_unknown_object(parsed: ParsedPrompt, number: ConceptMention) -> bool:
    """Return whether a number counts something that is not a concept: "two birds", but not "the two animals"."""
    index = number.end
    while index < len(parsed.tokens) and (parsed.is_adjective(index) or parsed.tokens[index].endswith("ed")):
        index += 1
    general = parsed.tokens[index : index + 1] and parsed.tokens[index] in function_words("general")
    return parsed.is_unknown(index) and not general


def _head(parsed: ParsedPrompt, attribute: ConceptMention) -> tuple[ConceptMention | None, bool | None]:
    """Return the object after an adjective; else whether "fur", "texture" or the like follows, or something unknown."""
    index, unknown, described = attribute.end, 0, None
    while index < len(parsed.tokens):
        token = parsed.tokens[index]
        if index in parsed.objects and parsed.objects[index].start >= attribute.end:
            verb = unknown > 0 and parsed.tokens[index - 1].endswith("s")
            return (None, False) if verb else (parsed.objects[index], None)
        if token in function_words("wholes"):
            return None, True
        if parsed.is_adjective(index):
            index = parsed.attributes[index].end
        elif token in function_words("of_attributes"):
            index, described = index + 1, True
        elif token in ("and", ",") and parsed.is_adjective(index + 1) and not unknown:
            index += 1
        elif parsed.is_unknown(index) and unknown < _MAX_UNKNOWN:
            if unknown and parsed.tokens[index - 1].endswith("s"):
                return None, False
            index, unknown = index + 1, unknown + 1
        else:
            break
    behind = attribute.end < len(parsed.tokens) and parsed.tokens[attribute.end] in function_words("behind_nouns")
    return None, False if unknown and not behind else described


def _coordinated(parsed: ParsedPrompt, head: ConceptMention) -> frozenset[str]:
    """Return the object, and those that share its adjectives: "a red cat and dog"."""
    found = {head.concept.value}
    index = head.end
    while index + 1 < len(parsed.tokens) and parsed.tokens[index] == "and" and index + 1 in parsed.objects:
        found.add(parsed.objects[index + 1].concept.value)
        index = parsed.objects[index + 1].end
    return frozenset(found)


def _counted_before(parsed: ParsedPrompt, number: ConceptMention) -> frozenset[str]:
    """Return the objects of "cats, three in number" and of "the number of cats is three"."""
    sentence = parsed.sentence(number.start)
    before = parsed.objects_in(range(sentence.start, number.start))
    behind = parsed.tokens[number.end : number.end + 2]
    before_number = parsed.tokens[sentence.start : number.start]
    if not before or not (
        behind in (("in", "number"), ("of", "them"), ("in", "total"), ("in", "all")) or "number" in before_number
    ):
        return _NONE
    return frozenset({before[-1].concept.value})


def _predicate_owners(parsed: ParsedPrompt, attribute: ConceptMention, *, is_word_for_it: bool) -> frozenset[str]:
    """Return the owners of an attribute after them, or of a pronoun: "is red", "with red fur", "made of glass"."""
    sentence = parsed.sentence(attribute.start)
    index, links = attribute.start - 1, []
    while index >= sentence.start and _is_link(parsed, index):
        links.append(parsed.tokens[index])
        index -= 1
    if _is_noun_use(attribute, links, is_word_for_it=is_word_for_it):
        return _NONE
    token = parsed.tokens[index] if index >= sentence.start else ""
    if token in function_words("pronouns"):
        return _antecedents(parsed, index, several=token in function_words("plural_pronouns"))
    obj = parsed.spans.get(index)
    if obj is None or index < sentence.start or obj.concept.category != "object":
        return _NONE
    relative = set(links) & function_words("relatives")
    if relative or (links and not set(links) & function_words("copulas")):
        return frozenset({obj.concept.value})
    if set(links) & function_words("plural_copulas") or "both" in links:
        return frozenset(one.concept.value for one in _list_ending_at(parsed, obj))
    return frozenset({_subject(parsed, obj).concept.value})


def _is_link(parsed: ParsedPrompt, index: int) -> bool:
    """Return whether this token may stand between an object and its attribute."""
    token, held = parsed.tokens[index], parsed.spans.get(index)
    if held is not None:
        return held.concept.category not in ("object", "number")
    groups = ("links_of_attributes", "wholes", "of_attributes", "relatives", "articles", "degrees")
    return any(token in function_words(group) for group in groups) or token.endswith("ly")


def _is_noun_use(attribute: ConceptMention, links: list[str], *, is_word_for_it: bool) -> bool:
    """Return whether it is used as a noun: "a house and a heart", "a robot with a glass", "a woman in red"."""
    if is_word_for_it:
        return False
    category = attribute.concept.category
    content = set(links) - function_words("articles") - {"and", ","}
    if category in _MATERIAL and links and not content:
        return set(links) & {"and", ","} != set()
    if category == "texture":
        return links[:1] != [] and links[0] in function_words("articles")
    if category == "shape" and links:
        return not content & (function_words("copulas") | function_words("of_shape"))
    return links == ["in"]


def _antecedents(parsed: ParsedPrompt, index: int, *, several: bool) -> frozenset[str]:
    """Return what a pronoun refers to."""
    before = parsed.objects_in(range(parsed.sentence(index).start, index))
    if not before:
        if not several:
            one = parsed.previous_subject(index)
            return _NONE if one is None else frozenset({one.concept.value})
        start = parsed.sentence(index).start
        before = parsed.objects_in(parsed.sentence(start - 2)) if start > 1 else []
    values = frozenset(one.concept.value for one in before)
    if several and before:
        return frozenset(one.concept.value for one in _list_ending_at(parsed, before[-1]))
    return values if len(values) == 1 else _NONE


def _list_ending_at(parsed: ParsedPrompt, obj: ConceptMention) -> list[ConceptMention]:
    """Return an object and those before it in the same list: "the cat and the dog"."""
    found = [obj]
    before = parsed.objects_in(range(parsed.sentence(obj.start).start, obj.start))
    for one in reversed(before):
        between = parsed.tokens[one.end : found[-1].start]
        if not {"and", ","} & set(between) or not parsed.is_adjacent(one.end, found[-1].start, frozenset({"and", ","})):
            break
        found.append(one)
    return found


def _subject(parsed: ParsedPrompt, obj: ConceptMention) -> ConceptMention:
    """Return the subject of "is" after an object in a prepositional phrase: "the cat next to the dog is …"."""
    before = parsed.objects_in(range(parsed.sentence(obj.start).start, obj.start))
    while before and parsed.preposition_before(obj):
        obj = before.pop()
    return obj


def describes_image(parsed: ParsedPrompt, style: ConceptMention) -> bool:
    """Return whether a style is that of the image: "a cartoon of a cat", but not "a cat watches a cartoon"."""
    if _modifies_image(parsed, style.end):
        return True
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


def _modifies_image(parsed: ParsedPrompt, index: int) -> bool:
    """Return whether an image or a depicted object comes next: "a cubist dog"."""
    while index < len(parsed.tokens) and (parsed.is_adjective(index) or _is_style(parsed, index)):
        index += 1
    token = parsed.tokens[index] if index < len(parsed.tokens) else "."
    return index in parsed.objects or token in function_words("pictures") | function_words("words_for_style")


def _is_style(parsed: ParsedPrompt, index: int) -> bool:
    return any(one.start <= index < one.end for one in parsed.mentions if one.concept.category == "style")
