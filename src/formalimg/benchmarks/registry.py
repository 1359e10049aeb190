"""Registry of benchmarks; to add a benchmark, create its folder and add a line here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from formalimg.benchmarks.hooks import Synthesis
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match
from formalimg.types import Benchmark

FOLDERS: dict[str, tuple[str, ...]] = {
    "formal": ("knolling", "knolling-counts", "natural"),
    "conceptmix": ("conceptmix",),
    "cfworld": ("cf-world", "cf-world-rules", "cf-world-attributes", "cf-world-denominalised"),
    "questions": ("free-prompts", "questions"),
    "geneval": ("geneval",),
    "geneval2": ("geneval2",),
    "t2i_compbench": ("t2i-compbench",),
    "drawbench": ("drawbench",),
}
"""The names of the suites in each folder: a folder is loaded when one of them is asked for."""


def suite(name: str) -> Benchmark:
    """Return the benchmark of a suite.

    Raises:
        FormalimgError: if there is none.
    """
    for folder, names in FOLDERS.items():
        if name in names:
            return _load_folder(folder)[name]
    raise FormalimgError(f"unknown suite {name!r}: {_suite_advice(name)}")


def _suite_advice(name: str) -> str:
    """Return advice for the name of a suite that does not exist."""
    from formalimg.benchmarks.download.source import suites_by_source  # here, because it reads this module

    if suites := suites_by_source().get(name):
        return f"`formalimg pull {name}` brings data for {' and '.join(suites)}"
    near = closest_match(name, suite_names())
    advice = f"choose from {', '.join(suite_names())}; `formalimg suites` describes them"
    return f"did you mean {near}?" if near else advice


def suite_names() -> tuple[str, ...]:
    """Return the names of all suites."""
    return tuple(name for names in FOLDERS.values() for name in names)


@cache
def _load_folder(folder: str) -> Mapping[str, Benchmark]:
    benchmarks: tuple[Benchmark, ...] = import_module(f"formalimg.benchmarks.{folder}.benchmark").BENCHMARKS
    return {benchmark.name: benchmark for benchmark in benchmarks}


def synthesis_of(name: str, options: Mapping[str, object]) -> Synthesis:
    """Return the synthesis of a suite; raise an error if the suite has none or does not support an option."""
    synthesis = suite(name).synthesis()
    if synthesis is None:
        supported = ", ".join(suite_name for suite_name in suite_names() if suite(suite_name).synthesis())
        raise FormalimgError(
            f"items of {name} are written, not drawn: `formalimg items write` makes new ones; synth is for {supported}"
        )
    for option in options:
        if option not in synthesis.options:
            candidates = (suite(suite_name).synthesis() for suite_name in suite_names())
            supported = next(candidate.suites for candidate in candidates if candidate and option in candidate.options)
            raise FormalimgError(f"{name} has no {option}: that is for {supported}")
    return synthesis
