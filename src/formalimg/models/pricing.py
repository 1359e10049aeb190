"""Prices of models and cost of calls: a price list as data, which the user may override."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Usage

PRICES_VARIABLE = "FORMALIMG_PRICES"
"""Environment variable that names the user's own price list."""

PRICES_FILE = Path("prices.toml")
"""The user's own price list, in the current folder."""

_RATES = ("input", "output", "image")
_MAX_BYTES = 1_000_000
"""The longest price list that is read."""
_VERSION_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}|-\d{6,8}|-\d{3}|-latest|-preview(-\d{2}-\d{2,4})?")
"""What may follow the name of a model without making it another model."""


@dataclass(frozen=True)
class Price:
    """Price of a model in US dollars; None if unknown.

    Attributes:
        input: per million tokens sent.
        output: per million tokens received.
        image: per generated image, for models that are priced by the image or do not report tokens.
    """

    input: float | None = None
    output: float | None = None
    image: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of this usage; None if it is unknown."""
        if self == FREE:
            return 0.0
        has_tokens = usage.input_tokens > 0 or usage.output_tokens > 0
        if has_tokens and self.input is not None and self.output is not None:
            return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000
        if usage.images > 0 and self.image is not None:
            return usage.images * self.image
        return None


FREE = Price(0.0, 0.0)
UNKNOWN_PRICE = Price()


def get_price(name: str) -> Price:
    """Return the price of a model by its name `provider/model`. The user's own list takes precedence.

    Raises:
        FormalimgError: if the user's list cannot be read.
    """
    for prices in (_user_prices(), _default_prices()):
        found = _find_price(name, prices)
        if found is not None:
            return found
    return UNKNOWN_PRICE


def _find_price(name: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the most specific entry for a name. A name that only begins like an entry is another model."""
    matches = [entry for entry in prices if _matches(name, entry)]
    return prices[max(matches, key=len)] if matches else None


def _matches(name: str, entry: str) -> bool:
    if entry.endswith("*"):
        return name.startswith(entry[:-1])
    return name == entry or (name.startswith(entry) and _VERSION_SUFFIX.fullmatch(name.removeprefix(entry)) is not None)


@cache
def _default_prices() -> Mapping[str, Price]:
    text = (files("formalimg.models") / "prices.toml").read_text(encoding="utf-8")
    return parse_prices(text, "prices.toml")


def _user_prices() -> Mapping[str, Price]:
    variable = os.environ.get(PRICES_VARIABLE)
    path = Path(variable) if variable else PRICES_FILE
    try:
        if path.exists() and not path.is_file():  # a pipe would keep us waiting
            raise FormalimgError(f"cannot read the prices in {path}: it is not a file")
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1).decode("utf-8")
    except FileNotFoundError:
        if not variable:
            return {}
        raise FormalimgError(f"{PRICES_VARIABLE} names {variable}, which does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise FormalimgError(f"cannot read the prices in {path}: {error}") from None
    return parse_prices(text, str(path))


def parse_prices(text: str, source: str) -> Mapping[str, Price]:
    """Parse prices from TOML: a table `prices` from names to `input`, `output` and `image`.

    Raises:
        FormalimgError: if it is anything else; the message names the source and the entry.
    """
    if len(text) > _MAX_BYTES:
        raise FormalimgError(f"{source} is too long for prices: keep it below {_MAX_BYTES:,} bytes")
    try:
        table = tomllib.loads(text).get("prices")
    except tomllib.TOMLDecodeError as error:
        raise FormalimgError(f"{source} is not TOML: {truncate(str(error), 200, 100)}") from None
    except RecursionError:
        raise FormalimgError(f"{source} is nested too deep: it needs a table [prices] of simple entries") from None
    except ValueError:  # an integer of thousands of digits, or a date that cannot be
        raise FormalimgError(f"{source} holds a number that is no price: write prices below 1,000,000") from None
    if not isinstance(table, dict):
        raise FormalimgError(f"{source} holds no prices: it needs a table [prices]")
    return {name: _parse_price(name, entry, source) for name, entry in table.items()}


def _parse_price(name: str, entry: object, source: str) -> Price:
    rates = entry if isinstance(entry, dict) else {}
    valid = rates and all(
        rate in _RATES and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
        for rate, value in rates.items()
    )
    name = truncate(name, 80, 20)
    if not valid:
        raise FormalimgError(
            f"the price of {name!r} in {source} cannot be read: "
            "write { input = 2.5, output = 10 } or { image = 0.04 }"
        )
    if ("input" in rates) != ("output" in rates):
        raise FormalimgError(f"the price of {name!r} in {source} has only one of input and output: give both")
    return Price(**{rate: float(value) for rate, value in rates.items()})
