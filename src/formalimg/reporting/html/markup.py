"""Building HTML and SVG from values. Text is escaped unless it was built here, so nothing foreign becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"br", "img", "input", "meta"})
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, /, *children: str | Markup | Iterable[Markup], **attributes: object) -> Markup:
    """An element. Attributes that are None or False are left out; `class_` is `class`, `data_run` is `data-run`."""
    opened = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}>"
    if name in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{join(*children)}</{name}>")


def join(*children: str | Markup | Iterable[Markup]) -> Markup:
    """Children one after the other; plain text is escaped."""
    return Markup("".join(map(_child, children)))


def folded(title: str, inside: Markup) -> Markup:
    """What is not shown until somebody asks for it."""
    return element("details", element("summary", title), inside)


def text(words: str) -> Markup:
    """Plain text as markup. Characters that no page may hold are shown as a dot."""
    return Markup(escape(_FORBIDDEN.sub("·", words)))


def _child(child: str | Markup | Iterable[Markup]) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return text(child)
    return "".join(map(_child, child))


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {name}="{text(str(value))}"'
