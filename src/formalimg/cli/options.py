"""Options shared by several commands, by section of the help screen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_type_hints

import typer

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.cli.commands import SECTIONS, argument, option
from formalimg.cli.streams import echo
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from formalimg.models.base import Identified

_WHAT, _MODEL, _JUDGE, _COST, _WHERE = SECTIONS

MAX_COUNT = 1_000_000
"""The largest number of items, scenes or images that can be asked for; a larger one is a slip of the finger."""

MAX_SEED = 2**63 - 1  # The largest seed: what a database and all random generators take
MAX_PROCESSES = 1024  # The largest number of processes or workers that can be asked for


def key_value_option(flag: str, target: str, panel: str | None = None) -> Any:
    """Return a repeatable option that passes KEY=VALUE settings to a model, judge, writer or grounder."""
    return option(f"{flag} KEY=VALUE", f"Option of the {target}.", panel=panel)


def _check_suite(context: typer.Context, name: str) -> str:
    """Validate the suite name early, so that it is reported before missing options."""
    return name if context.resilient_parsing else suite(name).name  # the former while a command line is completed


SuiteName = Annotated[
    str,
    argument(
        "SUITE", f"The benchmark: {', '.join(suite_names())}; `formalimg suites` describes them.", callback=_check_suite
    ),
]
ModelOptions = Annotated[list[str] | None, key_value_option("-M", "image model", _MODEL)]
JudgeNames = Annotated[
    list[str] | None,
    option(
        "--judge -j JUDGE",
        "The judge: a chat model, detector/MODEL, builtin/icons, or builtin/drawn, which knows what drawings show "
        "and is not a vision model; repeatable. Default: see `formalimg config`.",
        panel=_JUDGE,
    ),
]
JudgeOptions = Annotated[
    list[str] | None, option("-J [N:]KEY=VALUE", "Option of the judge; with N:, of the N-th only.", panel=_JUDGE)
]
ProtocolName = Annotated[
    Literal["default", "published", "paper", "official-code"],
    option("--protocol NAME", "published: ask and score as published; also paper, official-code.", panel=_JUDGE),
]
SumProfile = Annotated[
    Literal["paper", "official-code"] | None,
    option("--profile NAME", "Sum up by paper or official-code. Default: as --protocol.", panel=_JUDGE),
]
ItemsPath = Annotated[
    Path | None,
    option(
        "PATH", "Load the items from here. Default: the suite shipped with formalimg; @1 is its version 1.", panel=_WHAT
    ),
]
Levels = Annotated[str | None, option("LEVELS", "Levels to run, as in 1-10 or 1,2,5. Default: all.", panel=_WHAT)]

Prompts = Annotated[
    Path | None, option("DIR", "Folder with prompt templates that replace ours of the same name.", panel=_MODEL)
]
Budget = Annotated[
    float | None, option("DOLLARS", "Stop, resumably, when the folder cost this much.", panel=_COST, min=0)
]
DryRun = Annotated[bool, option("--dry-run", "Print what it would do, and its cost.", panel=_COST)]
Prices = Annotated[
    list[str] | None,
    option("--price WHO=PRICE", "Price by 1M tokens: judge=0.15/0.60; by image: model=0.04.", panel=_COST),
]
NoPreflight = Annotated[bool, option("--no-preflight", "Do not try judge and model with one call first.", panel=_COST)]
MaxFailures = Annotated[
    int | None, option("--max-failures N", "Stop after N failures in a row (20); 0: never.", panel=_COST)
]
MinCoverage = Annotated[float | None, option("SHARE", "Exit code 1 if less is scored.", panel=_JUDGE, min=0, max=1)]
ConceptsFolder = Annotated[
    Path | None, option("--concepts DIR", "Suites of concepts: folder with your own, as <category>.toml or .json.")
]
OnlyCategory = Annotated[
    Literal["object", "color", "number", "shape", "size", "texture", "spatial", "style"] | None,
    option("--only", "Suites of concepts: only those of this category, besides objects."),
]
DifficultyName = Annotated[
    Literal["easy", "hard"] | None,
    option("--difficulty", "Suites of concepts: only those known to be easy or hard, where any are."),
]
ProfileName = Annotated[
    Literal["paper", "official-code"],
    option("--profile", "Which rules apply where a paper and its published code differ."),
]
EngineName = Annotated[
    Literal["local", "ray"], option("Execute in this process, or on workers of a Ray cluster.", panel=_WHERE)
]
RayAddress = Annotated[
    str | None,
    option(
        "--address auto|local|HOST:PORT",
        "Ray: the cluster. local: a new one on this machine.",
        panel=_WHERE,
        show_default="auto",
    ),
]
Workers = Annotated[
    int | None, option("N", "Ray: number of workers. Default: as many as fit.", panel=_WHERE, min=1, max=MAX_PROCESSES)
]
GpusPerWorker = Annotated[
    float | None, option("N", "Ray: GPUs per worker; fractions are allowed.", panel=_WHERE, show_default="0", min=0)
]
CpusPerWorker = Annotated[
    float | None,
    option("N", "Ray: CPUs per worker; 0 if it only waits for servers.", panel=_WHERE, show_default="1", min=0),
]
RunsFolder = Annotated[
    Path | None, option("--runs DIR", "Folder of the run folders.", panel=_WHERE, show_default="runs")
]
RunFolder = Annotated[Path | None, option("--out DIR", "The run folder. Default: one inside --runs.", panel=_WHERE)]


Arguments = TypeVar("Arguments")


def parameters_of(
    arguments: Callable[..., Arguments],
) -> Callable[[Callable[[Arguments], None]], Callable[..., None]]:
    """Return a decorator that exposes the fields of a dataclass as the parameters of a command."""
    hints = get_type_hints(arguments, include_extras=True)
    parameters = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(arguments)  # type: ignore[arg-type]
    ]

    def decorate(command: Callable[[Arguments], None]) -> Callable[..., None]:
        def wrapper(**values: Any) -> None:
            command(arguments(**values))

        wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
        wrapper.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {}
        return wrapper

    return decorate


def read_options(pairs: Sequence[str] | None) -> dict[str, str]:
    """Parse options written as `key=value`."""
    settings: dict[str, str] = {}
    for text in pairs or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise FormalimgError(f"cannot read the option {text!r}: write key=value")
        settings[key] = value
    return settings


def options_of(options: Sequence[str] | None, number: int, judges: int) -> dict[str, str]:
    """Return the options that apply to the judge with the given number, starting from 1."""
    numbered = [(match[1], match[2]) for text in options or () if (match := _NUMBERED_OPTION.fullmatch(text))]
    unknown = next((owner for owner, _ in numbered if owner is not None and int(owner) > judges), None)
    if unknown is not None:
        raise FormalimgError(
            f"-J {unknown}:… is for judge number {unknown}, but there are {judges}: name it with --judge"
        )
    return read_options([text for owner, text in numbered if owner in (None, str(number))])


_NUMBERED_OPTION = re.compile(r"(?:([1-9]):)?(.*)", re.DOTALL)
"""An option, optionally prefixed with the number of its judge."""


def read_levels(text: str) -> tuple[int, ...]:
    """Parse levels such as `1-3,7`."""
    if not re.fullmatch(r"[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?)*", text):
        raise FormalimgError(f"cannot read the levels {text!r}: write them as 1-10 or 1,2,5, none above 9999")
    levels: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise FormalimgError(f"cannot read the levels {text!r}: {first} is larger than {last}")
        levels.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(levels))


Host = Annotated[
    str,
    option(
        "ADDRESS",
        "The address to listen on. Any other than a loopback address makes the site reachable from outside, "
        "for visitors with the token in its link.",
    ),
]

Port = Annotated[int, option("PORT", "The port to listen on; 0 for any free one.", min=0, max=65535)]

OpenBrowser = Annotated[bool, option("--browser/--no-browser", "Whether to open a browser.")]

LOOPBACK = "127.0.0.1"  # The address of this machine that nobody else can reach: the default of every site


@contextmanager
def require_web_extra(feature: str) -> Iterator[None]:
    """Convert a missing web dependency to an error with installation instructions."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("formalimg"):
            raise
        from formalimg._util.installing import install_line  # here, because it is rarely missing

        raise FormalimgError(f"{feature} needs {error.name}: {install_line('web')}") from error


def print_address(address: str) -> None:
    """Print the URL of a site and how to stop the server."""
    echo(f"{address}  (Ctrl+C ends it)")


# --- prices

Roles: TypeAlias = Mapping[str, Sequence[str]]
"""The names of the models of a command, by what they do: `model`, `judge`, `rewriter`, `checker`."""


class PriceOptions:
    """Prices from the command line, provided as model options."""

    def __init__(self, texts: Sequence[str] | None, roles: Roles) -> None:
        """Parse prices such as `judge=0.15/0.60` or `openai/my-model=0.04`."""
        self._prices: dict[str, str] = {}
        all_names = [name for names in roles.values() for name in names]
        for text in texts or ():
            name_or_role, equals, price = text.rpartition("=")  # the name of a program may hold one, too
            if not equals or not price:
                raise FormalimgError(f"cannot read --price {text!r}: write it as judge=0.15/0.60 or model=0.04")
            if not roles.get(name_or_role) and name_or_role not in all_names:
                raise FormalimgError(
                    f"--price {text}: there is no {name_or_role!r} in this command: write one of "
                    f"{', '.join([*(role for role, names in roles.items() if names), *all_names])}"
                )
            self._prices[name_or_role] = price

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


# --- errors

_BOUNDS = {
    "greater_than_equal": ("ge", "too small", "{} or more"),
    "greater_than": ("gt", "too small", "more than {}"),
    "less_than_equal": ("le", "too large", "{} at most"),
    "less_than": ("lt", "too large", "less than {}"),
}

_KINDS = {"int": "a whole number", "float": "a number", "bool": "yes or no"}


def value_problem(error: BaseException) -> str | None:
    """Return a message for an invalid value, or None if the error does not come from pydantic."""
    details = getattr(error.__cause__, "errors", None)
    if details is None or type(error.__cause__).__name__ != "ValidationError":
        return None
    [first, *_] = details(include_url=False)
    return _problem(first)


def _problem(detail: Mapping[str, Any]) -> str:
    kind, value = detail["type"], detail["input"]
    if kind in _BOUNDS:
        name, problem, remedy = _BOUNDS[kind]
        bound = detail["ctx"][name]
        text = f"{bound:g}" if isinstance(bound, float) else str(bound)
        return f"{value} is {problem}: give {remedy.format(text)}"
    for prefix, remedy in _KINDS.items():
        if kind.startswith(prefix):
            return f"{value!r} is not {remedy}: give one" if prefix != "bool" else f"{value!r} is not {remedy}"
    return str(detail["msg"]).removeprefix("Value error, ").removesuffix(".")
