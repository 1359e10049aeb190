from __future__ import annotations

from pathlib import Path

import pytest

import formalimg


@pytest.fixture(scope="session")
def reader_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run in which some images pass, some fail, and one is not understood; of items that stay as they are."""
    folder = tmp_path_factory.mktemp("shared") / "knolling-reader"
    items = [item for item in formalimg.load("knolling", "@1") if item.level in (1, 4, 8)][::50]
    done = formalimg.run(
        "knolling", "builtin/reader", items=items, size=256, folder=folder, judge="builtin/icons", progress=False
    )
    passed = [outcome.passed for outcome in done.run.outcomes()]
    assert {*passed} == {True, False, None}
    return folder
