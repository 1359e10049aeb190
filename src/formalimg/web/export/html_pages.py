"""Pages of the viewer rewritten for an export: links between files, and nothing that needs a server."""

from __future__ import annotations

from collections.abc import Callable
from html import escape, unescape
from html.parser import HTMLParser
from typing import NamedTuple, TypeAlias

from formalimg.web.export.addresses import Address, parse_address

Link: TypeAlias = Callable[[str], str | None]
"""Returns the link to a URL's file; None if the export has none."""

_LINKS = frozenset({"href", "src", "poster", "formaction"})
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
_FORMS = ("/gallery", "/compare")
"""Forms that a script of the export answers; others need a server."""

_POLICY = (
    "default-src 'none'; img-src 'self' data: file:; style-src 'self' file:; script-src 'self' file:; "
    "base-uri 'none'; form-action 'none'"
)
"""As for the viewer; `file:` is where 'self' means nothing to browsers."""

_NOT_EXPORTED = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 160 160'%3E%3Ctext x='80' y='84' "
    "font-family='sans-serif' font-size='11' fill='%23888' text-anchor='middle'%3Enot exported%3C/text%3E%3C/svg%3E"
)
"""In place of an image that the export does not have; it has the size of the image, so that boxes stay in place."""


class Tile(NamedTuple):
    """A list entry that links to an image: the address of the link, and the markup of the whole."""

    address: Address
    markup: str


class FilterChoice(NamedTuple):
    """A value that a gallery can be filtered by, as its form or a link offers it."""

    name: str
    value: str


class _Entry(NamedTuple):
    """A list entry that is open: where its markup starts, and the image that it links to."""

    start: int
    address: Address | None


class RewrittenPage(HTMLParser):
    """A page as it is exported.

    Attributes:
        tiles: the images that it lists.
        choices: what its form can filter by.
        next_page: the URL of the page after it; empty if there is none.
    """

    def __init__(self, page: str, link: Link, head: str = "", end: str = "", form: str = "") -> None:
        """Rewrite a page.

        Args:
            page: its markup.
            link: returns where links lead.
            head: markup that is added to the head.
            end: markup that is added to the end of the content.
            form: attributes that are added to the form for filters.
        """
        super().__init__(convert_charrefs=False)
        self.tiles: list[Tile] = []
        self.choices: list[FilterChoice] = []
        self.next_page = ""
        self._link, self._end, self._form = link, end, form
        self._head = f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n{head}'
        self._out: list[str] = []
        self._dropped: list[str] = []
        self._entries: list[_Entry] = []
        self._select = ""
        self._option: list[str] | None = None
        self.feed(page)
        self.close()

    @property
    def text(self) -> str:
        """The rewritten markup."""
        return "".join(self._out)

    # --- tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Emit a tag with its links rewritten, or drop it with all that it contains."""
        if self._dropped:
            if tag not in _VOID:
                self._dropped.append(tag)
            return
        given = {name: value or "" for name, value in attrs}
        if (tag == "form" and _needs_server(given)) or (tag == "script" and self._is_missing(given)):
            self._dropped.append(tag)
            return
        if tag == "li":
            self._entries.append(_Entry(len(self._out), None))
        self._note(tag, given)
        self._emit(tag, given)
        if tag == "meta" and "charset" in given:
            self._out.append(f"\n{self._head}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Emit a tag of SVG that ends itself."""
        if not self._dropped:
            self._emit(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        """Emit the end of a tag."""
        if self._dropped:
            if tag in self._dropped:
                while self._dropped.pop() != tag:
                    pass
            return
        if tag == "main":
            self._out.append(self._end)
        self._out.append(f"</{tag}>")
        if tag == "select":
            self._select = ""
        elif tag == "option" and self._option is not None:
            self.choices.append(FilterChoice(self._select, unescape("".join(self._option)).strip()))
            self._option = None
        elif tag == "li" and self._entries:
            entry = self._entries.pop()
            if entry.address is not None:
                self.tiles.append(Tile(entry.address, "".join(self._out[entry.start :])))

    def _is_missing(self, given: dict[str, str]) -> bool:
        return given.get("src", "").startswith("/") and self._link(given["src"]) is None

    def _note(self, tag: str, given: dict[str, str]) -> None:
        """Note what the crawler needs to know of a page."""
        if tag == "a" and given.get("rel") == "next":
            self.next_page = given.get("href", "")
        elif tag == "a":
            found = parse_address(given.get("href", ""))
            if found is not None and found.path == "/item" and self._entries:
                self._entries[-1] = self._entries[-1]._replace(address=found.page)
            elif found is not None and len(found.filters) == 1:
                self.choices.append(FilterChoice(*found.filters[0]))
        elif tag == "select":
            self._select = given.get("name", "")
        elif tag == "option" and self._select:
            if "value" not in given:
                self._option = []  # its text is its value
            elif given["value"]:
                self.choices.append(FilterChoice(self._select, given["value"]))

    def _emit(self, tag: str, given: dict[str, str]) -> None:
        raw = self.get_starttag_text() or ""
        if tag == "form":
            path = given.get("action", "").partition("?")[0]
            kept = {name: value for name, value in given.items() if name != "action"}
            self._out.append(_tag(tag, {**kept, "data-static": path.strip("/")}, self._form))
            return
        changed = {name: self._link(value) for name, value in given.items() if _is_link(name, value)}
        if not changed:
            self._out.append(raw)
        elif tag != "link" or None not in changed.values():
            if tag == "img" and changed.get("src", "") is None:
                changed["src"] = _NOT_EXPORTED
            self._out.append(_tag(tag, {k: v for k, v in (given | changed).items() if v is not None}))

    # --- everything else is emitted as it is

    def _emit_text(self, text: str) -> None:
        if self._dropped:
            return
        self._out.append(text)
        if self._option is not None:
            self._option.append(text)

    def handle_data(self, data: str) -> None:
        """Emit text."""
        self._emit_text(data)

    def handle_entityref(self, name: str) -> None:
        """Emit a named character."""
        self._emit_text(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Emit a character by its number."""
        self._emit_text(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        """Leave out comments."""

    def handle_decl(self, decl: str) -> None:
        """Emit the document type."""
        self._out.append(f"<!{decl}>")


def _needs_server(form: dict[str, str]) -> bool:
    return form.get("method", "get").lower() != "get" or form.get("action", "").partition("?")[0] not in _FORMS


def _is_link(name: str, value: str) -> bool:
    return value.startswith("/") and (name in _LINKS or name.startswith("data-"))


def _tag(tag: str, values: dict[str, str], more: str = "") -> str:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in values.items())
    return f"<{tag}{attributes}{more}>"
