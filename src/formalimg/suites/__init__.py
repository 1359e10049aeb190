"""Suites: benchmarks as items, how they are made, and how they are brought here."""

from formalimg.suites.formalimg_data.findings import ItemsError
from formalimg.suites.formalimg_data.lines import write_items
from formalimg.suites.formalimg_data.published import write_published
from formalimg.suites.item import FormulaSpec, Item
from formalimg.suites.loading import load
from formalimg.suites.pulling import Pulled, PullError, Source, pull, source, source_names

__all__ = [
    "FormulaSpec",
    "Item",
    "ItemsError",
    "PullError",
    "Pulled",
    "Source",
    "load",
    "pull",
    "source",
    "source_names",
    "write_items",
    "write_published",
]
