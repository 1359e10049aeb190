"""What holds for all tests."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from hypothesis import settings

from formalimg.benchmarks import loader
from formalimg.models import registry, secrets
from tests.support import remote_models, sizes

# As the command line does, and before numpy loads: threads of its own would only be in the way of the other tests.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Whatever who runs the tests has set: judges and models are tried first, unless a test asks for `no_preflight`.
os.environ.pop("FORMALIMG_PREFLIGHT", None)

# The same examples for everyone, and few enough to be run often; HYPOTHESIS_PROFILE=thorough looks for new ones.
# No example is late by the clock: what takes long on a busy machine is not wrong.
settings.register_profile("steady", derandomize=True, max_examples=sizes.tries(30, 100), deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# All servers of the tests are on this machine and speak plain HTTP: reading the certificates of all authorities anew
# for each client takes a fifth of the time of the tests that have one.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "certificate.pem")

# No configuration of whoever runs the tests.
for variable in ("FORMALIMG_JUDGE", "FORMALIMG_JUDGE_OPTIONS", "FORMALIMG_GROUNDER", "FORMALIMG_GROUNDER_OPTIONS"):
    os.environ.pop(variable, None)
os.environ["XDG_CONFIG_HOME"] = os.devnull

# Nothing that collecting the tests makes is garbage, and looking for it takes a fifth of the time.
gc.disable()

# No test can cut the power, and waiting for the disk takes longer than everything else; that and in which order files
# are flushed is tested with an fsync of its own.
os.fsync = lambda fd: None

# Reading a default suite takes the better part of a second, and its items never change: each is read once.
_read_default = cache(loader.load_default)
pytest.MonkeyPatch().setattr(loader, "load_default", lambda *args: list(_read_default(*args)))

# Looking through all installed packages for providers takes longer than opening a model; they change with the path.
_providers = cache(lambda group, path: entry_points(group=group))
pytest.MonkeyPatch().setattr(registry, "entry_points", lambda group: _providers(group, tuple(sys.path)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In full, only what is tried in part otherwise: the other tests would be the same again."""
    if sizes.ALL:
        sized = [item.name.split("[")[0] in sizes.sized_tests(item.path) for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, sized, strict=True) if not kept])
        items[:] = itertools.compress(items, sized)


def pytest_collection_finish() -> None:
    """What is there before the first test stays to the end: looking for garbage in it again and again takes minutes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _clients_are_let_go_of(request: pytest.FixtureRequest) -> Iterator[None]:
    """Clients that a library closes when they are collected must not be collected inside another test's loop."""
    yield
    if request.path.parent.name in ("models", "remote"):
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="module")
def no_preflight() -> Iterator[None]:
    """No pre-flight: for tests that count calls, let servers fail, or have models that know nothing of its drawings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMALIMG_PREFLIGHT", "no")
        yield


@pytest.fixture(name="stand_alone")
def _stand_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder and cache, no settings of this machine, and planted keys: see `remote_models.stand_alone`."""
    remote_models.stand_alone(monkeypatch, tmp_path)


@pytest.fixture(autouse=True)
def _keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that one test uses must not be redacted from what another one reads."""
    monkeypatch.setattr(secrets, "_registered", set())
