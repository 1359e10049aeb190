"""Rule-based checks of captions, bindings and questions, without a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import clean_prompt
from formalimg.benchmarks.conceptmix.authoring.templates import (
    BindingAnswer,
    CaptionAnswer,
    ConceptMixture,
    RepeatedAnswer,
    ValidityAnswer,
)
from formalimg.benchmarks.conceptmix.completion import lacks_size_reference
from formalimg.benchmarks.conceptmix.pools import Pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.questions import template_questions
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    OPEN,
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Concept,
)

_WRONG = re.compile(r"\W*wrong\b", re.IGNORECASE)
"""How chat models begin who would rather say no in the place of the caption, as the paper lets them."""


def check_caption(answer: CaptionAnswer, mix: ConceptMixture, pools: Pools) -> str | Rejection:
    """Return the writer's caption, or a rejection unless it states all of the concepts and no others."""
    if not answer.possible:
        return Rejection("called impossible", _in_one_line(answer.why))
    if _WRONG.match(answer.caption):
        return Rejection("called impossible", _in_one_line(answer.caption))
    return _check_words(answer.caption, mix, pools)


def caption_after_check(
    answer: ValidityAnswer | RepeatedAnswer, caption: str, mix: ConceptMixture, pools: Pools
) -> str | Rejection:
    """Return the caption after validation, replaced by the checker's repetition where the protocol requires it."""
    if not answer.valid:
        return Rejection("check: invalid", _in_one_line(answer.why))
    if isinstance(answer, ValidityAnswer):
        return caption
    if _WRONG.match(answer.caption):
        return Rejection("check: invalid", _in_one_line(answer.caption))
    return _check_words(answer.caption, mix, pools)


def _check_words(caption: str, mix: ConceptMixture, pools: Pools) -> str | Rejection:
    words = clean_prompt(caption)
    if isinstance(words, Rejection):
        return words
    missing = missing_concepts(words, mix.concepts, mix.binding)
    if missing:
        return Rejection("concept not said", f"{_format_concepts(missing)}: {truncate(words, 200, 50)}")
    added = extra_concepts(words, mix.concepts, mix.binding, pools)
    if added:
        return Rejection("something added", f"{_format_concepts(added)}: {truncate(words, 200, 50)}")
    return words


def _format_concepts(concepts: tuple[Concept, ...]) -> str:
    return ", ".join(f"{category} {value}" for category, value in concepts)


def _in_one_line(text: str) -> str:
    return truncate(" ".join(text.split()), 250, 50) or "no reason given"


_LONGEST_ITEM = 60


def is_incomplete(binding: Binding) -> bool:
    """Return whether a relation is open, or a size has no reference object."""
    return binding.is_open or lacks_size_reference(binding)


def complete_binding_from(before: Binding, answer: BindingAnswer, pools: Pools) -> Binding | Rejection:
    """Return the binding from an answer, or a rejection if it does more than fill in open relations."""
    try:
        after = Binding.from_json(answer.model_dump(by_alias=True, exclude_none=True))
    except BindingError as error:
        return Rejection("binding unfit", truncate(str(error), 250, 50))
    if is_incomplete(after):
        return open_relations()
    changes = binding_changes(before, after) or _find_needless_object(before, after)
    if changes:
        return Rejection("binding changed", truncate(changes, 250, 50))
    objections = (_objection_to(added, before, pools) for added in after.objects[len(before.objects) :])
    return next(filter(None, objections), after)


def binding_changes(before: Binding, after: Binding) -> str | None:
    """Describe what a completed binding changes besides filling in ids and adding plain objects, or return None."""
    old, new = _list_parts(before), _list_parts(after)
    added = {f"object {number}" for number in range(len(before.objects) + 1, len(after.objects) + 1)}
    changes = []
    for part in dict.fromkeys((*old, *new)):
        was, now, whole = old.get(part), new.get(part), part.rpartition(" of ")[2]
        if whole != part and (whole not in new or (whole not in old and whole not in added)):
            continue  # it is missing or added as a whole
        if now is None:
            changes.append(f"{part} ({was}) is missing")
        elif was is None:
            changes += [] if part in added else [f"{part} ({now}) was added, but only plain objects may be"]
        elif was not in (now, OPEN):
            changes.append(f"{part} was {was!r} and is now {now!r}")
        elif now == OPEN:
            changes.append(f"{part} is still {OPEN!r}: fill in the id of an object")
        elif was == OPEN and now not in range(1, len(after.objects) + 1):
            changes.append(f"{part} is {now}, but objects are 1 to {len(after.objects)}")
    for number, relation in enumerate(after.relations, 1):
        if relation.first is not None and relation.first == relation.second:
            changes.append(f"relation {number} is between object {relation.first} and itself: it needs two objects")
    return "; ".join(changes) or None


def _list_parts(binding: Binding) -> dict[str, str | int]:
    parts: dict[str, str | int] = {} if binding.style is None else {"the style": binding.style}
    for number, obj in enumerate(binding.objects, 1):
        parts[f"object {number}"] = obj.item
        parts |= {f"the {category} of object {number}": value for category, value in obj.attributes.items()}
    for number, relation in enumerate(binding.relations, 1):
        parts |= {
            f"relation {number}": relation.name,
            f"the description of relation {number}": relation.description,
            f"ObjectA_id of relation {number}": OPEN if relation.first is None else relation.first,
            f"ObjectB_id of relation {number}": OPEN if relation.second is None else relation.second,
        }
    return parts


def open_relations() -> Rejection:
    """Return the rejection for a binding that leaves relations open."""
    return Rejection("binding left open", "a relation whose objects are not said, or a size with nothing beside it")


def _find_needless_object(before: Binding, after: Binding) -> str | None:
    """Return an added object that no relation or size requires, or None."""
    related = {end for relation in after.relations for end in (relation.first, relation.second)}
    spared = 1 if lacks_size_reference(before) else 0
    for number in range(len(before.objects) + 1, len(after.objects) + 1):
        if number in related:
            continue
        if spared == 0:
            return f"object {number} ({after.objects[number - 1].item}) was added for nothing"
        spared -= 1
    return None


def _objection_to(added: BoundObject, before: Binding, pools: Pools) -> Rejection | None:
    item = added.item
    if not item.isprintable() or item.strip() != item or len(item) > _LONGEST_ITEM:
        return Rejection("binding unfit", f"an added object must be one or two words: {truncate(item, 50, 20)}")
    if any(thing.item == item and "number" in thing.attributes for thing in before.objects):
        return Rejection("binding changed", f"another {item} was added to a given number of them")
    more = [concept for concept in extra_concepts(item, (), before, pools) if concept.category != "object"]
    if more:
        return Rejection("binding changed", f"the added {item} brings the {more[0].category} {more[0].value}")
    return None


_LONGEST_QUESTION = 400
_WORD = re.compile(r"[^\W_]+")
_INDEFINITE = ("a", "an", "one", "another")


def check_questions(questions: Sequence[str], mix: ConceptMixture, pools: Pools) -> tuple[str, ...] | Rejection:
    """Return the questions in concept order, or a rejection unless each asks for just its concept."""
    if len(questions) != len(mix.concepts):
        return Rejection("wrong number of questions", f"{len(questions)} instead of {len(mix.concepts)}")
    lines = tuple(" ".join(question.split()) for question in questions)
    for line in lines:
        if not line.endswith("?") or not line.isprintable() or len(line) > _LONGEST_QUESTION:
            return Rejection("no question", truncate(line, 200, 50) or "an empty line")
    ours = template_questions(mix.concepts, mix.binding)
    for number, (line, bound) in enumerate(zip(lines, mix.concepts, strict=True)):
        repeated = line in lines[:number] and mix.statements[number] not in mix.statements[:number]
        own_pairs = frozenset(pairwise(_split_words(f"{mix.statements[number]} . {ours[number]}")))
        if repeated or not _asks_for(line, bound, mix.binding, own_pairs, pools):
            category, value = bound.concept
            return Rejection("question out of order", f"not for {category} {value}: {truncate(line, 200, 50)}")
    return lines


def _asks_for(
    line: str, bound: BoundConcept, binding: Binding, own_pairs: Collection[tuple[str, str]], pools: Pools
) -> bool:
    words = _split_words(line)
    if words[:1] not in ([beginning] for beginning in _load_words()["beginnings"]) or line.count("?") > 1:
        return False
    category = bound.concept.category
    for phrase in _load_words()["turning"]:  # which change the meaning of a question, as a negation does
        parts = phrase.split()
        starts = (index for index in range(len(words)) if words[index : index + len(parts)] == parts)
        if phrase not in _load_words()["fitting"].get(category, ()) and not all(
            _is_own(words, index, own_pairs) for index in starts
        ):
            return False
    if _asks_for_one_of_several(words, bound, binding, own_pairs):
        return False
    alone, alone_binding = _isolate_concept(bound, binding)
    objects = [
        BoundConcept(Concept("object", obj.item), (number,)) for number, obj in enumerate(alone_binding.objects, 1)
    ]
    requested = (alone, *(obj for obj in objects if set(obj.objects) & set(alone.objects)))
    plain = line
    if category not in ("object", "number"):  # without words that only identify: "the three red cats" are "the cats"
        naming = set(_load_words()["naming"]["numbers"])
        naming.update(*(binding.objects[number - 1].attributes.values() for number in bound.objects))
        names = "|".join(map(re.escape, sorted(naming - {bound.concept.value})))
        plain = re.sub(rf"\b(the|all) (?:(?:{names}),? )+(?=\w)", r"\1 ", line)
    return not missing_concepts(plain, requested, alone_binding) and not extra_concepts(
        plain, requested, alone_binding, pools
    )


def _isolate_concept(bound: BoundConcept, binding: Binding) -> tuple[BoundConcept, Binding]:
    """Return the concept renumbered, and a binding restricted to the concept and its objects."""
    category, value = bound.concept
    numbers = bound.objects or tuple(range(1, len(binding.objects) + 1))
    things = [BoundObject(binding.objects[number - 1].item) for number in numbers]
    if category in ATTRIBUTES:
        things[0] = replace(things[0], attributes={category: value})
    relations = tuple(
        replace(relation, first=1, second=2)
        for relation in binding.relations
        if category == "spatial" and (relation.name, relation.first, relation.second) == (value, *bound.objects)
    )
    places = tuple(range(1, len(bound.objects) + 1))
    return BoundConcept(bound.concept, places), Binding(
        tuple(things), value if category == "style" else None, relations
    )


def _asks_for_one_of_several(
    words: Sequence[str], bound: BoundConcept, binding: Binding, own_pairs: Collection[tuple[str, str]]
) -> bool:
    """Return whether a question is about only one of several objects that share an attribute: "is a cat red?"."""
    if bound.concept.category not in ATTRIBUTES or bound.concept.category == "number":
        return False
    thing = binding.objects[bound.objects[0] - 1]
    item = tuple(_split_words(thing.item))
    return thing.attributes.get("number", "1") != "1" and any(
        words[index] in _INDEFINITE and item[0] in words[index + 1 : index + 4] and not _is_own(words, index, own_pairs)
        for index in range(len(words))
    )


def _is_own(words: Sequence[str], index: int, own_pairs: Collection[tuple[str, str]]) -> bool:
    """Return whether the word at this place has a neighbour that it also has in the concept's statement or question."""
    return any(pair in own_pairs for pair in pairwise(words[max(index - 1, 0) : index + 2]))


def _split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def _load_words() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "question_words.toml").read_text(encoding="utf-8"))
