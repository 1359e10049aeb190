"""Formulas and witnesses in the fields of a record."""

from __future__ import annotations

from typing import NamedTuple

from formalimg.logic import Formula, FormulaError, check, complexity, read, verify
from formalimg.scenes import Scene, SceneError
from formalimg.suites.record import Record

OUTSIDE_VOCABULARY = "outside-vocabulary"
"""Tag of an item whose formula uses words, or kinds of words, that the suite's vocabulary does not have.

The authors' own check did not look at the attributes of natural scenes, and published data cannot be mended by whoever
reads it. Such items are kept and marked: what they ask can still be judged, and no item vanishes from a score.
"""

ODD_WORDS = frozenset({"word", "argument", "unused"})
"""The kinds of problems that such items may have."""


class ReadFormula(NamedTuple):
    """A formula, and whether it has problems of the tolerated kinds."""

    formula: Formula
    odd: bool


def formula_in(record: Record, name: str, suite: str, k: int | None, *, odd_words: bool) -> ReadFormula | None:
    """A field that is a formula of the suite with complexity `k`; `odd_words` lets pass what ODD_WORDS names."""
    text = record.text(name)
    if text is None:
        return None
    formula, problems = read(text)
    odd = False
    if formula is not None:
        found = check(formula, suite)
        problems = [problem for problem in found if not odd_words or problem.kind not in ODD_WORDS]
        odd = len(found) > len(problems)
    for problem in problems:
        record.wrong(f"{name}, {problem}")
    if formula is None or problems or not _has_complexity(record, formula, name, k):
        return None
    return ReadFormula(formula, odd)


def witness_in(record: Record, name: str, formula: Formula, style: str | None) -> Scene | None:
    """A field that is a scene and satisfies the formula."""
    try:
        scene = Scene.from_json(record.fields[name])
        if verify(formula, scene, style=style):
            return scene
        record.wrong(f"{name} does not satisfy the formula: make it anew, or leave it out")
    except FormulaError as error:
        record.wrong(f"{name} cannot decide the formula: {error.problems[0].message}")
    except SceneError as error:
        record.wrong(f"{name}: {error}")
    return None


def _has_complexity(record: Record, formula: Formula, name: str, k: int | None) -> bool:
    try:
        found = complexity(formula)
    except FormulaError as error:
        record.wrong(f"{name}, {error.problems[0]}")
        return False
    if k is not None and found != k:
        record.wrong(f"the level is {k}, but {name} has K = {found}: mend one of them")
        return False
    return True
