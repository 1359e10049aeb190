"""Suites: benchmarks as items, how they are made, and how they are brought here."""

from importlib import import_module
from typing import TYPE_CHECKING

from formalimg.suites.defaults import DigestError, instruction_digest
from formalimg.suites.formalimg_data.findings import ItemsError
from formalimg.suites.formalimg_data.lines import write_items
from formalimg.suites.formalimg_data.published import write_published
from formalimg.suites.item import FormulaSpec, Item
from formalimg.suites.loading import load
from formalimg.suites.suite import Suite, suite, suite_names

if TYPE_CHECKING:
    from formalimg.suites.ontology import implausible
    from formalimg.suites.pulling import Pulled, PullError, Source, pull, source, source_names
    from formalimg.suites.synthesis import Recipe, make_items, take_census

# Loaded when first asked for: most programs neither pull nor make items.
_LATER = {
    "implausible": "ontology",
    **dict.fromkeys(["PullError", "Pulled", "Source", "pull", "source", "source_names"], "pulling"),
    **dict.fromkeys(["Recipe", "make_items", "take_census"], "synthesis"),
}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f"formalimg.suites.{_LATER[name]}"), name)
    raise AttributeError(f"module 'formalimg.suites' has no attribute {name!r}")


__all__ = [
    "DigestError",
    "FormulaSpec",
    "Item",
    "ItemsError",
    "PullError",
    "Pulled",
    "Recipe",
    "Source",
    "Suite",
    "implausible",
    "instruction_digest",
    "load",
    "make_items",
    "pull",
    "source",
    "source_names",
    "suite",
    "suite_names",
    "take_census",
    "write_items",
    "write_published",
]
