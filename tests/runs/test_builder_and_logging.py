"""One builder for the command line and Python, with one place for limits; and run events in the log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models import Failed
from formalimg.runs import MAX_SIZE, MIN_SIZE, RunBuilder, execute
from formalimg.suites import Condition
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order


def test_the_builder_names_folders_and_checks_limits(tmp_path: Path) -> None:
    model = Speckles()
    builder = RunBuilder("knolling", "formalimg 1", small_items(3), per_level=1, size=MIN_SIZE, auto_style=True)
    folder = builder.folder(model, tmp_path)
    assert folder == tmp_path / "knolling-test-speckles"
    config = builder.config(model, folder)
    assert (config.size, config.made_with, config.selection.per_level) == (MIN_SIZE, "formalimg 1", 1)
    for size in (MIN_SIZE - 1, MAX_SIZE + 1):
        with pytest.raises(FormalimgError, match=f"give {MIN_SIZE} to {MAX_SIZE} pixels"):
            RunBuilder("knolling", "", small_items(1), size=size).config(model, folder)
    layouts = RunBuilder("knolling", "", small_items(1), condition=Condition("text-layout"))
    assert layouts.folder(model, tmp_path).name == "knolling-test-speckles-text-layout"


def test_failed_images_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "formalimg.runs")
    model = Speckles(answer=lambda request: Failed("the server is away"))
    execute(order(model, small_items(2)), tmp_path / "run", NumberJudge())
    messages = [record.getMessage() for record in caplog.records]
    assert sum("failed: the server is away" in message for message in messages) == 2
    assert any("2 images to generate, 0 existing ones to judge" in message for message in messages)
