"""From values to pages: the templates. Everything is escaped but what the report's own drawing code has built."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from formalimg.stats import Band, Rate
from formalimg.suites import Suite
from formalimg.web.viewer.urls import build_url


def page(template: str, status: int = 200, **values: object) -> Response:
    """A page made from a template."""
    words = _templates().get_template(template).render(values)
    # What judges wrote may hold halves of characters, which no page can.
    return Response(words.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def trusted_markup(markup: str) -> Markup:
    """Markup that the report has built, in which all that is foreign is escaped already."""
    return Markup(markup)


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("formalimg.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["build_url"] = build_url
    return found


NOTHING = "–"


def percent(share: float | None) -> str:
    """A share as 93.5 %."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def rate_text(figure: Rate | Band, suite: Suite) -> str:
    """A rate in percent, or a mean score from 0 to 1 where the suite has scores; † where some are not scored."""
    if figure.value is None:
        return NOTHING
    mark = "†" if figure.coverage < 1 else ""
    return mark + (f"{figure.value:.2f}" if suite.kind == "counterfactual" else percent(figure.value))
