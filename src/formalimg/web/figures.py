"""Numbers as the viewer writes them."""

from __future__ import annotations

from formalimg.stats import Band, Rate
from formalimg.suites import Suite

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
