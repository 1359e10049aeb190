"""Prices of models, and the costs of calls while they are made, so that a budget also applies between retries.

A price comes from an explicit option, the user's price list or the built-in one. Code that enforces a budget opens a
`Meter` around each task (an image, a verdict). Models add each call to it as soon as it is billed, and start no call
once the budget is exhausted.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from formalimg._util.memory_gate import AnswerReservation, answer_memory
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import CallError, Identified, Usage

if TYPE_CHECKING:
    from formalimg.models.base import Completion
    from formalimg.models.provider_models import ImageCompletion

PRICES_VARIABLE = "FORMALIMG_PRICES"  # environment variable that names the user's own price list
# The user's own price list, in the current folder. It may be somebody else's: so it makes nothing cheaper.
PRICES_FILE = Path("prices.toml")
_RATES = ("input", "output", "image")
_MAX_PRICE = 1e6
_MAX_BYTES = 1_000_000  # the longest price list that is read
# what may follow the name of a model without making it another model
_VERSION_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}|-\d{6,8}|-\d{3}|-latest|-preview(-\d{2}-\d{2,4})?")


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
LOCAL_SERVER = Price(0.0, 0.0, note="local server: counted as free")  # an unlisted model at a private address
_LOCAL_NAMES = (".localhost", ".local")
_PRIVATE_NETWORKS = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")


def price_of(party: Identified) -> Price:
    """Return the price of a model or judge.

    In order of precedence: the option `price`, the user's own list, the built-in list, and zero for a server at a
    private address. A gateway in your own network to a listed model is therefore not considered free.
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

    entry = max(filter(matches, prices), key=len, default=None)
    return None if entry is None else prices[entry]


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
        raise FormalimgError(f"{source} is not valid TOML: {truncate(str(error), 200, 100)}") from None
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


# --- costs and budgets

NO_USAGE = "not reported: the cost is an estimate"  # what `served` says under `usage` then


class Spending:
    """Tracks the cost of a run against its budget."""

    cost: float = 0.0  # the cost so far in US dollars, as far as it is known
    unpriced: int = 0  # number of results with an unknown cost
    estimated: int = 0  # number of calls whose use was not reported, so that they are counted by an estimate
    budget: float | None = None  # the spending limit in US dollars; None for no limit

    def spend(self, cost: float, unpriced: int = 0, estimated: int = 0) -> None:
        """Add a cost, and the numbers of results with unknown and estimated costs."""
        self.cost += cost
        self.unpriced += unpriced
        self.estimated += estimated

    @property
    def over_budget(self) -> bool:
        """Whether the budget is exhausted."""
        return self.budget is not None and self.cost >= self.budget

    @property
    def may_spend(self) -> bool:
        """Whether another call may start: not if the budget is exhausted, or is set while a cost is unknown."""
        return self.budget is None or not (self.over_budget or self.unpriced)


class Meter:
    """Tracks the cost of the calls of one task while they are made."""

    def __init__(self, limit: Spending, memory: AnswerReservation, *, finish: bool) -> None:
        self.cost = 0.0
        self.unpriced = 0
        self.blocked = False
        self.wasted = False
        self.memory = memory
        self._limit = limit
        self._finish = finish
        self._begun = False

    def may_begin_call(self) -> bool:
        """Return whether another call may start, and record if it may not."""
        # Work that goes well is finished, or what it cost would be lost with it; nothing is paid for a second time.
        finish = self._finish and self._begun and not self.wasted and not self._limit.unpriced
        self.blocked |= not (self._limit.may_spend or finish)
        return not self.blocked

    def count(self, cost: float | None, *, estimated: bool = False) -> None:
        """Count the cost of a call, or None if it is unknown."""
        self._begun = True
        unpriced = int(cost is None and not self.unpriced)
        self.cost += cost or 0.0
        self.unpriced += unpriced
        self._limit.spend(cost or 0.0, unpriced, int(estimated))

    def settle(self, cost: float = 0.0, unpriced: int = 0) -> tuple[float, int]:
        """Add any cost that a result reports beyond the counted calls, return the total, and reset the meter."""
        total, unknown = max(cost, self.cost), max(unpriced, self.unpriced)
        if total > self.cost or unknown > self.unpriced:
            self._limit.spend(total - self.cost, unknown - self.unpriced)
        self.cost, self.unpriced = 0.0, 0
        return total, unknown


_meter: ContextVar[Meter | None] = ContextVar("formalimg_meter", default=None)


@contextmanager
def open_meter(limit: Spending, *, finish: bool = False) -> Iterator[Meter]:
    """Count all calls in this context, including those of tasks started in it, against the limit."""
    with answer_memory() as memory:
        meter = Meter(limit, memory, finish=finish)
        token = _meter.set(meter)
        try:
            yield meter
        finally:
            _meter.reset(token)


def may_begin_call() -> bool:
    """Return whether the current budget, if any, allows another call."""
    meter = _meter.get()
    return meter is None or meter.may_begin_call()


def note_waste() -> None:
    """Record that an answer was unusable, so that it is not retried once the budget is exhausted."""
    if (meter := _meter.get()) is not None:
        meter.wasted = True


Completed = TypeVar("Completed", bound="Completion | ImageCompletion")


@dataclass
class _Call:
    usage: Usage | None = None  # what it used, once an answer says so
    received: int = 0  # bytes of a good answer that came in so far


_call: ContextVar[_Call | None] = ContextVar("formalimg_call", default=None)


def note_usage(usage: Usage) -> Usage:
    """Record the usage of a call as soon as its answer arrives, because it is billed even if processing fails."""
    if (call := _call.get()) is not None:
        call.usage = usage
    return usage


def note_received(size: int) -> None:
    """Record the received bytes of an answer, because the call is billed even if the rest never arrives."""
    if (call := _call.get()) is not None:
        call.received += size


def note_text(text: str) -> None:
    """Record the text of an answer as an estimate of its size if its bytes were not counted."""
    if (call := _call.get()) is not None:
        call.received = max(call.received, len(text.encode("utf-8", "replace")))


class RequestCost:
    """Total usage and cost of all attempts at a request."""

    def __init__(self, price: Price, complete: Callable[[Usage, int], Usage], *, keeps_answers: bool = False) -> None:
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.estimated = 0
        self._price = price
        self._complete = complete
        self._keeps_answers = keeps_answers

    async def attempt(self, send: Callable[[], Awaitable[Completed]]) -> Completed:
        """Make one call and count its cost if it was answered, even if the answer is unusable.

        A call abandoned without an answer counts too, because it was sent and is likely to be billed.
        """
        call = _Call()
        token = _call.set(call)
        try:
            with answer_memory() as memory:
                result = await send()
                if self._keeps_answers:
                    memory.pass_on()
        except CallError as error:
            note_waste()
            if error.usage != Usage():
                call.usage = error.usage
            if call.usage or call.received or error.kind == "wrong":  # an answer came, and is not what was promised
                self.count(call.usage or Usage(), call.received)
            raise
        except FormalimgError:
            if call.usage:
                self.count(call.usage)
            raise
        except asyncio.CancelledError:  # by the time limit, or together with the run
            note_waste()
            if call.usage or self._price.cost(self._complete(Usage(), call.received)) is not None:
                self.count(call.usage or Usage(), call.received)
            raise
        except Exception:  # of a library that could not read the answer
            note_waste()
            self.count(call.usage or Usage(), call.received)
            raise
        finally:
            _call.reset(token)
        self.count(result.usage, call.received)
        return result

    def count(self, reported: Usage, received: int = 0) -> None:
        """Count the cost of a call, estimated from the received bytes if its usage was not reported."""
        usage = self._complete(reported, received)
        cost = self._price.cost(usage)
        estimated = bool(cost) and usage != reported
        self.usage += usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        self.estimated += estimated
        if (meter := _meter.get()) is not None:
            meter.count(cost, estimated=estimated)


def advise_on_unknown_price(name: str, *, per_image: bool) -> str:
    """Return a message that a budget requires the model's price, with the option that sets it."""
    option = f"--price {shlex.quote(name)}"
    tokens = f"per million tokens sent and received, as in {option}={'5/40' if per_image else '0.15/0.60'}"
    form = f"DOLLARS (per image, as in {option}=0.04; or {tokens})" if per_image else f"IN/OUT (US dollars {tokens})"
    return f"the price of {name} is unknown, so no budget can be kept: add {option}={form}, or list it in prices.toml"


def advise_on_unknown_cost(party: Identified, *, per_image: bool) -> str:
    """Return a message that a budget cannot be enforced after a call of unknown cost, with advice."""
    if price_of(party) == UNKNOWN_PRICE:
        return advise_on_unknown_price(party.name, per_image=per_image)
    return (
        f"{party.name} did not say what a call used, so the budget cannot be kept: give the price of an image, "
        "as in --price model=0.04"
    )
