"""The built-in models keep the contract of image models, and say what is wrong with a name or an option."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.builtin.baselines import BASELINES, open_baseline
from formalimg.types import ImageModel
from tests.models_builtin.knolling import knolling

PROMPT = "There is a red cup to the left of a pen."


def _answers(model: ImageModel, *requests: ImageRequest) -> list[ImageResult]:
    async def gather() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(gather())


@pytest.mark.parametrize("name", BASELINES)
def test_a_model_says_what_it_is(name: str) -> None:
    model = open_baseline(name, {})
    assert model.name == f"builtin/{name}"
    assert model.settings["version"] == 1
    assert (model.batch, model.concurrency, model.sees_spec) == (1, os.cpu_count() or 1, name == "oracle")


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "painter"])
def test_the_same_request_gives_the_same_bytes(name: str) -> None:
    item = knolling()[900]
    request = ImageRequest(item.id, 1, item.prompt, 11, 256, item.spec)
    first, second = _answers(open_baseline(name, {}), request, request)
    [third] = _answers(open_baseline(name, {}), request)
    assert isinstance(first, Generated)
    assert first == second == third
    assert first.served == {"size": 256}
    with Image.open(io.BytesIO(first.data)) as image:
        assert (image.format, image.size, image.info) == ("PNG", (256, 256), {})


@pytest.mark.parametrize("name", ["reader", "scatter"])
def test_models_that_read_see_only_words_and_seed(name: str) -> None:
    item = knolling()[900]
    plain = ImageRequest("x", 0, item.prompt, 3, 200)
    with_spec = ImageRequest(item.id, 4, item.prompt, 3, 200, item.spec)
    assert _answers(open_baseline(name, {}), plain) == _answers(open_baseline(name, {}), with_spec)
    assert _answers(open_baseline(name, {}), plain) != _answers(
        open_baseline(name, {}), ImageRequest("x", 0, item.prompt, 4, 200)
    )


@pytest.mark.parametrize("name", ["reader", "scatter"])
def test_answers_come_in_the_order_of_requests(name: str) -> None:
    requests = [
        ImageRequest("1", 0, PROMPT, 0, 100),
        ImageRequest("2", 0, "a cat on a sofa", 0, 100),
        ImageRequest("3", 0, PROMPT, 0, 16),
    ]
    drawn, refused, failed = _answers(open_baseline(name, {}), *requests)
    assert isinstance(drawn, Generated)
    assert refused == Refused("the prompt names nothing that can be drawn")
    assert isinstance(failed, Failed)
    assert "16 pixels" in failed.reason


def test_the_readers_memory_is_an_option_and_a_setting() -> None:
    short = open_baseline("reader", {"memory": "3"})
    assert short.settings == {"version": 1, "memory": 3}
    requests = [ImageRequest(item.id, 0, item.prompt, 0, 100) for item in knolling()[1800:1804]]
    assert _answers(short, *requests) != _answers(open_baseline("reader", {}), *requests)


@pytest.mark.parametrize("name", ["poet", "", "oracle/2"])
def test_an_unknown_name_is_told_with_the_known_ones(name: str) -> None:
    with pytest.raises(FormalimgError, match="builtin/oracle, builtin/painter, builtin/reader, builtin/scatter"):
        open_baseline(name, {})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("oracle", {"memory": "3"}, "builtin/oracle has no option 'memory': it has none"),
        ("scatter", {"steps": "3"}, "has no option 'steps'"),
        ("reader", {"memori": "3"}, "has no option 'memori': it has memory"),
        ("reader", {"memory": "0"}, "whole number from 1"),
        ("reader", {"memory": "many"}, "whole number from 1"),
        ("reader", {"memory": "-3"}, "whole number from 1"),
        ("reader", {"memory": "²"}, "whole number from 1"),
        ("reader", {"memory": "9" * 5000}, "whole number from 1"),
    ],
)
def test_a_wrong_option_is_told(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_baseline(name, options)


def test_opening_the_door_loads_nothing_heavy() -> None:
    heavy = ["numpy", "PIL", "ortools", "resvg_py"]
    code = f"import sys, formalimg.models.builtin; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
