"""Items as text, for whoever has to keep them: a run folder holds all that it asked."""

from __future__ import annotations

from formalimg.suites.item import Item
from formalimg.suites.items_file import item_of, line_of


def encode_item(item: Item[object], *, with_proof: bool = True) -> str:
    """The item as one line of JSON; the same item always gives the same text.

    Args:
        item: an item of any suite.
        with_proof: False leaves out what only shows that the item can be satisfied, so that what is asked remains.

    Raises:
        FormalimgError: if there is no such suite, or the item does not ask for what items of it ask for.
    """
    return line_of(item, with_proof=with_proof)


def decode_item(text: str, suite: str) -> Item[object]:
    """The item that `encode_item` wrote.

    Raises:
        ItemsError: if the text is no item of the suite.
    """
    return item_of(text, suite)
