"""Texts that do something wherever they are taken for markup, a formula or an order; and checks that they are not.

The checks know nothing of our escaping: they read an output as its reader does, and return what got out of its place.
Whatever a text makes there is named `evil`.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

from markdown_it import MarkdownIt

LINE_BREAKS = {
    "LF": "a\nb",
    "CR": "a\rb",
    "CRLF": "a\r\nb",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "next line": "a\x85b",
    "vertical tab": "a\vb",
    "form feed": "a\fb",
    "information separators": "a\x1cb\x1db\x1eb",
}
CONTROLS = {
    "CSI": "\x1b[2J\x1b[31mevil\x1b[8m",
    "C1 CSI": "\x9b2Jevil",
    "OSC": "\x1b]0;evil\x07",
    "OSC 8": "\x1b]8;;http://evil.example\x1b\\evil\x1b]8;;\x1b\\",
    "C1 OSC": "\x9d0;evil\x9c",
    "DCS": "\x1bP+q\x1b\\",
    "backspace": "good\x08\x08\x08\x08evil",
    "NUL": "a\x00b",
    "delete": "a\x7fb",
    "overrides": "safe\u202egnp.live\u202c",
    "isolates": "\u2066evil\u2069\u2067x\u2069",
    "embeddings": "\u202aevil\u202b",
    "marks": "a\u200eb\u200fc\u061cd",
    "zero width": "e\u200bv\u2060i\ufeffl",
    "tags": "a\U000e0065\U000e0076\U000e0069\U000e006cb",
    "interlinear": "a\ufff9b\ufffac\ufffbd",
}
MARKDOWN = {
    **{f"{count} backticks": f"{'`' * count}evil" for count in range(1, 6)},
    **{f"fence of {count}": f"x\n{'`' * count}\n# evil heading\n" for count in range(3, 6)},
    "tildes": "x\n~~~evil\n~~~",
    "struck": "~~evil~~",
    "pipes": "a | b || c \\| d |\n| --- |\n| evil |",
    "heading": "# evil heading",
    "heading below": "x\n\n# evil heading\n\nx",
    "underlined": "evil heading\n===\nevil heading\n---",
    "rule": "x\n\n---\n\nx",
    "quotation": "> evil",
    "list": "- evil\n* evil\n+ evil\n1. evil\n2) evil",
    "link": "[evil](javascript:evil())",
    "image": "![evil](http://evil.example/x.png)",
    "reference": "[evil]\n\n[evil]: http://evil.example",
    "autolink": "<http://evil.example>",
    "bare address": "http://evil.example www.evil.example",
    "emphasis": "**evil** __evil__ *evil* _evil_",
    "backslashes": "\\[evil](x) \\\\[evil](x) \\`evil` evil\\",
    "entities": "&lt;img evil&gt; &#60;img evil&#62; &amp;",
    "math": "$evil$ $$evil$$",
    "comment": "x <!-- evil",
}
HTML = {
    "script": "<script evil>evil()</script>",
    "end of script": "</script><script evil>evil()</script>",
    "image": "<img evil src=x onerror=evil()>",
    "comment": "<!-- evil --><!--><img evil>-->",
    "end of data": "]]><img evil><![CDATA[",
    "attribute": "\" evil=1 onmouseover=evil() x='",
    "single quotes": "' evil=1 onmouseover=evil() '",
    "elements that hold text": "</textarea></title></style></noscript></option><b evil>",
    "svg": "<svg evil onload=evil()>",
    "link": "javascript:evil()",
    "data": "data:text/html,<script evil>evil()</script>",
    "template": "{{7*7}} {% evil %} ${evil} #{evil} {#",
    "quotes": "\"'`´‘’“”„«»",
    "unclosed": "<a evil href='",
    "null": "<\x00script evil>",
}
LATEX = {
    "input": "\\input{/etc/evil}",
    "write18": "\\write18{evil}",
    "end": "\\end{tabular}\\evil",
    "comment": "% evil",
    "specials": "$ & # _ ^ ~ { } \\",
    "caret notation": "^^5cevil ^^^^005cevil",
    "unbalanced": "}}}{{{",
    "option of a row": "[evil] *",
    "verb": "\\verb|evil|",
}
FORMULAS = {
    "equals": "=cmd|' /C evil'!A0",
    "plus": "+evil",
    "minus": "-evil",
    "at": "@SUM(evil)",
    "tab": "\t=evil",
    "return": "\r=evil",
    "line feed": "\n=evil",
    "space": " =evil",
    "full width": "\uff1devil",
    "quoted": "'=evil",
    "separator": '";=evil',
}
SHELL = {
    "substitution": "$(evil) `evil` ${evil}",
    "commands": "x; evil && evil | evil > evil & evil",
    "quotes": "it's \"evil\" '\"'\"' \\",
    "option": "--evil=1",
    "history": "!evil !!",
    "glob": "* ? [a-z] ~ {a,b}",
    "comment": "# evil",
    "lines": "x\nevil\n",
}
FILES = {
    "front matter": "---\nevil: 1\n---",
    "yaml": "x: [evil, {evil: &evil *evil}] # evil !!python/object",
    "json": '", "evil": 1, "x": "\\u0022',
    "toml": '"""\nevil = 1\n"""',
    "path": "../../evil/..\\evil",
}
ALPHABET = {
    f"{kind}: {name}": text
    for kind, texts in {
        "line break": LINE_BREAKS,
        "control": CONTROLS,
        "markdown": MARKDOWN,
        "html": HTML,
        "latex": LATEX,
        "formula": FORMULAS,
        "shell": SHELL,
        "file": FILES,
        "length": {"long": "evil " * 300, "one long word": "evil" * 300},
    }.items()
    for name, text in texts.items()
}
"""Every text by its kind and name. All are valid UTF-8."""

MAX_NAME = 900
"""Characters of a name; more are refused when a run is read."""


def _pack() -> list[str]:
    """Return all texts, put together to as few as names have room for."""
    packed = [""]
    for text in (text for text in ALPHABET.values() if len(text) < MAX_NAME):
        if len(packed[-1]) + len(text) > MAX_NAME:
            packed.append("")
        packed[-1] += f"{text} "
    return packed


NAMES = _pack()
"""Names that together have every text of the alphabet."""

EVERYTHING = "".join(NAMES)


_SHOWN_FORMATS = {"\u200c", "\u200d", "\xad"}
"""Joiners of letters and emoji, and hyphens: what they do is meant."""


def controls_in(text: str, allowed: str = "\n\t") -> set[str]:
    """Return characters that a terminal obeys, that change the order of text, or that nobody sees."""
    return {
        character
        for character in set(text)
        if character not in allowed
        and character not in _SHOWN_FORMATS
        and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def terminal_escapes(text: str) -> list[str]:
    """Return what a terminal would obey in a text that has no colours of its own."""
    return sorted(f"U+{ord(character):04X}" for character in controls_in(text))


def csv_escapes(text: str) -> list[str]:
    """Return cells that a spreadsheet would execute, control characters, and rows of another length."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    number = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
    executed = [
        f"executed: {cell[:40]!r}"
        for row in rows
        for cell in row
        if cell[:1] in tuple("=+-@\t\r\n＝＋－＠") and cell and not number.fullmatch(cell)
    ]
    ragged = [f"{len(row)} cells" for row in rows if len(row) != len(rows[0])]
    return [*executed, *ragged, *map(hex, sorted(map(ord, controls_in(text))))]


class _Page(HTMLParser):
    """Collects elements, attributes, addresses and comments that a text has made."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.escapes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            link = "".join((value or "").split()).lower()
            if "evil" in name or re.fullmatch("on[a-z]+", name) or not re.fullmatch(r"[a-zA-Z][\w:-]*", name):
                self.escapes.append(f"<{tag} {name}>")
            if name in ("href", "src", "action", "formaction", "xlink:href", "style", "srcset") and re.match(
                "(javascript|vbscript|data:text|https?://[^/]*evil|//)", link
            ):
                self.escapes.append(f"<{tag} {name}={link[:40]}>")
        if "evil" in tag or "<" in tag:
            self.escapes.append(f"<{tag}>")

    handle_startendtag = handle_starttag

    def handle_comment(self, data: str) -> None:
        if "evil" in data:
            self.escapes.append("a comment")

    def handle_decl(self, decl: str) -> None:
        if "evil" in decl:
            self.escapes.append("a declaration")

    def unknown_decl(self, data: str) -> None:
        self.handle_decl(data)

    def handle_pi(self, data: str) -> None:
        self.handle_decl(data)


def html_escapes(text: str) -> list[str]:
    """Return elements, attributes and addresses of a page that none of our templates has, and control characters."""
    page = _Page()
    page.feed(text)
    page.close()
    hidden = [hex(ord(one)) for one in sorted(controls_in(text, "\n\r\t\u200e\u200f\u061c"))]
    return [*page.escapes, *hidden, *(["a template"] if re.search(r"\b49\b.{0,3}\{%", text) else [])]


def svg_escapes(text: str) -> list[str]:
    """Return what is wrong with a drawing: that it is no XML, or has something that we do not draw."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"no XML: {error}"]
    drawn = {
        "svg", "title", "desc", "rect", "path", "text", "g", "circle", "line", "image", "a", "tspan", "polygon",
        "ellipse", "defs", "clipPath", "polyline", "linearGradient", "stop", "pattern", "use", "marker",
    }  # fmt: skip
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    return [*sorted(tags - drawn), *html_escapes(text)]


def markdown_escapes(text: str) -> list[str]:
    """Return what a text has made of Markdown: markup, headings, code, links, lists, and rows of another length."""
    escapes = [hex(ord(one)) for one in sorted(controls_in(text))]
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for block in (tokens := parser.parse(text)):
        if block.type in ("html_block", "blockquote_open", "hr"):
            escapes.append(f"{block.type}: {block.content[:40]!r}")
        if block.type == "fence" and "evil" in block.info:
            escapes.append(f"fence: {block.info[:40]!r}")
        if block.type == "code_block":
            escapes.append(f"code: {block.content[:40]!r}")
        for one in block.children or ():
            if one.type in ("html_inline", "link_open", "s_open") or (
                (one.type == "code_inline" and "evil" in one.content)
                or (one.type in ("softbreak", "hardbreak") and "evil" in block.content)
            ):
                escapes.append(f"{one.type}: {one.content[:40]!r}")
            elif one.type in ("em_open", "strong_open") and re.search(r"(?<!\\)([*_])evil\1", block.content):
                escapes.append(one.type)
            elif one.type == "image" and "evil" in str(one.attrs.get("src", "")):
                escapes.append(f"image: {one.attrs['src']}")
    for before, block in pairwise(tokens):
        if before.type == "heading_open" and re.match("evil", block.content):
            escapes.append(f"heading: {block.content[:40]!r}")
        if before.type == "list_item_open" and block.type in ("heading_open", "bullet_list_open", "ordered_list_open"):
            escapes.append(f"{block.type} in a list")
    widths = [
        [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table.splitlines()]
        for table in re.findall(r"(?:^\|.*\n?)+", _without_code(text), re.MULTILINE)
    ]
    return [*escapes, *(f"rows of {sorted(set(row))} bars" for row in widths if len(set(row)) > 1)]


def _without_code(text: str) -> str:
    return re.sub(r"^(`{3,})[^`\n]*\n.*?^\1`*$", "", text, flags=re.MULTILINE | re.DOTALL)


_LATEX_COMMANDS = {
    "begin", "end", "centering", "footnotesize", "setlength", "tabcolsep", "caption", "toprule", "midrule",
    "bottomrule", "multicolumn", "cmidrule", "scriptsize", "usepackage", "textbackslash", "textasciitilde",
    "textasciicircum", "textless", "textgreater", "textbar", "textquotedbl", "textdagger", "varepsilon", "pm", "surd",
    "downarrow", "uparrow",
}  # fmt: skip


def latex_escapes(text: str) -> list[str]:
    """Return commands that we do not write, comments, unbalanced braces, `^^`, and what T1 has no letter for."""
    escapes, depth = [], 0
    for line in text.splitlines():
        if line.startswith("% needs \\usepackage"):
            continue
        tokens = re.findall(r"\\[A-Za-z]+|\\.|\\$|\^\^|.", line)
        for token in tokens:
            if token.startswith("\\") and token[1:].isalpha() and token[1:] not in _LATEX_COMMANDS:
                escapes.append(token)
            depth += (token == "{") - (token == "}")
            if depth < 0 or token in ("%", "^^", "~", "#", '"') or (token == "&" and "evil &" in line[:0]):
                escapes.append(f"{token} in {line[:60]!r}")
        if line.count("$") - line.count("\\$") & 1 and (line.count("$") - line.count("\\$")) % 2:
            escapes.append(f"$ in {line[:60]!r}")
        if line.rstrip().endswith("\\\\") and re.match(r"\s*(\[|\*)", line):
            escapes.append(f"an option: {line[:60]!r}")
    environments = re.findall(r"\\(begin|end)\{(\w+\*?)\}", text)
    if [kind for kind, _ in environments].count("begin") * 2 != len(environments) or depth:
        escapes.append("unbalanced")
    rows = re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    for columns, body in rows:
        for row in re.findall(r"^(.*) \\\\$", body, re.MULTILINE):
            spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn\{(\d+)\}", row))
            if len(re.findall(r"(?<!\\)&", row)) + 1 + spans > len(columns):
                escapes.append(f"too many cells: {row[:60]!r}")
    return [*escapes, *(hex(ord(one)) for one in sorted(controls_in(text)))]
