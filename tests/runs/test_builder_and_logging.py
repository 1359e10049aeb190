"""One set of options for the command line and Python, with one place for limits; and run events in the log."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.conditions import Condition
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed
from formalimg.runs.config import MAX_SIZE, MIN_SIZE, RunOptions
from formalimg.runs.execution import execute
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order


def test_options_name_folders_and_check_limits(tmp_path: Path) -> None:
    model = Speckles()
    shared: Any = {"suite": "knolling", "runs": tmp_path}
    options = RunOptions(**shared, made_with="formalimg 1", items=small_items(3), per_level=1, size=MIN_SIZE)
    folder = options.folder_of(model)
    assert folder == tmp_path / "knolling-test-speckles"
    config = options.config(model)
    assert (config.size, config.made_with, config.selection.per_level) == (MIN_SIZE, "formalimg 1", 1)
    for size in (MIN_SIZE - 1, MAX_SIZE + 1):
        with pytest.raises(FormalimgError, match=f"give {MIN_SIZE} to {MAX_SIZE} pixels"):
            RunOptions(**shared, items=small_items(1), size=size).config(model)
    layouts = RunOptions(**shared, items=small_items(1), condition=Condition("text-layout"))
    assert layouts.folder_of(model).name == "knolling-test-speckles-text-layout"


def test_failed_images_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "formalimg.runs")
    model = Speckles(answer=lambda request: Failed("the server is away"))
    execute(order(model, small_items(2)), tmp_path / "run", NumberJudge())
    messages = [record.getMessage() for record in caplog.records]
    assert sum("failed: the server is away" in message for message in messages) == 2
    assert any("2 images to generate, 0 existing ones to judge" in message for message in messages)
