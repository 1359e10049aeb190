"""Model prices and call costs, from an explicit option, the user's price list or the built-in list."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Identified, Usage

PRICES_VARIABLE = "FORMALIMG_PRICES"  # environment variable that names the user's own price list
PRICES_FILE = Path("prices.toml")
"""The user's own price list, in the current folder. It may be somebody else's: so it makes nothing cheaper."""
_RATES = ("input", "output", "image")
_MAX_PRICE = 1e6
_MAX_BYTES = 1_000_000  # the longest price list that is read
_VERSION_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}|-\d{6,8}|-\d{3}|-latest|-preview(-\d{2}-\d{2,4})?")
"""What may follow the name of a model without making it another model."""


@dataclass(frozen=True)
class Price:
    """Price of a model in US dollars; None if unknown."""

    input: float | None = None  # per million tokens sent
    output: float | None = None  # per million tokens received
    image: float | None = None  # per generated image, for models that are priced by the image or do not report tokens
    # where it comes from, if that is worth saying before anything is paid for
    note: str = field(default="", compare=False)

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of this usage, or None if unknown."""
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
LOCAL_SERVER = Price(0.0, 0.0, note="local server: counted as free")
"""The price of an unlisted model on a server at a private address."""
_LOCAL_NAMES = (".localhost", ".local")
_PRIVATE_NETWORKS = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")


def price_of(party: Identified) -> Price:
    """Return the price of a model or judge, in the following order of precedence.

    What was given by hand (the option `price`), the user's own list, the list of formalimg, and nothing for a server
    at a private address. So a gateway in your own network to a listed model is not taken to be free.
    """
    explicit = getattr(party, "price", None)
    if isinstance(explicit, Price):
        return explicit
    listed = get_price(party.name)
    url = party.settings.get("base_url")
    return LOCAL_SERVER if listed == UNKNOWN_PRICE and isinstance(url, str) and is_private_address(url) else listed


def is_private_address(url: str) -> bool:
    """Return whether a URL points to this machine or a private network, by address, `localhost` or `*.local`."""
    from ipaddress import ip_address, ip_network  # here, because most models have no address

    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if host == "localhost" or host.endswith(_LOCAL_NAMES):
            return True
        address = ip_address(host)
    except ValueError:  # a name, or no URL at all
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in ip_network(network) for network in _PRIVATE_NETWORKS)


def read_price(text: str, *, per_image: bool) -> Price:
    """Parse a price such as `0.15/0.60` for tokens sent and received, or `0.04` per image."""
    try:
        rates = [float(part) for part in text.split("/")]
    except ValueError:
        rates = []
    if all(0 <= rate < _MAX_PRICE for rate in rates):  # which no NaN is
        if rates in ([0.0], [0.0, 0.0]):
            return FREE
        if len(rates) == 2:
            return Price(rates[0], rates[1])
        if len(rates) == 1 and per_image:
            return Price(image=rates[0])
    tokens = "IN/OUT in US dollars per million tokens, as in 0.15/0.60"
    form = f"US dollars per image, as in 0.04, or {tokens}" if per_image else tokens
    raise FormalimgError(f"cannot read the price {truncate(text, 40, 20)!r}: write {form}")


def get_price(name: str) -> Price:
    """Return the price of a model named `provider/model`. The user's own price list takes precedence."""
    user_price, listed = (_find_price(name, prices) for prices in (_user_prices(), _default_prices()))
    if user_price is not None and not os.environ.get(PRICES_VARIABLE) and _is_cheaper(user_price, listed):
        raise FormalimgError(
            f"{PRICES_FILE} in this folder makes {truncate(name, 80, 20)} free, or cheaper than formalimg's list, and "
            f"a budget would not hold: if it is yours, set {PRICES_VARIABLE}={PRICES_FILE}; or remove it"
        )
    return user_price or listed or UNKNOWN_PRICE


def _is_cheaper(user_price: Price, listed: Price | None) -> bool:
    """Return whether a user's price is lower than the listed price, or 0 for an unlisted model."""
    if listed is None:
        return not any((user_price.input, user_price.output, user_price.image))
    pairs = ((user_price.input, listed.input), (user_price.output, listed.output), (user_price.image, listed.image))
    return any(rate is not None and (own_rate is None or own_rate < rate) for own_rate, rate in pairs)


def _find_price(name: str, prices: Mapping[str, Price]) -> Price | None:
    def matches(entry: str) -> bool:
        if entry.endswith("*"):
            return name.startswith(entry[:-1])
        return name.startswith(entry) and (name == entry or bool(_VERSION_SUFFIX.fullmatch(name.removeprefix(entry))))

    entries = list(filter(matches, prices))
    return prices[max(entries, key=len)] if entries else None


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
    """Parse prices from TOML: a table `prices` that maps names to `input`, `output` and `image`."""
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
        rate in _RATES and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_PRICE
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
    values = {rate: float(value) for rate, value in rates.items()}
    return Price(values.get("input"), values.get("output"), values.get("image"))
