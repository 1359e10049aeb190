"""What a cluster on this machine is started with: the loopback interface, and a token that nobody else can read."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from formalimg.runs.ray.worker import _private_token, private_cluster


@pytest.fixture(autouse=True)
def constants(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Ray, as far as it is looked at before it starts."""
    private, loaded = ModuleType("ray._private"), ModuleType("ray._private.ray_constants")
    loaded.ENABLE_RAY_CLUSTER = True  # type: ignore[attr-defined]
    private.ray_constants = loaded  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray._private", private)
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", loaded)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"):
        monkeypatch.delenv(name, raising=False)
    _private_token.cache_clear()
    return loaded


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_token_is_private_and_nothing_is_left_behind(
    constants: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.delitem(sys.modules, "ray")
    before = dict(os.environ)
    with private_cluster():
        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert (_mode(token), _mode(token.parent)) == (0o600, 0o700)
        assert len(token.read_text(encoding="ascii")) == 64
        assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
        assert constants.ENABLE_RAY_CLUSTER is False
    assert dict(os.environ) == before
    assert constants.ENABLE_RAY_CLUSTER is True


def test_where_ray_is_loaded_the_token_of_the_user_is_made_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    with private_cluster():
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ
        assert _mode(tmp_path / ".ray" / "auth_token") == 0o600


def test_what_the_user_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with private_cluster():
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ
