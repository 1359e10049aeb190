"""Facts of prompts in a form that tests can compare, as read and as asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.syntax import Value, Variable, atoms
from formalimg.models.builtin.drawn_world import ReadFact
from formalimg.scenes.objects import ATTRIBUTE_PREDICATES
from formalimg.types import Item

Stated = tuple[str, ...]


def as_stated(facts: Iterable[ReadFact]) -> set[Stated]:
    kept = [fact for fact in facts if fact.kind != "every"]
    labels = {fact.objects[0]: fact.value for fact in kept if fact.kind == "object"}
    return {
        (fact.kind, fact.value, *(() if fact.kind == "object" else (labels[number] for number in fact.objects)))
        for fact in kept
    }


def as_asked(item: Item[Any]) -> set[Stated]:
    return _of_formula(item.spec) if isinstance(item.spec, FormulaSpec) else _of_binding(item.spec)


def _of_formula(spec: FormulaSpec) -> set[Stated]:
    found, classes, stated = list(atoms(spec.formula)), dict[str, str](), set[Stated]()
    for atom in found:
        match atom.arguments:
            case (Variable(name), Value(word)) if atom.predicate == "Is":
                classes[name] = word
    for atom in found:
        match atom.arguments:
            case (Variable(name), Value(word)):
                kind = ATTRIBUTE_PREDICATES.get(atom.predicate)
                stated.add(("object", word) if kind is None else (kind, word, classes[name]))
            case (Variable(one), Variable(other)):
                stated.add(("relation", atom.predicate, classes[one], classes[other]))
            case (Value(word),):
                stated.add(("style", word))
    return stated


def _of_binding(spec: ConceptSpec) -> set[Stated]:
    assert spec.binding is not None
    objects, stated = spec.binding.objects, set[Stated]()
    for obj in objects:
        stated.add(("object", obj.item))
        kinds = {"texture": "material"}
        stated |= {(kinds.get(kind, kind), value, obj.item) for kind, value in obj.attributes.items()}
    for relation in spec.binding.relations:
        assert relation.first is not None
        assert relation.second is not None
        pair = (objects[relation.first - 1].item, objects[relation.second - 1].item)
        stated.add(("relation", relation.name, *pair))
    if spec.binding.style is not None:
        stated.add(("style", spec.binding.style))
    return stated
