"""Speed of solving: the published Knolling formulas, instructions of each K, and contradictions."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

from instructions import draw_case

from formalimg.logic import verify
from formalimg.scenes.solver import Unsatisfiable, Witness, solve

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


def told(times: list[float]) -> str:
    return f"median {statistics.median(times) * 1000:.0f} ms, largest {max(times) * 1000:.0f} ms"


if __name__ == "__main__":
    main()
