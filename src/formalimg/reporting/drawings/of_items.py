"""Which figures the items of suites have: what they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.itemised.concepts import drawings_of_concepts
from formalimg.reporting.drawings.itemised.fields import drawings_of_fields
from formalimg.reporting.drawings.itemised.formulas import drawings_of_formulas, predicates_of_suites
from formalimg.suites import Item
from formalimg.suites import suite as suite_of


def drawings_of_items(items: Sequence[Item[Any]]) -> tuple[Drawing, ...]:
    """All figures of what items are made of. The predicates of several suites stand side by side."""
    names = dict.fromkeys(item.suite for item in items)
    return tuple(_drawings({name: [item for item in items if item.suite == name] for name in names}))


def _drawings(by_suite: dict[str, list[Item[Any]]]) -> Iterator[Drawing]:
    formal = {name: items for name, items in by_suite.items() if suite_of(name).kind == "formula"}
    yield from predicates_of_suites(formal)
    for name, items in by_suite.items():
        suite = suite_of(name)
        match suite.kind:
            case "formula":
                yield from drawings_of_formulas(suite, items)
            case "concepts":
                yield from drawings_of_concepts(suite, items)
            case "counterfactual":
                yield from drawings_of_fields(suite, items)
