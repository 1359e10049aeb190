"""How much the tests try: some of it in `make test`, which is run often, and all of it in `make test-local`."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

import pytest

ALL = os.environ.get("FORMALIMG_TESTS") == "all"

# For what cannot be tried in part.
only_in_full = pytest.mark.skipif(not ALL, reason="takes long: run by make test-local, or with FORMALIMG_TESTS=all")


def tries(some: int, everything: int) -> int:
    """How many cases to try, or which step to take through them."""
    return everything if ALL else some


@cache
def sized_tests(module: Path) -> frozenset[str]:
    """The names in a module that a size reaches, also through constants, functions and fixtures of the module."""
    reached, uses = {"tries", "only_in_full"}, {}
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        within = list(ast.walk(node))
        if isinstance(node, ast.ImportFrom) and node.module == "hypothesis":  # which tries more examples in full
            reached |= {each.asname or each.name for each in node.names if each.name == "given"}
            continue
        used = {each.id for each in within if isinstance(each, ast.Name)}
        used |= {each.arg for each in within if isinstance(each, ast.arg)}  # a fixture is used by being an argument
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            uses[node.name] = used | {"pytestmark"}
        else:
            uses |= {each.id: used for each in within if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    while new := {name for name, used in uses.items() if used & reached} - reached:
        reached |= new
    return frozenset(reached)
