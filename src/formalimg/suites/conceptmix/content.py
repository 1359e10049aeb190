"""What an item asks for, whatever the order and the words."""

from __future__ import annotations

from collections.abc import Hashable

from formalimg.suites.conceptmix.spec import BoundObject, ConceptSpec


def content_of(spec: ConceptSpec) -> Hashable:
    """What two specs have in common exactly if they ask for the same: such items are duplicates.

    That is the concepts, and who has them. Objects that were added count where a relation names them, since a cat on
    a table is not a cat on a chair; what only stands there to compare sizes with does not. Without a binding the
    concepts alone decide.
    """
    concepts = tuple(sorted(asked.concept for asked in spec.concepts))
    binding = spec.binding
    if binding is None:
        return concepts
    things = [_thing(thing) for thing in binding.objects]
    drawn = sum(asked.category == "object" for asked in spec.concepts)
    relations = sorted(
        (relation.name, *(() if end is None else things[end - 1] for end in (relation.first, relation.second)))
        for relation in binding.relations
    )
    return concepts, tuple(sorted(things[:drawn])), tuple(relations)


def _thing(thing: BoundObject) -> tuple[object, ...]:
    return thing.item, *sorted(thing.attributes.items())
