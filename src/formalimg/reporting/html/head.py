"""The head of the page, its style and its scripts, and what the page may do."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from formalimg.reporting.html.markup import Markup, element, join


def head(title: str) -> Markup:
    """Title and style, behind a policy by which no script but our own runs and nothing is loaded from elsewhere."""
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", page_style()),
    )


def scripts() -> Markup:
    """The scripts of the page, to stand at its end."""
    return join(*(element("script", script) for script in (theme_script(), _packaged("page.js"))))


def page_style() -> Markup:
    """The style of the page, for other pages in which its pieces are shown."""
    return _packaged("page.css")


def theme_script() -> Markup:
    """The script behind the button for light and dark colours, for other pages that have one."""
    return _packaged("theme.js")


def _policy() -> str:
    """Escaping keeps foreign text from becoming markup; should it ever fail, the browser still runs nothing of it."""
    ours = " ".join(map(_digest, (theme_script(), _packaged("page.js"))))
    # Images lie in the page, or in a folder beside it: `'self'` where it is served, `file:` where it is opened.
    return (
        f"default-src 'none'; style-src {_digest(page_style())}; script-src {ours}; img-src data: 'self' file:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(inline: str) -> str:
    return f"'sha256-{b64encode(sha256(inline.encode()).digest()).decode('ascii')}'"


def _packaged(name: str) -> Markup:
    """Style and script are ours, and hold nothing that would end their element."""
    return Markup((files("formalimg.reporting.html") / name).read_text(encoding="utf-8"))
