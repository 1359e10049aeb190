"""Speed of verifying, against a straightforward backtracking interpreter. Run with `make bench`."""

from __future__ import annotations

import argparse
import contextlib
import math
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

from backtracking import OutOfTimeError, backtrack, hoist
from instructions import draw_case, with_counts

from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.prenex import clauses, complexity
from formalimg.logic.soft_score.best_binding import prepare_formula
from formalimg.logic.syntax import And, Atom, Exists, Formula, Value, Variable
from formalimg.logic.verification import verify
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene

LIMIT = 2.0
"""Seconds after which the search for one case is given up; it then counts as having taken just that long."""

HARD_LIMIT = 10.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--formulas", type=int, default=2000, help="how many formulas over K = 1..10 (default 2000)")
    formulas = options.parse_args().formulas
    print(f"verify against backtracking (which is given up after {LIMIT:g} s a case)\n")
    times = [compare(formulas, objects) for objects in (12, 30)]
    print("(a) both together")
    show_quantiles([t for ours, _ in times for t in ours], [t for _, theirs in times for t in theirs])
    print()
    hard_family()
    print()
    analysis_rate()
    print()
    compare(formulas // 4, 30, counts=True)
    print()
    used_again(formulas // 2)


def compare(formulas: int, objects: int, *, counts: bool = False) -> tuple[list[float], list[float]]:
    """(a) Instructions shaped like the published ones; (e) with a count about each object."""
    ours: list[float] = []
    theirs: list[float] = []
    given_up = passed = 0
    for number in range(formulas):
        case = draw_case(number % 10 + 1, objects, number)
        if counts:
            case = with_counts(case, number)
        fresh = Scene(case.scene.objects)  # nothing remembered from drawing the case
        start = time.perf_counter()
        verdict = verify(case.formula, fresh)
        ours.append(time.perf_counter() - start)
        passed += verdict.passed
        start = time.perf_counter()
        try:
            found = backtrack(case.formula, case.scene, LIMIT)
            assert found == verdict.passed, f"verdicts differ: {case.formula}"
        except OutOfTimeError:
            given_up += 1
        theirs.append(time.perf_counter() - start)
    title = f"(e) with counts: {formulas}" if counts else f"(a) {formulas}"
    print(f"{title} formulas, K = 1..10, {objects} objects, {passed} hold; backtracking gave up on {given_up}")
    show_quantiles(ours, theirs)
    return ours, theirs


def used_again(formulas: int) -> None:
    """(f) The same instructions as in (a), prepared once and verified in a scene that is new each time."""
    ours: list[float] = []
    theirs: list[float] = []
    searches: list[float] = []
    for objects in (12, 30):
        for number in range(formulas):
            case = draw_case(number % 10 + 1, objects, number)
            prepared = prepare_formula(case.formula)
            passed = prepared.verify(Scene(case.scene.objects)).passed
            fresh = Scene(case.scene.objects)
            start = time.perf_counter()
            prepared.verify(fresh)
            ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            with contextlib.suppress(OutOfTimeError):
                assert backtrack(case.formula, case.scene, LIMIT) == passed, f"verdicts differ: {case.formula}"
            theirs.append(time.perf_counter() - start)
            start = time.perf_counter()
            hoist(case.formula)
            searches.append(theirs[-1] - (time.perf_counter() - start))
    print(f"(f) {2 * formulas} formulas that are used again, K = 1..10, 12 and 30 objects")
    show_quantiles(ours, theirs)
    search = quantile(searches, 0.5)
    print(f"    backtracking without its hoisting, median: {milliseconds(search)}, {search / quantile(ours, 0.5):.1f}x")


def show_quantiles(ours: list[float], theirs: list[float]) -> None:
    print(f"    {'':>12} {'verify':>12} {'backtracking':>14} {'ratio':>8}")
    for name, share in (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("largest", 1.0)):
        mine, other = quantile(ours, share), quantile(theirs, share)
        print(f"    {name:>12} {milliseconds(mine):>12} {milliseconds(other):>14} {other / mine:>7.1f}x")


def hard_family() -> None:
    """(b) and (c): a chain whose last variable cannot be what it should be."""
    print("(b) n objects of one class in a row, a K = 10 chain of RightOf that fails at its last variable")
    formula = chain(10)
    sizes = (10, 20, 40, 80, 160, 320)
    slowest: dict[int, float] = {}
    for title, pink in (("a colour that nothing has", None), ("a colour that only the leftmost object has", 0)):
        times = [best_of(5, lambda n=n, pink=pink: verify(formula, row(n, pink))) for n in sizes]  # type: ignore[misc]
        told = "  ".join(f"n={n}: {milliseconds(t)}" for n, t in zip(sizes, times, strict=True))
        print(f"    {title}:\n      verify        {told}")
        start = time.perf_counter()
        try:
            backtrack(formula, row(40, pink), HARD_LIMIT)
            print(f"      backtracking  n=40: {time.perf_counter() - start:.1f} s")
        except OutOfTimeError:
            print(f"      backtracking  n=40: gave up after {HARD_LIMIT:g} s")
        for n, seconds in zip(sizes, times, strict=True):
            slowest[n] = max(seconds, slowest.get(n, 0))
    large = [n for n in sizes if n >= 40]
    slope = statistics.linear_regression([math.log(n) for n in large], [math.log(slowest[n]) for n in large]).slope
    print(f"(c) the time of verify grows with n to the power of {slope:.2f} (the slower of the two, n = 40..320)")


def analysis_rate() -> None:
    """Parse, check, K and clauses of K = 10 formulas."""
    texts = [str(draw_case(10, 30, number).formula) for number in range(200)]

    def analyse() -> None:
        for text in texts:
            formula = parse(text)
            assert not check(formula, "knolling")
            complexity(formula)
            clauses(formula)

    length = statistics.mean(map(len, texts))
    seconds = best_of(3, analyse)
    rate = len(texts) / seconds
    print(f"(d) parse + check + K + clauses: {rate:,.0f} formulas a second (K = 10, {length:.0f} characters)")


def chain(k: int) -> Formula:
    variables = [Variable(f"x{number}") for number in range(k)]
    parts: list[Formula] = [Atom("Is", (variable, Value("cup"))) for variable in variables]
    parts += [Atom("RightOf", (right, left)) for left, right in pairwise(variables)]
    parts.append(Atom("Has", (variables[-1], Value("pink"))))
    formula: Formula = And(tuple(parts))
    for variable in reversed(variables):
        formula = Exists(variable, formula)
    return formula


def row(n: int, pink: int | None) -> Scene:
    """A row of n red cups, one of them optionally pink."""
    step = 1000 / n
    boxes = [Box(i * step, 400, (i + 0.8) * step, 600) for i in range(n)]
    return Scene.of(SceneObject("cup", box, "pink" if i == pink else "red") for i, box in enumerate(boxes))


def best_of(times: int, task: Callable[[], object]) -> float:
    best = math.inf
    for _ in range(times):
        start = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - start)
    return best


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3f} ms"


if __name__ == "__main__":
    main()
