"""The package that the documentation shows, installed and run as it stands there."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from PIL import Image
from pydantic import BaseModel

from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Generated, ImageRequest, ImageResult, Message, Refused, Usage
from formalimg.models.registry import open_chat_model, open_image_model
from tests.support.installed import install
from tests.support.sizes import only_in_full

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "adding-a-model.md"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    blocks = dict(re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S))
    project = tomllib.loads(blocks.pop("pyproject.toml"))["project"]
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder, project["name"], blocks, project["entry-points"])
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "acme_models", raising=False)
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ACME_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.usefixtures("site")
def test_it_makes_images() -> None:
    model = open_image_model("acme/free", {"shade": "200", "concurrency": "3"})

    async def gather() -> list[ImageResult]:
        requests = [ImageRequest(str(n), 0, prompt, 1, 32) for n, prompt in enumerate(["a cup", "a forbidden cup"])]
        return [answer async for answer in model.generate(requests)]

    painted, refused = asyncio.run(gather())
    assert isinstance(painted, Generated)
    with Image.open(io.BytesIO(painted.data)) as image:
        assert (image.size, image.getextrema()) == ((32, 32), (200, 200))
    assert refused == Refused("Acme does not paint that")
    assert (model.name, model.settings, model.concurrency) == ("acme/free", {"shade": 200}, 3)
    with pytest.raises(FormalimgError, match="acme/free has no option 'shape': did you mean shade"):
        open_image_model("acme/free", {"shape": "1"})


@pytest.mark.usefixtures("site")
def test_it_answers_questions() -> None:
    class Seen(BaseModel):
        red: bool
        round: bool

    reply = asyncio.run(open_chat_model("acme/free").ask([Message("user", ("Is it?",))], Seen))
    assert isinstance(reply, Answered)
    assert (reply.value, reply.usage, reply.cost) == (Seen(red=True, round=True), Usage(100, 10), None)


def _formalimg(site: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "formalimg", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path]), **variables},
    )


def test_the_command_line_lists_it_with_what_is_missing(site: Path) -> None:
    shown = _formalimg(site, "models").stdout
    assert (
        "– acme/…           images, answers\n"
        "    Images in one shade: acme/free or acme/pro.\n"
        "    A judge that agrees with everything.\n"
        "    to do: set ACME_API_KEY (not needed for the model free)\n"
    ) in shown
    assert "✓ builtin/…        images\n" in shown
    shown = _formalimg(site, "models", ACME_API_KEY="planted-acme-key").stdout
    assert "✓ acme/…           images, answers\n" in shown
    assert "planted-acme-key" not in shown


@only_in_full
def test_the_list_is_there_as_json_too(site: Path) -> None:
    listed = json.loads(_formalimg(site, "models", "--json").stdout)
    (acme,) = [provider for provider in listed if provider["name"] == "acme"]
    assert (acme["images"], acme["answers"], acme["ready"], acme["package"]) == (True, True, False, "acme-models")


@only_in_full
def test_a_whole_run_uses_it(site: Path, tmp_path: Path) -> None:
    done = _formalimg(
        site, "run", "knolling", "--model", "acme/free", "-M", "shade=9", "--levels", "1", "--per-level", "2",
        "--size", "64", "--out", str(tmp_path / "run"), "-j", "builtin/icons",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "run" / "images").rglob("*.png"))) == 2
