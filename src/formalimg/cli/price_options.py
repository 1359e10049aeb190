"""Parse the `--price` option, and require prices if there is a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.models.base import Identified

Roles: TypeAlias = Mapping[str, Sequence[str]]
"""The names of the models of a command, by what they do: `model`, `judge`, `rewriter`, `checker`."""


class GivenPrices:
    """Prices from the command line, provided as model options."""

    def __init__(self, given: Sequence[str] | None, roles: Roles) -> None:
        """Parse prices such as `judge=0.15/0.60` or `openai/my-model=0.04`."""
        self._prices: dict[str, str] = {}
        known = [name for names in roles.values() for name in names]
        for text in given or ():
            who, equals, price = text.rpartition("=")  # the name of a program may hold one, too
            if not equals or not price:
                raise FormalimgError(f"cannot read --price {text!r}: write it as judge=0.15/0.60 or model=0.04")
            if not roles.get(who) and who not in known:
                raise FormalimgError(
                    f"--price {text}: there is no {who!r} in this command: write one of "
                    f"{', '.join([*(role for role, names in roles.items() if names), *known])}"
                )
            self._prices[who] = price

    def option(self, role: str, name: str) -> dict[str, str]:
        """Return the `price` option of a model, if any. A price by model name takes precedence over one by role."""
        price = self._prices.get(name, self._prices.get(role))
        return {} if price is None else {"price": price}


def require_prices(budget: float | None, parties: Sequence[Identified], *, per_image: bool = False) -> None:
    """Raise an error if there is a budget and the price of any party is unknown."""
    from formalimg.models.pricing import UNKNOWN_PRICE, advise_on_unknown_price, price_of

    for party in parties if budget is not None else ():
        if price_of(party) == UNKNOWN_PRICE:
            raise FormalimgError(advise_on_unknown_price(party.name, per_image=per_image))
