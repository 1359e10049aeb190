"""`python/…`: a function of the user's, found by its name."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.python_function import open_python_function
from formalimg.types import ImageModel

_REQUEST = ImageRequest("0", 0, "a cup", 7, 64)
_FILE = """
from my_neighbour import mark

def paint(prompt, seed, steps: int = 4, style="plain", fast=False):
    return f"{mark} {prompt} {seed} {steps!r} {style!r} {fast!r}".encode()

def paint_many(prompts):
    return [prompt.encode() for prompt in prompts]

def anything(prompt, **wishes):
    return repr(sorted(wishes.items())).encode()

class Lab:
    @staticmethod
    async def paint(prompt, steps):
        return f"{prompt} {steps}".encode()

number = 3
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("my_neighbour", "my_models"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    Path("deep").mkdir()
    for folder in ("deep", "."):
        Path(folder, "my_neighbour.py").write_text("mark = 'ours'")
    Path("deep/my models.py").write_text(_FILE)
    Path("my_models.py").write_text(_FILE)
    Path("my_broken.py").write_text("import a_package_that_is_not_there")


def _painted(model: ImageModel) -> bytes:
    async def gather() -> list[ImageResult]:
        return [answer async for answer in model.generate([_REQUEST])]

    (answer,) = asyncio.run(gather())
    assert isinstance(answer, Generated)
    return answer.data


@pytest.mark.parametrize("where", ["deep/my models.py", "my_models.py", "my_models"])
def test_a_function_is_found_in_a_file_or_module(where: str) -> None:
    model = open_python_function(f"{where}:paint", {})
    assert model.name == f"python/{where}:paint"
    assert _painted(model) == b"ours a cup 7 4 'plain' False"


def test_options_are_given_to_the_function_and_recorded() -> None:
    model = open_python_function("my_models:paint", {"steps": "30", "style": "oil", "fast": "true", "concurrency": "3"})
    assert _painted(model) == b"ours a cup 7 30 'oil' True"
    assert {name: model.settings[name] for name in ("steps", "style", "fast")} == {
        "steps": 30,
        "style": "oil",
        "fast": True,
    }
    assert "concurrency" not in model.settings
    assert model.concurrency == 3


def test_methods_and_async_functions_and_batches() -> None:
    assert _painted(open_python_function("my_models:Lab.paint", {"steps": "2.5"})) == b"a cup 2.5"
    batched = open_python_function("my_models:paint_many", {"batch": "8"})
    assert (batched.batch, _painted(batched)) == (8, b"a cup")
    assert _painted(open_python_function("my_models:anything", {"x": "1"})) == b"[('seed', 7), ('size', 64), ('x', 1)]"


def test_another_version_of_the_file_is_another_model() -> None:
    before = open_python_function("my_models.py:paint", {}).settings
    assert before == open_python_function("deep/my models.py:paint", {}).settings
    Path("my_models.py").write_text(_FILE + "\n# changed")
    assert open_python_function("my_models.py:paint", {}).settings != before


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("my_models", {}, "write python/module:function"),
        (":paint", {}, "write python/module:function"),
        ("my_models:", {}, "write python/module:function"),
        ("nowhere.py:paint", {}, "there is no file nowhere.py"),
        ("no_such_module:paint", {}, "there is no module no_such_module"),
        ("my_models.inside:paint", {}, "there is no module my_models.inside"),
        (".x:paint", {}, "is not the name of a module"),
        ("my_models:print_it", {}, "names no function: it has no callable print_it"),
        ("my_models:number", {}, "names no function"),
        (
            "my_models:paint",
            {"step": "3"},
            "no option 'step': did you mean steps? it has batch, concurrency, steps, style, fast",
        ),
        ("my_models:paint", {"seed": "3"}, "no option 'seed'"),
        ("my_models:paint", {"batch": "0"}, "whole number, 1 or more"),
    ],
)
def test_mistakes_say_what_is_right(model: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(FormalimgError) as caught:
        open_python_function(model, options)
    assert reason in str(caught.value)


def test_errors_in_the_users_own_code_keep_their_traceback() -> None:
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        open_python_function("my_broken:paint", {})
