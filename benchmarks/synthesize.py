"""Speed of synthesis, and an audit of the guarantees for items. Run with `make bench`."""

from __future__ import annotations

import argparse
import os
import time

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.formal.synthesis.generator import Recipe, make_items
from formalimg.benchmarks.formal.synthesis.geometry import find_redundant
from formalimg.benchmarks.loader import instruction_digest
from formalimg.language.equivalence import is_equivalent_as_written
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.language.parser import parse_prompt
from formalimg.logic.checks import check
from formalimg.logic.syntax import atoms
from formalimg.logic.verification import verify
from formalimg.scenes.solver.inequalities import keeps_margin
from formalimg.types import Item


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--per-level", type=int, default=200, help="items of each level (default 200)")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = options.parse_args()
    for suite in ("knolling", "natural"):
        start = time.perf_counter()
        items = make_items(Recipe(suite, per_level=chosen.per_level), jobs=chosen.jobs).items
        seconds = time.perf_counter() - start
        print(
            f"{suite}: {len(items)} items in {seconds:.0f} s, {len(items) / seconds:.0f} a second, {chosen.jobs} jobs"
        )
        print(f"    instructions {instruction_digest(items)}")
        audit(items)


def audit(items: list[Item[FormulaSpec]]) -> None:
    """Count the guarantees that hold, by other means than those of the synthesis."""
    suite = items[0].suite
    promises = {
        "well formed, with exact K, in one component": lambda item: (
            not check(item.spec.formula, suite, k=item.level, single_component=True)
        ),
        "words that read back to the formula": lambda item: is_equivalent_as_written(
            parse_prompt(item.prompt, suite), item.spec.formula
        ),
    }
    if suite == "knolling":
        promises["a witness that verifies and keeps its margin"] = lambda item: (
            item.spec.witness is not None
            and verify(item.spec.formula, item.spec.witness).passed
            and keeps_margin(item.spec.formula, item.spec.witness)
        )
        promises["nothing that follows from the rest"] = lambda item: (
            not find_redundant([atom for atom in atoms(item.spec.formula) if atom.predicate not in ("Is", "Has")])
        )
    else:
        promises["nothing implausible"] = lambda item: not find_implausible(item.spec.formula)
    for promise, kept in promises.items():
        print(f"    {sum(map(kept, items)):>5} of {len(items)}: {promise}")
    print(f"    {len({item.prompt for item in items}):>5} of {len(items)}: unlike all others")


if __name__ == "__main__":
    main()
