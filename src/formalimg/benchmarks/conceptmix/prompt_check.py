"""Check of a prompt against its concepts, reporting missing and extra concepts.

Negated, vague and ambiguous concepts count as not stated, because another prompt is easily sampled, whereas a wrong one
would make every verdict wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from formalimg.benchmarks.conceptmix.concept_mentions import (
    ConceptMention,
    ParsedPrompt,
    Phrase,
    describes_image,
    find_phrases,
    parse_prompt,
    split_tokens,
)
from formalimg.benchmarks.conceptmix.plausibility import bound_relations
from formalimg.benchmarks.conceptmix.pools import Pools, load_pools
from formalimg.benchmarks.conceptmix.spatial_facts import (
    SpatialFact,
    extract_facts,
    is_stated,
    relation_axis,
    spatial_phrases,
)
from formalimg.benchmarks.conceptmix.spec import ATTRIBUTES, Binding, BoundConcept, Concept
from formalimg.benchmarks.conceptmix.words import function_words, lexicon_entry, word_tables

_NONE: frozenset[str] = frozenset()
_MAX_UNKNOWN = 2
_MATERIAL = ("shape", "texture")
_LINKS = ("links_of_attributes", "wholes", "of_attributes", "relatives", "articles", "degrees")
"""Words that can stand between an object and its attribute."""


def attribute_owners(parsed: ParsedPrompt, attribute: ConceptMention) -> frozenset[str]:
    """Return the objects that have an attribute, or an empty set if its owner is unknown or ambiguous."""
    if attribute.concept.category == "number":
        return _find_counted_objects(parsed, attribute) or _find_counted_before(parsed, attribute)
    head, described = _find_head(parsed, attribute)
    if head is not None:
        return _find_coordinated(parsed, head)
    return _NONE if described is False else _predicate_owners(parsed, attribute, is_word_for_it=bool(described))


def _find_counted_objects(parsed: ParsedPrompt, number: ConceptMention) -> frozenset[str]:
    head, _ = _find_head(parsed, number)
    return _NONE if head is None else _find_coordinated(parsed, head)


def _counts_unknown_object(parsed: ParsedPrompt, number: ConceptMention) -> bool:
    """Return whether a number counts an unknown object: "two birds", but not "the two animals"."""
    index = number.end
    while index < len(parsed.tokens) and (parsed.is_adjective(index) or parsed.tokens[index].endswith("ed")):
        index += 1
    general = parsed.tokens[index : index + 1] and parsed.tokens[index] in function_words("general")
    return parsed.is_unknown(index) and not general


def _find_head(parsed: ParsedPrompt, attribute: ConceptMention) -> tuple[ConceptMention | None, bool | None]:
    """Return the object modified by an adjective, or else whether a generic or an unknown noun follows."""
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


def _find_coordinated(parsed: ParsedPrompt, head: ConceptMention) -> frozenset[str]:
    """Return the object, and those that share its adjectives: "a red cat and dog"."""
    values = {head.concept.value}
    index = head.end
    while index + 1 < len(parsed.tokens) and parsed.tokens[index] == "and" and index + 1 in parsed.objects:
        values.add(parsed.objects[index + 1].concept.value)
        index = parsed.objects[index + 1].end
    return frozenset(values)


def _find_counted_before(parsed: ParsedPrompt, number: ConceptMention) -> frozenset[str]:
    """Return the objects counted by a later number: "cats, three in number", "the number of cats is three"."""
    start = parsed.sentence(number.start).start
    objects = parsed.objects_in(range(start, number.start))
    behind = " ".join(parsed.tokens[number.end : number.end + 2])
    counts = behind in ("in number", "of them", "in total", "in all") or "number" in parsed.tokens[start : number.start]
    return frozenset({objects[-1].concept.value}) if objects and counts else _NONE


def _predicate_owners(parsed: ParsedPrompt, attribute: ConceptMention, *, is_word_for_it: bool) -> frozenset[str]:
    """Return the owners of a predicate attribute, resolving pronouns: "is red", "with red fur", "made of glass"."""
    sentence = parsed.sentence(attribute.start)
    index, links = attribute.start - 1, list[str]()
    while index >= sentence.start:
        token, mention = parsed.tokens[index], parsed.spans.get(index)
        is_word = any(token in function_words(group) for group in _LINKS) or token.endswith("ly")
        if not (is_word if mention is None else mention.concept.category not in ("object", "number")):
            break
        links.append(token)
        index -= 1
    if _is_noun_use(attribute, links, is_word_for_it=is_word_for_it):
        return _NONE
    token = parsed.tokens[index] if index >= sentence.start else ""
    if token in function_words("pronouns"):
        return _find_antecedents(parsed, index, several=token in function_words("plural_pronouns"))
    obj = parsed.spans.get(index)
    if obj is None or index < sentence.start or obj.concept.category != "object":
        return _NONE
    relative = set(links) & function_words("relatives")
    if relative or (links and not set(links) & function_words("copulas")):
        return frozenset({obj.concept.value})
    if set(links) & function_words("plural_copulas") or "both" in links:
        return frozenset(listed.concept.value for listed in _list_ending_at(parsed, obj))
    before = parsed.objects_in(range(sentence.start, obj.start))
    while before and parsed.preposition_before(obj):  # "the cat next to the dog is …"
        obj = before.pop()
    return frozenset({obj.concept.value})


def _is_noun_use(attribute: ConceptMention, links: list[str], *, is_word_for_it: bool) -> bool:
    """Return whether an attribute word is used as a noun: "a house and a heart", "a woman in red"."""
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


def _find_antecedents(parsed: ParsedPrompt, index: int, *, several: bool) -> frozenset[str]:
    before = parsed.objects_in(range(parsed.sentence(index).start, index))
    if not before:
        if not several:
            subject = parsed.previous_subject(index)
            return _NONE if subject is None else frozenset({subject.concept.value})
        start = parsed.sentence(index).start
        before = parsed.objects_in(parsed.sentence(start - 2)) if start > 1 else []
    values = frozenset(obj.concept.value for obj in before)
    if several and before:
        return frozenset(obj.concept.value for obj in _list_ending_at(parsed, before[-1]))
    return values if len(values) == 1 else _NONE


def _list_ending_at(parsed: ParsedPrompt, obj: ConceptMention) -> list[ConceptMention]:
    """Return an object and those preceding it in the same list: "the cat and the dog"."""
    listed = [obj]
    before = parsed.objects_in(range(parsed.sentence(obj.start).start, obj.start))
    for earlier in reversed(before):
        between = parsed.tokens[earlier.end : listed[-1].start]
        if not {"and", ","} & set(between) or not parsed.is_adjacent(
            earlier.end, listed[-1].start, frozenset({"and", ","})
        ):
            break
        listed.append(earlier)
    return listed


def is_negated(parsed: ParsedPrompt, binding: Binding) -> bool:
    """Return whether a text contains a negation or a doubt outside the requested relations."""
    spared = set(parsed.spans) | set(_relation_token_positions(parsed, binding))
    spared.update(*parsed.occurrences("harmless"))
    spared.update(*(phrase for phrase in parsed.occurrences("apart") if _may_be_apart(parsed, phrase.start, binding)))
    return any(not spared.issuperset(phrase) for group in ("denials", "doubts") for phrase in parsed.occurrences(group))


def is_exact_number(parsed: ParsedPrompt, number: ConceptMention, binding: Binding) -> bool:
    """Return whether a number is exact, rather than part of a larger number or a limit such as "at least"."""
    if _is_number(parsed, number.start - 1) or _is_number(parsed, number.end):
        return False
    # A bee may be above three roses, and dogs may be more than three, or over three.
    axes = {relation_axis(relation.name) for relation in binding.relations}
    phrases = spatial_phrases(parsed, word_tables()["spatial"])
    placed = {range(phrase.start, phrase.end) for phrase in phrases if relation_axis(phrase.value) in axes}
    before = {phrase.stop for phrase in parsed.occurrences("limits_before") if phrase not in placed}
    behind = {phrase.start for phrase in parsed.occurrences("limits_behind")}
    return number.start not in before and number.end not in behind


def _is_number(parsed: ParsedPrompt, index: int) -> bool:
    """Return whether the token at `index` is a number, or a separator within a number such as 3,000."""
    if not 0 <= index < len(parsed.tokens):
        return False
    joined = parsed.tokens[index] in (",", ".") and parsed.tokens[index + 1 : index + 2] == ("000",)
    mention = parsed.spans.get(index)
    return joined or (mention is not None and mention.concept.category == "number")


def _relation_token_positions(parsed: ParsedPrompt, binding: Binding) -> Iterator[int]:
    names = {relation.name for relation in binding.relations}
    for phrase in spatial_phrases(parsed, names):
        yield from range(phrase.start, phrase.end)
    for name in names:
        if excludes_contact(name):
            continue
        question = str(lexicon_entry("spatial", name).get("question", "")).replace("{", " ").replace("}", " ")
        pairs: list[Phrase] = list(pairwise(split_tokens(question)))
        for start, end, _ in find_phrases(parsed.tokens, dict.fromkeys(pairs, True)):
            yield from range(start, end)


def _may_be_apart(parsed: ParsedPrompt, index: int, binding: Binding) -> bool:
    """Return whether the sentence at `index` may state that objects are apart, given the requested relations."""
    names = {relation.name for relation in binding.relations}
    apart = {name for name in names if excludes_contact(name)}
    sentence = parsed.sentence(index)
    stated = {
        phrase.value for phrase in spatial_phrases(parsed, names) if phrase.start in sentence and phrase.kind == "said"
    }
    return bool(apart) and (bool(stated & apart) or not stated)


def excludes_contact(relation: str) -> bool:
    """Return whether objects in this relation do not touch."""
    aside = split_tokens(str(lexicon_entry("spatial", relation).get("aside", "")))
    return bool(set(aside) & function_words("denials"))


def mentions_contact(parsed: ParsedPrompt, index: int) -> bool:
    """Return whether the sentence at `index` states that objects touch."""
    denied = {index for phrase in parsed.occurrences("apart") for index in phrase}
    contact = function_words("contact")
    return any(parsed.tokens[position] in contact and position not in denied for position in parsed.sentence(index))


_CLEAR = ("said", "places")


def missing_concepts(prompt: str, concepts: Sequence[BoundConcept], binding: Binding) -> tuple[Concept, ...]:
    """Return the requested concepts that a prompt does not clearly state for the right objects, in concept order."""
    parsed = parse_prompt(
        prompt, _collect_requested(concepts, binding), _concepts_in(load_pools(profile="official-code"))
    )
    if is_negated(parsed, binding):
        return tuple(bound.concept for bound in concepts)
    # Such as "at least one cat is red": of some objects but not of all, or of no certain number.
    vague = bool(parsed.occurrences("vague"))
    facts = {fact for fact, _ in extract_facts(parsed, (relation.name for relation in binding.relations))}
    return tuple(
        bound.concept
        for bound in concepts
        if (vague and bound.concept.category != "object") or not _is_stated(parsed, facts, bound, binding)
    )


def extra_concepts(
    prompt: str, concepts: Sequence[BoundConcept], binding: Binding, pools: Pools
) -> tuple[Concept, ...]:
    """Return the concepts that a prompt states without a request, in text order."""
    requested = _collect_requested(concepts, binding)
    parsed = parse_prompt(prompt, requested, _concepts_in(pools))
    extra: dict[int, Concept] = {}
    for mention in parsed.mentions:
        in_doubt = any(
            rival.start == mention.start and rival.concept in requested for rival in parsed.mentions if rival != mention
        )
        if not in_doubt and not _is_requested(parsed, mention, requested, binding):
            extra[mention.start] = mention.concept
    for start, value in _extra_relations(parsed, binding, pools):
        extra.setdefault(start, Concept("spatial", value))
    return tuple(dict.fromkeys(extra[start] for start in sorted(extra)))


def _collect_requested(concepts: Sequence[BoundConcept], binding: Binding) -> set[Concept]:
    drawn = {bound.concept for bound in concepts if bound.concept.category != "spatial"}
    return drawn | {Concept("object", obj.item) for obj in binding.objects}


def _concepts_in(pools: Pools) -> set[Concept]:
    concepts = {Concept(category, value) for category, pool in pools.items() for value in pool.values}
    counts = {Concept("number", str(number)) for number in range(2, len(word_tables()["counts"]))}
    return {concept for concept in concepts if concept.category != "spatial"} | counts


def _is_stated(parsed: ParsedPrompt, facts: Collection[SpatialFact], bound: BoundConcept, binding: Binding) -> bool:
    items = [binding.objects[number - 1].item for number in bound.objects]
    category, value = bound.concept
    if category == "spatial":
        # Among all relations, as "directly underneath" is not "underneath".
        phrases = spatial_phrases(parsed, {*word_tables()["spatial"], value}) if excludes_contact(value) else []
        touching = any(at.value == value and mentions_contact(parsed, at.start) for at in phrases)
        return is_stated(facts, SpatialFact(value, *items)) and not touching
    mentions = [mention for mention in parsed.mentions if mention.concept == bound.concept and not mention.hinted]
    if category == "style":
        return any(describes_image(parsed, mention) for mention in mentions)
    if category == "object":
        return bool(mentions)
    if category == "number":
        before = {parsed.tokens[at - 1] for at, obj in parsed.objects.items() if at and obj.concept.value == items[0]}
        alone = sum(obj.item == items[0] for obj in binding.objects) == 1
        if alone and before & function_words("more_of_it"):  # it names another one
            return False
        mentions = [mention for mention in mentions if is_exact_number(parsed, mention, binding)]
    return any(items[0] in attribute_owners(parsed, mention) for mention in mentions)


def _is_requested(parsed: ParsedPrompt, mention: ConceptMention, requested: set[Concept], binding: Binding) -> bool:
    category = mention.concept.category
    if category not in ATTRIBUTES:
        return mention.concept in requested
    having = {obj.item for obj in binding.objects if obj.attributes.get(category) == mention.concept.value}
    if category == "number":
        # Numbers that stand before no noun may count anything: "the two do not touch".
        counting = _find_counted_objects(parsed, mention)
        if not is_exact_number(parsed, mention, binding):
            return False
        return bool(counting & having) if counting else not _counts_unknown_object(parsed, mention)
    return bool(attribute_owners(parsed, mention) & having)


def _extra_relations(parsed: ParsedPrompt, binding: Binding, pools: Pools) -> Iterator[tuple[int, str]]:
    """Yield the index and value of each spatial relation that was not requested for its two objects."""
    axes = {relation_axis(relation.name) for relation in binding.relations}
    for phrase in spatial_phrases(parsed, pools["spatial"].values):
        if phrase.kind in _CLEAR and relation_axis(phrase.value) not in axes:
            yield phrase.start, phrase.value
    requested = {
        (relation_axis(name), frozenset(binding.items_of((first, second))))
        for name, first, second in bound_relations(binding.relations)
    }
    for fact, phrase in extract_facts(parsed, pools["spatial"].values):
        pair = relation_axis(fact.value), frozenset({fact.subject, fact.reference})
        if phrase.kind == "said" and pair not in requested:
            yield phrase.start, phrase.value
