"""Formats and runs as they were stored: nothing is tried before, so that they hold what is asked of items alone."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_tried_first(no_preflight: None) -> None:
    """Turn the pre-flight off."""
