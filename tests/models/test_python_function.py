"""Python functions as image models."""

from __future__ import annotations

import asyncio
import functools
import io
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.python_function import CallableModel, open_python_function
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


_REQUESTS = [ImageRequest(str(number), 0, f"words {number}", 100 + number, 32) for number in range(3)]
_IMAGE = Image.radial_gradient("L").resize((32, 32)).convert("RGB")


def _answers(model: ImageModel, requests: Sequence[ImageRequest] = _REQUESTS) -> list[ImageResult]:
    async def gather() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(gather())


def _same_pixels(answer: ImageResult) -> bool:
    assert isinstance(answer, Generated)
    with Image.open(io.BytesIO(answer.data)) as image:
        return image.format == "PNG" and image.tobytes() == _IMAGE.tobytes()


def test_bytes_and_paths_are_given_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"as it is")
    for given in (
        b"as it is",
        bytearray(b"as it is"),
        memoryview(b"as it is"),
        tmp_path / "a.jpg",
        str(tmp_path / "a.jpg"),
    ):
        assert _answers(CallableModel(lambda prompt, given=given: given)) == [Generated(b"as it is")] * 3


def test_arrays_and_lists_of_one_image_are_images() -> None:
    pixels = np.asarray(_IMAGE)
    for given in ([_IMAGE], (pixels,), pixels, pixels[None], np.float32(pixels / 255), pixels.transpose(2, 0, 1)):
        assert all(map(_same_pixels, _answers(CallableModel(lambda prompt, given=given: given))))
    batch = CallableModel(lambda prompts: np.stack([pixels] * len(prompts)), batch=3)
    assert all(map(_same_pixels, _answers(batch)))


def test_anything_else_is_an_error() -> None:
    with pytest.raises(ValueError, match="an image cannot be of the type int: give bytes, a path, a PIL image or an"):
        _answers(CallableModel(lambda prompt: 5))
    with pytest.raises(ValueError, match="2 images came back for one prompt: return one"):
        _answers(CallableModel(lambda prompt: [b"", b""]))


def _functions(noted: list[Any]) -> dict[str, tuple[Callable[..., Any], Any]]:
    def words(prompt: str) -> bytes:
        noted.append(prompt)
        return b""

    def seeded(prompt: str, seed: int) -> bytes:
        noted.append((prompt, seed))
        return b""

    def sized(text: str, *, size: int, other: int = 3) -> bytes:
        noted.append((text, size, other))
        return b""

    def everything(prompt: str, **wishes: int) -> bytes:
        noted.append((prompt, wishes))
        return b""

    async def waiting(prompt: str, seed: int) -> bytes:
        await asyncio.sleep(0)
        noted.append((prompt, seed))
        return b""

    return {
        "words": (words, "words 0"),
        "seeded": (seeded, ("words 0", 100)),
        "sized": (sized, ("words 0", 32, 3)),
        "everything": (everything, ("words 0", {"seed": 100, "size": 32})),
        "async": (waiting, ("words 0", 100)),
        "async partial": (functools.partial(waiting), ("words 0", 100)),
        "partial": (functools.partial(sized, other=4), ("words 0", 32, 4)),
    }


@pytest.mark.parametrize("case", _functions([]))
def test_a_function_is_given_what_it_has_parameters_for(case: str) -> None:
    noted: list[Any] = []
    function, expected = _functions(noted)[case]
    _answers(CallableModel(function))
    assert noted[0] == expected
    assert len(noted) == 3


def test_a_batch_is_given_lists() -> None:
    def batched(prompts: list[str], seed: list[int], size: int) -> list[bytes]:
        return [f"{prompt} {one} {size}".encode() for prompt, one in zip(prompts, seed, strict=True)]

    answers = _answers(CallableModel(batched, batch=4))
    assert answers == [Generated(f"words {number} {100 + number} 32".encode()) for number in range(3)]


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_batch_of_the_wrong_length_is_an_error(count: int) -> None:
    with pytest.raises(ValueError, match=f"3 prompts were given, but {count} images came back"):
        _answers(CallableModel(lambda prompts: [b""] * count, batch=4))


def test_a_plain_function_does_not_hold_up_the_loop() -> None:
    threads = set()
    _answers(CallableModel(lambda prompt: threads.add(threading.current_thread())))
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("asynchronous", [True, False])
def test_objects_that_can_be_called_are_functions(asynchronous: bool) -> None:
    class Plain:
        def __call__(self, prompt: str) -> bytes:
            return prompt.encode()

    class Waiting:
        async def __call__(self, prompt: str) -> bytes:
            return prompt.encode()

    model = CallableModel(Waiting() if asynchronous else Plain())
    assert _answers(model)[0] == Generated(b"words 0")
    assert model.name == ("python/Waiting" if asynchronous else "python/Plain")


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(FormalimgError, match="'sd' is not callable"):
        CallableModel("sd")  # type: ignore[arg-type]
