"""Small images whose content is known by their digests, and a chat model on a loopback server that sees them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.support.loopback import Loopback
from tests.support.seeing import SeeingModel, question

CUP, RED = "Is there a cup?", "Is the cup red?"
PROMPT = "A red cup on a shelf"
WRITTEN = [question("1", CUP), question("2", RED, "1", category="attribute")]


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two images, in a folder of its own to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FORMALIMG_JUDGE", raising=False)
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("red", "blue"):
        image = Image.linear_gradient("L").convert("RGB")
        image.paste(name, (20, 20, 90, 90))
        image.save(folder / f"{name}.png")
    return folder


@pytest.fixture
def model(images: Path) -> SeeingModel:
    """It sees a red cup in one image and a blue one in the other."""
    shown = {"red.png": {CUP, RED, "(Is ?cup 'cup')"}, "blue.png": {CUP, "(Is ?cup 'cup')"}}
    digests = {hashlib.sha256((images / name).read_bytes()).hexdigest(): true for name, true in shown.items()}
    return SeeingModel(digests, written={PROMPT: [WRITTEN]})


@pytest.fixture
def server(model: SeeingModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-but-long-enough")
    with Loopback(reply=model) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        yield running
