"""Jinja2 templates of a package with autoescaping; jinja2 is imported on first use."""

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
    """Render a template from the package's `templates/` folder. Values are escaped unless they are markup."""
    from markupsafe import Markup

    return Markup(environment(package).get_template(template).render(values))


@cache
def environment(package: str) -> Environment:
    """Return the Jinja2 environment of a package, in which undefined names raise errors."""
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
    """Replace control characters and characters that are invalid in pages or invisible by a dot."""
    return _FORBIDDEN.sub("·", text)


def _printable(value: object) -> object:
    return printable(value) if type(value) is str else value
