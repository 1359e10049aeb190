"""Studies that few benchmarks have: of scores by people and judges, of a gate, of causes, and of captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

    from formalimg.human_eval.agreement.study_tables import StudyFormat

StudyName: TypeAlias = Literal["calibrate", "captions", "diagnose", "human scores", "judge scores"]
"""Those behind commands of their own, and those of `agree` for scores: of people, and of two judges."""


class OwnStudy(NamedTuple):
    """The code of a study."""

    make: Callable[..., Any]  # makes the study
    text: Callable[[Any, StudyFormat], str]  # returns it as text
    table: Callable[[Any], ConsoleRenderable]  # returns it as something that `rich` can print
    cases: Callable[..., int] | None = None  # returns how many cases a study would have, with the same arguments
    estimate: Callable[..., Any] | None = None  # returns what it would cost, with the same arguments


def find_study(name: StudyName, suites: Iterable[str] = ()) -> OwnStudy:
    """Return the study of the first of these suites that has it, or of any: it says then which runs it needs."""
    for each in (*suites, *suite_names()):
        found = suite(each).study(name)
        if found is not None:
            return found
    raise FormalimgError(f"no benchmark has a study of this kind: {name}")
