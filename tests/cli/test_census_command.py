"""`formalimg items census`: several suites at once, and their figures side by side."""

from __future__ import annotations

from pathlib import Path

from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.loader import load
from tests.support.command import formalimg


def test_a_census_of_several_suites_draws_them_side_by_side(tmp_path: Path) -> None:
    for suite in ("knolling", "natural"):
        write_published([item for item in load(suite) if item.level == 1][:20], tmp_path / "items")
    given = ("--items", str(tmp_path / "items"), "--figures", str(tmp_path / "figures"), "--figures-as", "svg")
    said = formalimg("items", "census", "knolling", "natural", *given)
    assert said.code == 0, said.err
    assert said.out.startswith("knolling\n20 items")
    assert "\nnatural\n20 items" in said.out
    assert (tmp_path / "figures" / "knolling-natural-predicates.svg").is_file()
