"""Items as text, for whoever has to keep them: a run folder holds all that it asked."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.suites.formalimg_data.lines import item_of, line_of
from formalimg.suites.item import FormulaSpec, Item


def encode_item(item: Item[object], *, with_proof: bool = True) -> str:
    """The item as one line of JSON; the same item always gives the same text.

    Args:
        item: an item of any suite.
        with_proof: False leaves out what only shows that the item can be satisfied, so that what is asked remains.
    """
    spec = item.spec
    if isinstance(spec, FormulaSpec):
        return line_of(
            Item(item.suite, item.id, item.level, item.prompt, spec, item.tags, item.version), with_witness=with_proof
        )
    raise FormalimgError(f"item {item.id} of {item.suite} is of no known suite: {type(spec).__name__}")


def decode_item(text: str, suite: str) -> Item[object]:
    """The item that `encode_item` wrote.

    Raises:
        ItemsError: if the text is no item of the suite.
    """
    return item_of(text, suite)
