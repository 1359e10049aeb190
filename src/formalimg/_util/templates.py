"""Jinja2 templates of a package, with everything escaped; jinja2 is imported when the first one is rendered."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from formalimg._util.text import HIDDEN

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FORBIDDEN = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f{HIDDEN}\ufdd0-\ufdef\ufffe\uffff]")


def render_template(package: str, template: str, **values: object) -> Markup:
    """Return a template under `templates/` of a package, filled in. Values are escaped unless they are markup."""
    from markupsafe import Markup

    return Markup(environment(package).get_template(template).render(values))


@cache
def environment(package: str) -> Environment:
    """Return the Jinja2 environment of a package: autoescape on, undefined names are errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )


def printable(text: str) -> str:
    """Return text in which characters that no page may contain, or that are obeyed or hidden, are shown as a dot."""
    return _FORBIDDEN.sub("·", text)


def _printable(value: object) -> object:
    return printable(value) if type(value) is str else value
