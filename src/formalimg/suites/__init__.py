"""Suites: benchmarks as items, how they are made, and how they are brought here."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily
from formalimg.suites.conditions import Condition, LayoutForm, Sent, StyleText
from formalimg.suites.defaults import DigestError, instruction_digest
from formalimg.suites.encoding import decode_item, encode_item
from formalimg.suites.findings import ItemsError
from formalimg.suites.formalimg_data.published import write_published
from formalimg.suites.item import FormulaSpec, Item
from formalimg.suites.items_file import write_items
from formalimg.suites.loading import load
from formalimg.suites.suite import Suite, suite, suite_names

if TYPE_CHECKING:
    from formalimg.suites.ontology import implausible
    from formalimg.suites.pulling import Pulled, PullError, Source, pull, source, source_names
    from formalimg.suites.synthesis import Recipe, make_items, take_census
    from formalimg.suites.wording import WordingError, same_meaning_as_written, understand
    from formalimg.suites.wording.dictionary import lexicon

# Most programs neither pull nor make items.
__getattr__ = lazily(
    "formalimg.suites",
    {
        "ontology": ["implausible"],
        "pulling": ["PullError", "Pulled", "Source", "pull", "source", "source_names"],
        "synthesis": ["Recipe", "make_items", "take_census"],
        "wording": ["WordingError", "same_meaning_as_written", "understand"],
        "wording.dictionary": ["lexicon"],
    },
)

__all__ = [
    "Condition",
    "DigestError",
    "FormulaSpec",
    "Item",
    "ItemsError",
    "LayoutForm",
    "PullError",
    "Pulled",
    "Recipe",
    "Sent",
    "Source",
    "StyleText",
    "Suite",
    "WordingError",
    "decode_item",
    "encode_item",
    "implausible",
    "instruction_digest",
    "lexicon",
    "load",
    "make_items",
    "pull",
    "same_meaning_as_written",
    "source",
    "source_names",
    "suite",
    "suite_names",
    "take_census",
    "understand",
    "write_items",
    "write_published",
]
