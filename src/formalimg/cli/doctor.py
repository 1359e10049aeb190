"""`formalimg doctor`: check packages, suites, statistics, providers and a run with known verdicts.

If one of the known answers comes out differently, the evaluator is broken, and no number can be trusted.
"""

from __future__ import annotations

import contextlib
import os
import platform
import random
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from formalimg._util.images import png_bytes
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.cli.commands import option
from formalimg.cli.streams import echo, print_json
from formalimg.judges.factory import open_judge
from formalimg.logic.parser import parse
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import list_providers
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import Judged, open_run
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Item, Judge, Verdict

_SIGNS = {"fine": "✓", "broken": "✗", "absent": "–"}


def doctor_command(
    as_json: Annotated[bool, option("--json", "Print the findings as JSON.")] = False,
) -> None:
    """Check this installation.

    Images with known verdicts, passing and failing, go through the whole pipeline.

    Exit code 0: everything works. 1: something is broken; do not trust any number. Keys are never printed.
    """
    findings = []
    for finding in run_checks():
        findings.append(finding)
        if not as_json:
            echo(f"{_SIGNS[finding.state]} {finding.name:<18} {finding.detail}")
    if as_json:
        print_json([finding._asdict() for finding in findings])
    broken = [finding.name for finding in findings if finding.state == "broken"]
    if broken and not as_json:
        echo(f"\nbroken: {', '.join(broken)}. Do not trust any number of this installation.", err=True)
    raise typer.Exit(1 if broken else 0)


_SIZE = 512


class DoctorCheck(NamedTuple):
    """The result of one check."""

    name: str  # what was checked
    # fine; broken, so that no number can be trusted; or absent, which is not an error
    state: Literal["fine", "broken", "absent"]
    detail: str  # what was found


def run_checks() -> Iterator[DoctorCheck]:
    """Yield the results of all checks of this installation."""
    yield DoctorCheck("python", "fine", f"{platform.python_version()} on {sys.platform}, {os.cpu_count()} cores")
    yield from _packages()
    yield _run_check("known answers", _verdicts)
    yield _run_check("suites", _suites)
    yield _run_check("statistics", _statistics)
    yield from _providers()


class BrokenError(Exception):
    """Raised if a check produces an unexpected result."""


def _run_check(name: str, check: Callable[[], str]) -> DoctorCheck:
    try:
        return DoctorCheck(name, "fine", check())
    except BrokenError as error:
        return DoctorCheck(name, "broken", str(error))
    except Exception as error:  # whatever goes wrong is the finding
        return DoctorCheck(name, "broken", f"{type(error).__name__}: {error}")


def _verdicts() -> str:
    answers = check_known_answers(open_judge("knolling"))
    wrong = [answer for answer in answers if not answer.right]
    if wrong:
        listed = "; ".join(f"“{answer.asks}” is {answer.found}, must be {answer.expected}" for answer in wrong)
        raise BrokenError(f"{len(wrong)} of {len(answers)} verdicts are wrong: {listed}")
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


def _packages() -> Iterator[DoctorCheck]:
    """Check that the packages required without extras are installed."""
    required = [requirement for requirement in requires("formalimg") or () if "extra ==" not in requirement]
    for name in sorted(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0] for requirement in required):
        try:
            yield DoctorCheck(name, "fine", version(name))
        except PackageNotFoundError:
            yield DoctorCheck(name, "broken", "missing: install formalimg again")


def _providers() -> Iterator[DoctorCheck]:
    """Check installed extras and API keys by provider, without reading the keys."""
    for provider in list_providers():
        if provider.missing:
            yield DoctorCheck(f"{provider.name}/…", "absent", "; ".join(provider.missing))
        else:
            yield DoctorCheck(f"{provider.name}/…", "fine", "ready")


class KnownAnswer(NamedTuple):
    """An expected verdict and the verdict obtained."""

    asks: str  # a description
    expected: str  # pass, fail or unscored; with the predicates of the clauses that fail, where that is known
    found: str  # the same, as the evaluator sees it

    @property
    def right(self) -> bool:
        """Whether the verdict is as expected."""
        return self.expected == self.found


def check_known_answers(judge: Judge) -> list[KnownAnswer]:
    """Draw, store and judge the known scenes, and return the expected and actual verdicts."""
    entries = tomllib.loads((files("formalimg.cli") / "known_answers.toml").read_text(encoding="utf-8"))["answer"]
    items = [
        Item[object]("knolling", str(number), 1, entry["asks"], FormulaSpec.of(parse(entry["formula"])))
        for number, entry in enumerate(entries)
    ]
    images = {entry["asks"]: _image(entry) for entry in entries}
    with tempfile.TemporaryDirectory(prefix="formalimg-doctor-") as folder:
        path = Path(folder) / "run"
        execute(RunConfig(items, CallableModel(images.__getitem__, name="doctor/known-answers")), path, judge)
        with contextlib.closing(open_run(path)) as run:
            judged = list(run.judged())
    return [
        KnownAnswer(entry["asks"], _format_outcome(entry["expected"], entry.get("failing", [])), _outcome(result))
        for entry, result in zip(entries, judged, strict=True)
    ]


def _outcome(result: Judged) -> str:
    if not isinstance(result.verdict, Verdict):
        return "unscored"
    failing = {predicate for part in result.verdict.parts if not part.score for predicate in part.about}
    return _format_outcome("pass" if result.verdict.passed else "fail", failing)


def _format_outcome(outcome: str, failing: Collection[str]) -> str:
    return outcome + (f" ({', '.join(sorted(failing))})" if failing else "")


def _image(entry: Mapping[str, Any]) -> bytes:
    from PIL import Image

    from formalimg.drawing.icon_scene import draw

    if entry.get("picture") == "noise":
        image = Image.frombytes("RGB", (_SIZE, _SIZE), random.Random(1).randbytes(3 * _SIZE * _SIZE))
    else:
        objects = (SceneObject(label, Box(*box), color=color) for label, color, box in entry["things"])
        image = draw(Scene.of(objects), _SIZE)
    return png_bytes(image)
