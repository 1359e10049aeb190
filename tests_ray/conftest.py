"""A real Ray cluster of two nodes on this machine, with token authentication."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Before Ray is loaded by anyone. Commands that the tests start inherit it, and so get in.
_TOKEN = Path(tempfile.mkdtemp(prefix="formalimg-token-")) / "token"
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(_TOKEN), RAY_USAGE_STATS_ENABLED="0")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two nodes of one CPU each. Whoever adds a node takes it away again."""
    if find_spec("ray") is None:
        pytest.skip("ray is not installed: `make test-ray` installs it")
    _TOKEN.write_text(secrets.token_hex(32), encoding="ascii")
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    try:
        yield nodes
    finally:
        nodes.shutdown()
        shutil.rmtree(_TOKEN.parent)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, as the current folder: workers go where the run was started."""
    place = Path(__file__).parents[1]
    monkeypatch.chdir(place)
    return place
