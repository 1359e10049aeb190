"""In full, the tests are run that a size reaches, and no others."""

from __future__ import annotations

from pathlib import Path

from tests.support.sizes import sized_tests

MODULE = """
from hypothesis import given as for_all, strategies as st
from tests.support.sizes import only_in_full, tries

MANY = tries(1, 9)
CASES: list[int] = list(range(MANY))

@pytest.fixture
def cases(): return helper()

def helper(): return CASES

def test_by_a_constant(): assert MANY
def test_by_a_fixture(cases): assert cases
def test_within():
    for _ in range(tries(2, 3)): pass

@only_in_full
def test_long(): pass

@for_all(st.integers())
def test_property(number): pass

@pytest.mark.parametrize("case", CASES)
def test_by_its_cases(case): pass

def test_plain(tmp_path): assert st
"""


def test_sizes_reach_tests_through_constants_functions_fixtures_and_decorators(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    assert {name for name in sized_tests(tmp_path / "module.py") if name.startswith("test_")} == {
        "test_by_a_constant",
        "test_by_a_fixture",
        "test_within",
        "test_long",
        "test_property",
        "test_by_its_cases",
    }


def test_a_mark_of_the_module_reaches_all_its_tests(tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text("pytestmark = [only_in_full]\ndef test_one(): pass\ndef test_other(): pass\n")
    assert {"test_one", "test_other"} <= sized_tests(tmp_path / "marked.py")
