"""One rule for the text before the prompt: every way in sends the same words, and the run says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import formalimg
from formalimg.benchmarks.conditions import Condition
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import open_image_model
from formalimg.runs.plan import default_style
from formalimg.types import ImageModel
from tests.support.command import formalimg as command
from tests.support.models import Speckles, small_items

_PAINTER = """
from pathlib import Path
from PIL import Image

def paint(prompt):
    with Path("sent.txt").open("a") as file:
        file.write(prompt + "\\n====\\n")
    return Image.effect_noise((64, 64), 30).convert("RGB")
"""


def test_every_way_in_has_the_same_style(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    Path("lab.py").write_text(_PAINTER)
    models: list[ImageModel] = [CallableModel(lambda prompt: None), Speckles()]
    models += [
        open_image_model(name) for name in ("openai/gpt-image-1", "python/lab.py:paint", "command/true {prompt}")
    ]
    assert {default_style("knolling", model) for model in models} == {"long"}
    assert {default_style("natural", model) for model in models} == {"none"}
    Path("images").mkdir()
    Image.effect_noise((64, 64), 30).save("images/0.png")
    for model in (open_image_model("folder/images"), open_image_model("builtin/reader")):
        assert default_style("knolling", model) == "none"  # nothing is sent; it knows one style only


def test_the_command_line_and_python_send_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(_PAINTER)
    asked = ("run", "knolling", "--model", "python/lab.py:paint", "--levels", "1", "--per-level", "1", "--size", "64")
    _, _, err = command(*asked, "--judge", "builtin/icons", cwd=tmp_path)
    assert "python/lab.py:paint: the long style text goes before each prompt (--style none sends" in err
    _, _, err = command(*asked, "--judge", "builtin/icons", "--style", "none", "--out", "other", cwd=tmp_path)
    assert "style text" not in err
    by_command = (tmp_path / "sent.txt").read_text().split("\n====\n")

    got: list[str] = []

    def paint(prompt: str) -> Image.Image:
        got.append(prompt)
        return Image.effect_noise((64, 64), 30).convert("RGB")

    def sent(number: int, **options: Any) -> str:
        done = formalimg.evaluate(
            paint, judge=lambda image, item: True, levels=[1], per_level=1, size=64, folder=tmp_path / str(number),
            progress=False, **options,
        )  # fmt: skip
        assert done.run.manifest.style == ("long" if len(got[-1]) > 1000 else "none")
        return got[-1]

    assert sent(1) == by_command[0]
    assert sent(2, style="none") == by_command[1] == formalimg.load("knolling")[0].prompt
    assert sent(3, condition=Condition()) == by_command[0]  # as --condition plain
    assert sent(4, condition=Condition(style="long"), style="none") == by_command[1]


def test_a_style_for_models_that_read_few_words(tmp_path: Path) -> None:
    done = formalimg.run(
        items=small_items(1),
        model=Speckles(),
        judge=lambda image, item: True,
        style="short",
        folder=tmp_path / "run",
        progress=False,
    )
    assert (done.run.manifest.style, done.run.manifest.prompts) == ("short", "style_short (version 1)")
