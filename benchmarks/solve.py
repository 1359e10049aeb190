"""Speed of solving: the published Knolling formulas, instructions of each K, contradictions, and counts."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from instructions import draw_case

from formalimg.logic.verification import verify
from formalimg.scenes.solver.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solver.search import solve

PUBLISHED = Path(__file__).parents[2] / "shared" / "official" / "formalimg" / "benchmarks" / "knolling"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--published", type=Path, default=PUBLISHED, help="folder of published Knolling instances")
    options.add_argument("--per-level", type=int, default=10, help="drawn instructions of each K (default 10)")
    chosen = options.parse_args()
    solve("(exists ?x (Is ?x 'cup'))")  # load the solver
    published(chosen.published)
    drawn(chosen.per_level)
    contradictions()
    counts()


def published(folder: Path) -> None:
    paths = sorted(folder.glob("*.json"), key=lambda path: int(path.stem))
    if not paths:
        print(f"(a) no published instances in {folder}")
        return
    times = []
    for path in paths:
        text = json.loads(path.read_text(encoding="utf-8"))["dsl"]
        start = time.perf_counter()
        result = solve(text)
        times.append(time.perf_counter() - start)
        assert isinstance(result, Witness), f"{path.name}: {result}"
        assert verify(text, result.scene), path.name
        assert result.margin == 20, f"{path.name}: margin {result.margin}"
    print(f"(a) {len(paths)} published Knolling formulas, all solved with the full margin: {told(times)}")


def drawn(per_level: int) -> None:
    print("(b) drawn instructions")
    for k in range(1, 11):
        times: list[float] = []
        solved = full = 0
        for number in range(per_level):
            start = time.perf_counter()
            result = solve(draw_case(k, 12, number).formula)
            times.append(time.perf_counter() - start)
            solved += isinstance(result, Witness)
            full += isinstance(result, Witness) and result.margin == 20
        print(f"    K = {k:>2}: {solved} of {per_level} satisfiable ({full} with the full margin), {told(times)}")


def contradictions() -> None:
    times = []
    for length in range(2, 11):
        names = [f"?x{number}" for number in range(length)]
        for predicate in ("LeftOf", "Below", "LargerThan"):
            ring = " ".join(f"({predicate} {a} {b})" for a, b in zip(names, [*names[1:], names[0]], strict=True))
            text = "".join(f"(exists {name} " for name in names) + f"(and {ring})" + ")" * length
            start = time.perf_counter()
            assert isinstance(solve(text), Unsatisfiable)
            times.append(time.perf_counter() - start)
    print(f"(c) {len(times)} cycles of length 2 to 10, refuted with the smallest conflict: {told(times)}")


def counts() -> None:
    print("(d) hard families of counts")
    for title, texts in counted_families().items():
        times: list[float] = []
        ends = {"satisfiable": 0, "refuted": 0, "unknown": 0}
        for text in texts:
            start = time.perf_counter()
            try:
                result = solve(text)
            except SolverLimitError:
                ends["unknown"] += 1
            else:
                ends["satisfiable" if isinstance(result, Witness) else "refuted"] += 1
                assert isinstance(result, Unsatisfiable) or verify(text, result.scene), text
            times.append(time.perf_counter() - start)
        found = ", ".join(f"{number} {end}" for end, number in ends.items() if number)
        print(f"    {title}: {found}, {told(times)}")


def counted_families() -> dict[str, list[str]]:
    """Formulas of each family, for growing numbers; some can be satisfied and some just cannot."""
    cup = "(Is {} 'cup')".format
    chain = "(exists ?y (and (Is ?y 'cup') (LeftOf ?x ?y)))"
    return {
        "pigeonholes: n + 1 cups, at most n": [
            f"(and (at-least {n + 1} ?x {cup('?x')}) (at-most {n} ?y {cup('?y')}))" for n in range(1, 9)
        ],
        "pigeons in holes: n + 1 cups, each in line with one of n plates, no plate with two": [
            f"(and (exactly {n + 1} ?c {cup('?c')}) (exactly {n} ?p (Is ?p 'plate'))"
            f" (not (exists ?x (and {cup('?x')} (not (exists ?q (and (Is ?q 'plate') (AlignedVertically ?x ?q)))))))"
            f" (not (exists ?r (and (Is ?r 'plate') (at-least 2 ?y (and {cup('?y')} (AlignedVertically ?y ?r)))))))"
            for n in (1, 2, 3)
        ],
        "exactly n in a chain of left-of": [
            f"(and (exactly {n} ?z {cup('?z')}) (exactly {n - less} ?x (and {cup('?x')} {chain})))"
            for n in range(2, 7)
            for less in (1, 0)
        ],
        "at most none beside exactly n": [
            f"(and (exactly {n} ?x (and {cup('?x')} (Has ?x 'red')))"
            f" (at-most 0 ?y (and {cup('?y')} (Has ?y '{color}'))))"
            for n in (1, 3, 6)
            for color in ("red", "blue")
        ],
        "counts in counts": [
            f"(and (exactly {n} ?z {cup('?z')})"
            f" (exactly {m} ?x (and {cup('?x')} (exactly {m} ?y (and {cup('?y')} (LeftOf ?x ?y))))))"
            for n in (2, 3, 4)
            for m in (1, 2)
        ],
        "n different objects, at most n or one fewer": [
            _clique(n, f"(at-most {most} ?y {cup('?y')})") for n in (3, 5, 7) for most in (n, n - 1)
        ],
        "every plate with n cups to its left, n or none in all": [
            f"(and (forall ?p (implies (Is ?p 'plate') (exactly {n} ?x (and {cup('?x')} (LeftOf ?x ?p)))))"
            f" (exactly {total} ?y {cup('?y')}))"
            for n in (1, 2, 4)
            for total in (n, 0)
        ],
    }


def _clique(size: int, *parts: str) -> str:
    names = [f"?x{number}" for number in range(size)]
    kinds = " ".join(f"(Is {name} 'cup')" for name in names)
    bound = "".join(f"(exists {name} " for name in names)
    return f"{bound}(and (distinct {' '.join(names)}) {kinds} {' '.join(parts)}){')' * size}"


def told(times: list[float]) -> str:
    return f"median {statistics.median(times) * 1000:.0f} ms, largest {max(times) * 1000:.0f} ms"


if __name__ == "__main__":
    main()
