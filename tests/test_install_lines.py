"""Commands that install extras: they fit the way in which this copy was installed, and name extras that exist."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from formalimg._util import installing
from formalimg._util.installing import install_line
from tests.support.installed import install

ROOT = Path(__file__).parents[1]
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path in which formalimg is installed, as an installer leaves it."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, "formalimg", {}, {})
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    installing._origin.cache_clear()
    yield folder / "formalimg-1.0.dist-info"
    installing._origin.cache_clear()


def test_a_copy_from_a_clone_names_the_clone(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    (clone / "pyproject.toml").touch()
    note = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    (site / "direct_url.json").write_text(json.dumps(note))
    assert shlex.split(install_line("web")) == ["pip", "install", "-e", f"{clone}[web]"]
    monkeypatch.chdir(clone)
    assert install_line("web") == "pip install -e '.[web]'"
    assert install_line("stores", "s3fs") == "pip install -e '.[stores]' s3fs"


def test_a_copy_from_a_wheel_names_the_wheel_while_it_is_there(site: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "formalimg-1.0-py3-none-any.whl"
    wheel.touch()
    (site / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert install_line("web") == f"pip install '{wheel}[web]'"
    wheel.unlink()
    assert install_line("web") == "pip install 'formalimg[web]'"


@pytest.mark.parametrize(
    "note", [None, "", "no JSON", "[]", "{}", '{"url": 7}', '{"url": "https://example.org/a.whl", "archive_info": {}}']
)
def test_other_copies_are_named_by_the_package(site: Path, note: str | None) -> None:
    if note is not None:
        (site / "direct_url.json").write_text(note)
    assert install_line("web") == "pip install 'formalimg[web]'"


def test_every_extra_that_is_named_exists() -> None:
    """In commands and sentences of the docs, in messages, and in the calls that make them."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += [page for folder in ("src", "tests_local", "examples") for page in (ROOT / folder).rglob("*.py")]
    named = re.compile(r"""(?:formalimg|'\.|\.whl)\[([a-z, ]+)\]|install_line\(["']([a-z]+)["']""")
    found = {
        extra.strip(): page.name
        for page in pages
        for groups in named.findall(page.read_text(encoding="utf-8"))
        for extra in "".join(groups).split(",")
    }
    assert {extra: page for extra, page in found.items() if extra not in EXTRAS} == {}
    assert len(found) > 5


def test_messages_do_not_spell_the_command_themselves() -> None:
    spelled = re.compile(r"""pip install [^`]*formalimg\[""")
    pages = [page for page in (ROOT / "src").rglob("*.py") if page.name not in ("installing.py", "registry.py")]
    assert [page.name for page in pages if spelled.search(page.read_text(encoding="utf-8"))] == []
