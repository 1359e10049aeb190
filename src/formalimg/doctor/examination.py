"""Examining an installation: what works, what is broken, what is not there."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Literal, NamedTuple

from formalimg.doctor.known_answers import try_known_answers
from formalimg.judges import open_judge
from formalimg.models import installed_providers
from formalimg.stats import clopper_pearson
from formalimg.suites import load


class Finding(NamedTuple):
    """One object that was looked at.

    Attributes:
        name: what it is.
        state: fine; broken, so that no number can be trusted; or absent, which is no fault.
        detail: what was found.
    """

    name: str
    state: Literal["fine", "broken", "absent"]
    detail: str


def examine() -> Iterator[Finding]:
    """Everything that is worth knowing about this installation, one by one."""
    yield Finding("python", "fine", f"{platform.python_version()} on {sys.platform}, {os.cpu_count()} cores")
    yield from _packages()
    yield _tried("known answers", _known_answers)
    yield _tried("suites", _suites)
    yield _tried("statistics", _statistics)
    yield from _providers()


class BrokenError(Exception):
    """Something came out differently than it must."""


def _tried(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "fine", check())
    except BrokenError as error:
        return Finding(name, "broken", str(error))
    except Exception as error:  # a doctor must be able to say what the patient has
        return Finding(name, "broken", f"{type(error).__name__}: {error}")


def _known_answers() -> str:
    answers = try_known_answers(open_judge("knolling"))
    wrong = [answer for answer in answers if not answer.right]
    if wrong:
        told = "; ".join(f"“{answer.asks}” is {answer.found}, must be {answer.expected}" for answer in wrong)
        raise BrokenError(f"{len(wrong)} of {len(answers)} verdicts are wrong: {told}")
    outcomes = [answer.expected.split()[0] for answer in answers]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in ("pass", "fail", "unscored"))
    return f"{len(answers)} of {len(answers)} images drawn, stored, seen and judged as they must be ({counts})"


def _suites() -> str:
    return ", ".join(f"{suite} has {len(load(suite)):,} items, digest right" for suite in ("knolling", "natural"))


def _statistics() -> str:
    # By hand: with no success in n trials the upper bound is 1 - (alpha/2)^(1/n).
    low, high = clopper_pearson(0, 200)
    if low != 0 or abs(high - (1 - 0.025 ** (1 / 200))) > 1e-9:
        raise BrokenError(f"the interval of 0 in 200 came out as {low} to {high}")
    return "exact intervals come out right"


def _packages() -> Iterator[Finding]:
    for name in sorted(
        _named(requirement) for requirement in requires("formalimg") or () if "extra ==" not in requirement
    ):
        found = _version(name)
        yield Finding(name, "fine", found) if found else Finding(name, "broken", "missing: install formalimg again")


def _providers() -> Iterator[Finding]:
    """Extras that are installed and keys that are set, provider by provider. Keys are never looked at."""
    for provider in installed_providers():
        if provider.missing:
            yield Finding(f"{provider.name}/…", "absent", "; ".join(provider.missing))
        else:
            yield Finding(f"{provider.name}/…", "fine", "ready")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _named(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
