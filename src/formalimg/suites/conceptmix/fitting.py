"""Giving shapes to objects that can have them, without drawing other concepts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from formalimg.suites.conceptmix.knowledge import can_have_shape
from formalimg.suites.conceptmix.spec import Binding


def fit_shapes(binding: Binding, chance: random.Random) -> Binding:
    """The same binding if every object can have its shape; otherwise the shapes are dealt out anew.

    If not all of the shapes can go to different objects that can have them, nothing is changed, and `conflicts` tells
    what is wrong.
    """
    shapes = [thing.attributes.get("shape") for thing in binding.objects]
    items = [thing.item for thing in binding.objects]
    if all(shape is None or can_have_shape(item, shape) for item, shape in zip(items, shapes, strict=True)):
        return binding
    dealt = _dealt([shape for shape in shapes if shape is not None], items, chance)
    if dealt is None:
        return binding
    objects = []
    for number, thing in enumerate(binding.objects):
        others = {category: value for category, value in thing.attributes.items() if category != "shape"}
        objects.append(replace(thing, attributes={**others, **({"shape": dealt[number]} if number in dealt else {})}))
    return replace(binding, objects=tuple(objects))


def _dealt(shapes: Sequence[str], items: Sequence[str], chance: random.Random) -> Mapping[int, str] | None:
    """A shape for some of the items, by their places, such that each is used once and can be had; None if none is."""
    order = chance.sample(shapes, len(shapes))
    holder: dict[int, int] = {}  # which shape each item has, both by their places

    def take(shape: int, tried: set[int]) -> bool:
        """Give a shape to an item, if need be by giving another item to the shape that was there."""
        able = [number for number, item in enumerate(items) if can_have_shape(item, order[shape])]
        for number in chance.sample(able, len(able)):
            if number not in tried:
                tried.add(number)
                if number not in holder or take(holder[number], tried):
                    holder[number] = shape
                    return True
        return False

    if not all(take(shape, set()) for shape in range(len(order))):
        return None
    return {number: order[shape] for number, shape in holder.items()}
