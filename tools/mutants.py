"""Count the mutants of a package that its tests kill: python -m tools.mutants src/formalimg/logic tests/logic.

A mutant is the package with one small fault (`<` for `<=`, `or` for `and`, a constant off by one, a negated condition).
A seed fixes the sample: the same source gives the same mutants before and after a change of the tests. One run with
coverage says which tests reach which line; a mutant meets these alone, the fastest first, and survives where none does.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import coverage

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")


class Mutant(NamedTuple):
    path: Path
    line: int
    change: str
    source: str


def find_faults(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """Yield pairs of a node inside a function and what may stand in its place."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in (inner for statement in function.body for inner in ast.walk(statement)):
            if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
                operator = COMPARISONS[type(node.ops[0])]()
                yield node, ast.Compare(node.left, [operator, *node.ops[1:]], node.comparators), "comparison"
            elif isinstance(node, ast.BoolOp):
                yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values), "and/or"
            elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
                yield node, ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right), "operator"
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                yield node, node.operand, "not"
            elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
                value = not node.value if isinstance(node.value, bool) else node.value + 1
                yield node, ast.Constant(value), "constant"
            elif isinstance(node, ast.If | ast.IfExp | ast.While):
                yield node.test, ast.UnaryOp(ast.Not(), node.test), "condition"


class Replacement(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.old:
            return ast.copy_location(copy.deepcopy(self.new), node)
        return self.generic_visit(node)


def sample_mutants(package: Path, count: int, seed: int) -> list[Mutant]:
    sites = [
        (path, number)
        for path in sorted(package.rglob("*.py"))
        for number, _ in enumerate(find_faults(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    mutants = []
    for path, number in sorted(random.Random(seed).sample(sites, min(count, len(sites)))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        old, new, change = list(find_faults(tree))[number]
        line: int = old.lineno  # type: ignore[attr-defined]
        source = ast.unparse(ast.fix_missing_locations(Replacement(old, new).visit(tree)))
        mutants.append(Mutant(path, line, change, source))
    return mutants


def trace_tests(tests: list[str], folder: Path) -> tuple[coverage.CoverageData, dict[str, float]]:
    """Run the tests once; return which lines each reaches, and its duration if it passes."""
    data, durations = folder / "coverage", folder / "durations.json"
    plugin = folder / "durations_plugin.py"
    plugin.write_text(
        "import json, os\nseconds, failed = {}, set()\n"
        "def pytest_runtest_logreport(report):\n"
        "    seconds[report.nodeid] = seconds.get(report.nodeid, 0) + report.duration\n"
        "    failed.update([report.nodeid] if report.failed else [])\n"
        "def pytest_sessionfinish():\n"
        "    passed = {name: value for name, value in seconds.items() if name not in failed}\n"
        "    json.dump(passed, open(os.environ['DURATIONS'], 'w'))\n",
        encoding="utf-8",
    )
    environment = os.environ | {"COVERAGE_FILE": str(data), "DURATIONS": str(durations), "PYTHONPATH": str(folder)}
    command = [*PYTEST, "-p", "durations_plugin", "--cov=formalimg", "--cov-context=test", "--cov-report=", *tests]
    subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)  # coverage makes some tests fail
    lines = coverage.CoverageData(str(data))
    lines.read()
    return lines, json.loads(durations.read_text(encoding="utf-8"))


def is_killed(mutant: Mutant, tests: list[str], seconds: float) -> bool:
    """Run the tests on a copy of the source with the fault in it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree("src", root / "src", copy_function=os.link)
        target = root / mutant.path
        target.unlink()
        target.write_text(mutant.source, encoding="utf-8")
        chosen = root / "tests.txt"
        chosen.write_text("\n".join(tests), encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(root / "src")}
        try:
            command = [*PYTEST, "-x", f"@{chosen}"]
            run = subprocess.run(command, env=environment, timeout=60 + 4 * seconds, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return True
        return run.returncode in (1, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="folder or file of the source")
    parser.add_argument("tests", nargs="+", help="its tests: folders or files")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines, durations = trace_tests(arguments.tests, Path(folder))
        mutants = sample_mutants(arguments.package, arguments.count, arguments.seed)

        def try_mutant(mutant: Mutant) -> bool:
            contexts = lines.contexts_by_lineno(str(mutant.path.resolve())).get(mutant.line, [])
            tests = sorted(
                {context.rpartition("|")[0] for context in contexts} & set(durations), key=durations.__getitem__
            )
            killed = bool(tests) and is_killed(mutant, tests, sum(durations[test] for test in tests))
            fate = "killed" if killed else "survived" if tests else "not reached"
            print(f"{fate:12}{len(tests):5} tests  {mutant.path}:{mutant.line} {mutant.change}", flush=True)
            return killed

        with ThreadPoolExecutor(arguments.jobs) as pool:
            killed = sum(pool.map(try_mutant, mutants))
    print(f"{killed} of {len(mutants)} mutants killed, by {len(durations)} tests")


if __name__ == "__main__":
    main()
