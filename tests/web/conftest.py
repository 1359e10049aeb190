"""One folder of runs for all tests of the viewer, a cache of their own, and a browser for each file that wants one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.sites import Eye, concept_run, knolling_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.web.rated_screens import Look


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.support.browser import started_browser  # here, because to import it skips where there is none

    with started_browser() as opened:
        yield opened


@pytest.fixture
def look(browser: Browser, tmp_path: Path) -> Iterator[Look]:
    """Opens the first page of a new study on a screen."""
    from tests.web.rated_screens import screens  # here, as above

    with screens(browser, tmp_path) as opened:
        yield opened


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path_factory.getbasetemp() / "viewer-cache"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, one of them in a folder of its own, one judged twice, a damaged one and a folder that is none."""
    folder = tmp_path_factory.mktemp("viewer")
    concept_run(folder / "first", 110)
    concept_run(folder / "nested" / "<b>second&", model="test/<i>other", judge=Eye(turned=True))
    concept_run(folder / "nested" / "<b>second&", model="test/<i>other", judge=Eye("test/<u>later"))
    manifest = folder / "first" / "run.toml"
    manifest.write_text(
        re.sub(r'created = "\d+', 'created = "2020', manifest.read_text(encoding="utf-8")), encoding="utf-8"
    )
    knolling_run(folder / "knolling")
    concept_run(folder / "upright", 3, model="test/upright", shape=(2, 900))
    (folder / "damaged").mkdir()
    (folder / "damaged" / "run.toml").write_text("<script>pwned=1</script> = [", encoding="utf-8")
    (folder / "foreign").mkdir()
    return folder
