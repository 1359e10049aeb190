"""What calls cost: a list of prices as data, which the user may overrule."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.models.base import Usage

PRICES_VARIABLE = "FORMALIMG_PRICES"
"""The environment variable that names the user's own list."""

PRICES_FILE = Path("prices.toml")
"""The user's own list, in the current folder."""

_RATES = ("input", "output", "image")
_VERSION_OF_A_MODEL = re.compile(r"-\d{4}-\d{2}-\d{2}|-\d{6,8}|-\d{3}|-latest|-preview(-\d{2}-\d{2,4})?")
"""What may follow the name of a model without making it another one."""


@dataclass(frozen=True)
class Price:
    """What a model costs, in US dollars; None is not known.

    Attributes:
        input: per million tokens sent.
        output: per million tokens that came back.
        image: per image made, for models that are paid by the image or do not say how many tokens they used.
    """

    input: float | None = None
    output: float | None = None
    image: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """What this use cost; None if that cannot be known."""
        if self == FREE:
            return 0.0
        tokens_are_told = usage.input_tokens > 0 or usage.output_tokens > 0
        if tokens_are_told and self.input is not None and self.output is not None:
            return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000
        if usage.images > 0 and self.image is not None:
            return usage.images * self.image
        return None


FREE = Price(0.0, 0.0)
UNKNOWN = Price()


def price(name: str) -> Price:
    """What a model costs, by its name `provider/model`. The user's own list comes first.

    Raises:
        FormalimgError: if the user's list cannot be read.
    """
    for listed in (_users_prices(), _our_prices()):
        found = _listed(name, listed)
        if found is not None:
            return found
    return UNKNOWN


def _listed(name: str, prices: Mapping[str, Price]) -> Price | None:
    """The most exact entry for a name. A name that only begins like an entry is another model, of another price."""
    fitting = [entry for entry in prices if _fits(name, entry)]
    return prices[max(fitting, key=len)] if fitting else None


def _fits(name: str, entry: str) -> bool:
    if entry.endswith("*"):
        return name.startswith(entry[:-1])
    return name == entry or (
        name.startswith(entry) and _VERSION_OF_A_MODEL.fullmatch(name.removeprefix(entry)) is not None
    )


@cache
def _our_prices() -> Mapping[str, Price]:
    text = (files("formalimg.models") / "prices.toml").read_text(encoding="utf-8")
    return read_prices(text, "prices.toml")


def _users_prices() -> Mapping[str, Price]:
    named = os.environ.get(PRICES_VARIABLE)
    path = Path(named) if named else PRICES_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not named:
            return {}
        raise FormalimgError(f"{PRICES_VARIABLE} names {named}, which is not there") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FormalimgError(f"cannot read the prices in {path}: {error}") from None
    return read_prices(text, str(path))


def read_prices(text: str, source: str) -> Mapping[str, Price]:
    """The prices in a TOML text: a table `prices` from names to `input`, `output` and `image`.

    Raises:
        FormalimgError: if it is anything else; the message names the source and the entry.
    """
    try:
        table = tomllib.loads(text).get("prices")
    except tomllib.TOMLDecodeError as error:
        raise FormalimgError(f"{source} is no TOML: {error}") from None
    if not isinstance(table, dict):
        raise FormalimgError(f"{source} holds no prices: it needs a table [prices]")
    return {name: _price(name, entry, source) for name, entry in table.items()}


def _price(name: str, entry: object, source: str) -> Price:
    rates = entry if isinstance(entry, dict) else {}
    sound = rates and all(
        rate in _RATES and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
        for rate, value in rates.items()
    )
    if not sound:
        raise FormalimgError(
            f"the price of {name!r} in {source} cannot be read: "
            "write { input = 2.5, output = 10 } or { image = 0.04 }"
        )
    if ("input" in rates) != ("output" in rates):
        raise FormalimgError(f"the price of {name!r} in {source} has only one of input and output: give both")
    return Price(**{rate: float(value) for rate, value in rates.items()})
