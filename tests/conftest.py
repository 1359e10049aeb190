"""What holds for all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# As the command line does, and before numpy loads: threads of its own would only be in the way of the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples for everyone, and few enough to be run often; HYPOTHESIS_PROFILE=thorough looks for new ones.
settings.register_profile("steady", derandomize=True, max_examples=60)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(autouse=True, scope="module")
def _clients_are_let_go_of(request: pytest.FixtureRequest) -> Iterator[None]:
    """Clients that a library closes when they are collected must not be collected inside another test's loop."""
    yield
    if request.path.parent.name in ("models", "remote"):
        gc.collect()
