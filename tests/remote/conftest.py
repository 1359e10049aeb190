"""Servers that fail and are counted: nothing is tried before, but where a test is about that."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_tried_first(no_preflight: None) -> None:
    """Turn the pre-flight off."""
