"""A run whose every verdict is known beforehand: if one comes out differently, the evaluator is broken."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import random
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from formalimg.judges import Judge, Verdict, open_judge
from formalimg.logic import parse
from formalimg.models import CallableModel, installed_providers
from formalimg.runs import Judged, RunConfig, execute, open_run
from formalimg.scenes import Box, Scene, SceneObject
from formalimg.stats import clopper_pearson
from formalimg.suites import FormulaSpec, Item, load

_SIZE = 512


class Answer(NamedTuple):
    """What came of one known answer.

    Attributes:
        asks: what it is about, in words.
        expected: pass, fail or unscored; with the predicates of the clauses that fail, where that is known.
        found: the same, as the evaluator sees it.
    """

    asks: str
    expected: str
    found: str

    @property
    def right(self) -> bool:
        """Did it come out as it must?"""
        return self.expected == self.found


def try_known_answers(judge: Judge) -> list[Answer]:
    """Draw the known scenes, let them be stored, seen and judged as in any run, and compare."""
    known = tomllib.loads((files("formalimg.doctor") / "known_answers.toml").read_text(encoding="utf-8"))["answer"]
    items = [
        Item[object]("knolling", str(number), 1, entry["asks"], FormulaSpec.of(parse(entry["formula"])))
        for number, entry in enumerate(known)
    ]
    images = {entry["asks"]: _image(entry) for entry in known}
    with tempfile.TemporaryDirectory(prefix="formalimg-doctor-") as folder:
        place = Path(folder) / "run"
        execute(RunConfig(items, CallableModel(images.__getitem__, name="doctor/known-answers")), place, judge)
        with contextlib.closing(open_run(place)) as run:
            judged = list(run.judged())
    return [
        Answer(entry["asks"], _told(entry["expected"], entry.get("failing", [])), _found(result))
        for entry, result in zip(known, judged, strict=True)
    ]


def _found(result: Judged) -> str:
    if not isinstance(result.verdict, Verdict):
        return _told("unscored", [])
    failing = {word for part in result.verdict.parts if not part.score for word in part.about}
    return _told("pass" if result.verdict.passed else "fail", failing)


def _told(outcome: str, failing: Any) -> str:
    return outcome + (f" ({', '.join(sorted(failing))})" if failing else "")


def _image(entry: Mapping[str, Any]) -> bytes:
    from PIL import Image

    from formalimg.scenes import draw

    if entry.get("picture") == "noise":
        image = Image.frombytes("RGB", (_SIZE, _SIZE), random.Random(1).randbytes(3 * _SIZE * _SIZE))
    else:
        objects = (SceneObject(label, Box(*box), color=color) for label, color, box in entry["things"])
        image = draw(Scene.of(objects), _SIZE)
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


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
