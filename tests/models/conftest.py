"""What holds for tests of models."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def _clients_are_let_go_of() -> Iterator[None]:
    """Clients that a library closes when they are collected must not be collected inside another test's loop."""
    yield
    gc.collect()
