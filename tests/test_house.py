"""Size and names of each package, against budgets that only go down: raising one needs a reason in the commit."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "formalimg"
BUDGETS = tomllib.loads(Path(__file__).with_name("house_budgets.toml").read_text(encoding="utf-8"))
SLACK = 1.03
"""A budget that is further above what there is has to be lowered."""

PRONOUNS = frozenset(BUDGETS["words"]["pronouns"].split())
NO_PARTICIPLES = frozenset(BUDGETS["words"]["no_participles"].split())
PARTICIPLE = re.compile(r"(ed|wn|ept|ound|ade|aid)$")


def modules(package: str) -> Iterator[Path]:
    return SOURCE.glob("*.py") if package == "top" else (SOURCE / package).rglob("*.py")


def names_of(tree: ast.Module) -> Counter[str]:
    """The names that functions, classes and modules bind."""
    stored = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    parameters = (node.arg for node in ast.walk(tree) if isinstance(node, ast.arg) and node.arg not in ("self", "cls"))
    return Counter([*stored, *parameters])


def functions_of(tree: ast.Module) -> list[str]:
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [name for node in defined if (name := node.name.strip("_"))]


def begins_with_a_participle(function: str) -> bool:
    first = function.split("_")[0]
    return bool(PARTICIPLE.search(first)) and first not in NO_PARTICIPLES


def fits(measured: float, budget: float) -> bool:
    return measured <= budget <= max(measured * SLACK, measured + 1)


def test_every_package_has_a_budget() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert set(BUDGETS["packages"]) == packages | {"top"}


@pytest.mark.parametrize("package", BUDGETS["packages"])
def test_a_package_keeps_its_budget_of_lines_and_modules(package: str) -> None:
    files = list(modules(package))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    budget = BUDGETS["packages"][package]
    assert fits(lines, budget["lines"]), f"{package}: {lines} lines, budget {budget['lines']}"
    assert fits(len(files), budget["modules"]), f"{package}: {len(files)} modules, budget {budget['modules']}"


def test_names_say_what_they_are() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    names: Counter[str] = sum(map(names_of, trees), Counter())
    functions = [name for tree in trees for name in functions_of(tree)]
    measured = {
        "pronouns": 100 * sum(names[word] for word in PRONOUNS) / names.total(),
        "participles": 100 * sum(map(begins_with_a_participle, functions)) / len(functions),
        "one_word": 100 * sum("_" not in name for name in functions) / len(functions),
    }
    assert all(fits(share, BUDGETS["names"][name]) for name, share in measured.items()), measured
