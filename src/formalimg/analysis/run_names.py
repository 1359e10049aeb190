"""Which run is meant where a table names one, by its folder or by its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from formalimg.errors import FormalimgError
from formalimg.runs import RunRecord

Run = TypeVar("Run", bound=RunRecord)


class MisplacedError(Exception):
    """Why a row of a table has no place among the runs."""


def run_named(name: str, runs: Sequence[Run]) -> Run:
    """The run of this folder or, if there is none, of this model.

    Raises:
        MisplacedError: if there is none, or several are of the model.
    """
    found = [run for run in runs if run.folder.name == name] or [run for run in runs if run.manifest.model.name == name]
    if not found:
        there = ", ".join(f"{run.folder.name} ({run.manifest.model.name})" for run in runs)
        raise MisplacedError(f"no run is called {name} or of that model: add its folder, or write one of {there}")
    if len(found) > 1:
        there = ", ".join(run.folder.name for run in found)
        raise MisplacedError(f"several runs are of the model {name}: write the name of a folder, one of {there}")
    return found[0]


def check_names(runs: Sequence[RunRecord]) -> None:
    """Refuses runs whose folders have the same name.

    Raises:
        FormalimgError: if there are such runs.
    """
    names = [run.folder.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormalimgError(f"two of the runs are called {twice}, and nothing tells them apart: rename a folder")
