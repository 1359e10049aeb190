"""Several devices in one process, and batches that find their own size: the same images, only sooner."""

from __future__ import annotations

import asyncio
import gc
import io
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.support.models import small_items
from tests.support.run_contents import contents, order, until

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.models.local import device_pool, diffusers_model, diffusers_pipeline
from formalimg.models.local.device_pool import AdaptiveBatcher, CudaMemoryGauge, exclusive_loading, inference_allowed
from formalimg.models.local.diffusers_model import DiffusersModel, open_diffusers
from formalimg.models.local.diffusers_pipeline import LoadedPipeline
from formalimg.runs.execution import execute
from tests_local.tiny.pipelines import save_tiny_sd

# Before torch computes anything: virtual machines name instructions for short numbers that they cannot execute.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

torch = pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

REQUESTS = [ImageRequest(str(number), 0, f"{number} cups", number, 64) for number in range(11)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_sd(tmp_path_factory.mktemp("sd"))


@pytest.fixture(scope="module")
def one_by_one(folder: Path) -> list[ImageResult]:
    return images(opened(folder), [[request] for request in REQUESTS])


def opened(folder: Path, **options: str) -> DiffusersModel:
    return open_diffusers(str(folder), {"steps": "2", **options})


def images(model: DiffusersModel, calls: Sequence[Sequence[ImageRequest]]) -> list[ImageResult]:
    """The answers to calls that are all made at the same time."""

    async def collected(requests: Sequence[ImageRequest]) -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    async def together() -> list[ImageResult]:
        return [answer for answers in await asyncio.gather(*map(collected, calls)) for answer in answers]

    return asyncio.run(together())


def same(some: Sequence[ImageResult], others: Sequence[ImageResult]) -> bool:
    """Up to the rounding that differs between batches of different sizes."""
    assert len(some) == len(others)
    return all(np.abs(_pixels(one) - _pixels(other)).max() <= 2 for one, other in zip(some, others, strict=True))


def test_two_devices_work_at_the_same_time_and_make_the_run_that_one_makes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute(order(opened(folder, batch="2"), small_items(9)), tmp_path / "one")
    both = threading.Barrier(2, timeout=30)
    seen: dict[str, set[int]] = defaultdict(set)
    paint = LoadedPipeline.generate

    def when_both_are_there(self: LoadedPipeline, requests: Sequence[ImageRequest]) -> Any:
        thread = threading.current_thread().name
        if thread not in seen:
            seen[thread].add(id(self))
            both.wait()
        seen[thread].add(id(self))
        return paint(self, requests)

    monkeypatch.setattr(LoadedPipeline, "generate", when_both_are_there)
    model = opened(folder, batch="2", devices="cpu,cpu")
    assert (model.batch, model.concurrency) == (2, 4)
    progress = execute(order(model, small_items(9)), tmp_path / "two")
    assert progress.made == 9
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert [len(painters) for painters in seen.values()] == [1, 1], "each thread has a painter of its own"
    assert len(set().union(*seen.values())) == 2


def test_a_device_whose_memory_is_small_does_not_hold_up_the_other(
    folder: Path, one_by_one: list[ImageResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import StableDiffusionPipeline

    both = threading.Barrier(2, timeout=30)
    sizes: dict[int, list[int]] = {}
    encode = StableDiffusionPipeline.encode_prompt

    def one_is_small(self: Any, prompt: list[str], *more: Any, **named: Any) -> Any:
        if id(self) not in sizes:
            sizes[id(self)] = []
            both.wait()
        sizes[id(self)].append(len(prompt))
        if id(self) == next(iter(sizes)) and len(prompt) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return encode(self, prompt, *more, **named)

    monkeypatch.setattr(StableDiffusionPipeline, "encode_prompt", one_is_small)
    model = opened(folder, batch="4", devices="cpu,cpu")
    made = images(model, [REQUESTS[:4], REQUESTS[4:8], REQUESTS[8:]])
    assert same(made, one_by_one)
    small, large = sizes.values()
    assert small[:6] == [4, 2, 1, 1, 1, 1]
    assert {*small[6:]} <= {1}, "should it be the first to be free again"
    assert 4 in large
    assert 1 not in large


def test_on_a_processor_an_automatic_batch_is_one_image(folder: Path, one_by_one: list[ImageResult]) -> None:
    model = opened(folder, batch="auto")
    assert (model.batch, model.concurrency) == (1, 2)
    assert images(model, [REQUESTS]) == one_by_one, "to the last byte"
    assert model.batch == 1


class _Memory(CudaMemoryGauge):
    """A device on which each image takes 10 of 60, or of what it is said to have."""

    def __init__(self, size: list[int], free: int) -> None:
        super().__init__("cpu")
        self._sizes, self._free = size, free

    def begin(self) -> None:
        pass

    def taken(self) -> int:
        return 10 * self._sizes[-1]


@pytest.mark.parametrize(
    ("free", "holds", "batch", "expected"),
    [
        (60, 99, 4, [1, 4, 4, 2]),  # four are 40 of 48; eight would be too many
        (1000, 99, 8, [1, 8, 2]),  # never more than the limit
        (12, 99, 1, [1] * 11),
        (1000, 5, 4, [1, 8, 4, 4, 2]),  # it was measured wrong: no image is lost, and eight are not tried again
    ],
)
def test_an_automatic_batch_is_the_largest_power_of_two_that_fits(
    folder: Path,
    one_by_one: list[ImageResult],
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    holds: int,
    batch: int,
    expected: list[int],
) -> None:
    from diffusers import StableDiffusionPipeline

    sizes: list[int] = []
    encode = StableDiffusionPipeline.encode_prompt

    def recorded(self: Any, prompt: list[str], *more: Any, **named: Any) -> Any:
        sizes.append(len(prompt))
        if len(prompt) > holds:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return encode(self, prompt, *more, **named)

    monkeypatch.setattr(StableDiffusionPipeline, "encode_prompt", recorded)
    measured = AdaptiveBatcher(1, gauge=_Memory(sizes, free), limit=8)
    monkeypatch.setattr(diffusers_model, "_create_batcher", lambda *given: measured)
    model = opened(folder, batch="auto")
    assert same(images(model, [REQUESTS]), one_by_one)
    assert sizes == expected
    assert model.batch == batch


@pytest.mark.parametrize("option", [{"devices": "cpu,cpu"}, {"devices": "cpu"}, {"devices": "all"}, {"batch": "auto"}])
def test_where_and_how_many_at_once_is_no_setting(folder: Path, option: dict[str, str]) -> None:
    if option["devices" if "devices" in option else "batch"] == "all" and torch.accelerator.is_available():
        pytest.skip("here all devices are accelerators, on which other numbers are quick")
    assert opened(folder).settings == opened(folder, **option).settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": "cpu,abacus"}, "devices=abacus cannot be used"),
        ({"devices": "cpu,"}, "devices= cannot be used"),
        ({"devices": "cpu,meta"}, "different kinds"),
        ({"devices": "cpu", "device": "cpu"}, "give one of them"),
        ({"batch": "many"}, "batch='many'"),
        ({"batch": "0"}, "batch='0'"),
    ],
)
def test_wrong_devices_and_batches_are_noticed_at_once(folder: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        opened(folder, **options)


def test_numbers_are_those_of_accelerators(folder: Path) -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator here")
    with pytest.raises(FormalimgError, match="devices=0,1 cannot be used here, since there is no accelerator"):
        opened(folder, devices="0,1")


def test_files_are_written_while_the_next_images_are_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    next_is_being_made = threading.Event()
    paint, as_answer = LoadedPipeline.generate, diffusers_pipeline._encode_result

    def telling(self: LoadedPipeline, requests: Sequence[ImageRequest]) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            next_is_being_made.set()
        return paint(self, requests)

    def late(made: Any) -> ImageResult:
        assert next_is_being_made.wait(30), "the next image waits for the file of the one before"
        return as_answer(made)

    monkeypatch.setattr(LoadedPipeline, "generate", telling)
    monkeypatch.setattr(diffusers_pipeline, "_encode_result", late)
    assert len(images(opened(folder), [REQUESTS[:1], REQUESTS[1:2]])) == 2


def test_what_nobody_needs_any_more_leaves_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    painters: list[weakref.ref[LoadedPipeline]] = []
    load = LoadedPipeline.__init__

    def recorded(self: LoadedPipeline, *given: Any) -> None:
        load(self, *given)
        painters.append(weakref.ref(self))

    monkeypatch.setattr(LoadedPipeline, "__init__", recorded)
    model = opened(folder)
    assert len(images(model, [REQUESTS[:1]])) == 1
    assert [painter() is None for painter in painters] == [False]
    del model
    until(lambda: gc.collect() >= 0 and painters[0]() is None)


def test_nothing_is_computed_while_something_is_loaded() -> None:
    done: list[str] = []
    began, may_end = threading.Event(), threading.Event()

    def compute() -> None:
        with inference_allowed():
            began.set()
            assert may_end.wait(20)
            done.append("computed")

    def load() -> None:
        with exclusive_loading():
            done.append("loaded")

    def compute_later() -> None:
        with inference_allowed():
            done.append("computed later")

    first = threading.Thread(target=compute)
    first.start()
    assert began.wait(20)
    others = [threading.Thread(target=load)]
    others[0].start()
    until(lambda: device_pool._loading == 1)
    others.append(threading.Thread(target=compute_later))
    others[1].start()
    others[1].join(0.1)  # a moment in which it would have gone on if it could
    assert done == []
    may_end.set()
    for thread in (first, *others):
        thread.join(20)
    assert done == ["computed", "loaded", "computed later"]


def test_short_numbers_make_nearly_the_same_images(folder: Path, one_by_one: list[ImageResult]) -> None:
    made = images(opened(folder, batch="2", dtype="bf16"), [REQUESTS[:2]])
    for one, other in zip(made, one_by_one, strict=False):
        assert isinstance(one, Generated)
        assert one.served["dtype"] == "bfloat16"
        assert 0 < np.abs(_pixels(one) - _pixels(other)).mean() < 4


def test_compiled_models_make_the_same_images_on_both_devices(
    folder: Path, one_by_one: list[ImageResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = []
    compile_module = torch.nn.Module.compile

    def without_a_c_compiler(self: Any) -> None:  # which would take a minute or two
        compiled.append(self)
        compile_module(self, backend="eager")

    monkeypatch.setattr(torch.nn.Module, "compile", without_a_c_compiler)
    made = images(opened(folder, compile="on", devices="cpu,cpu"), [[request] for request in REQUESTS[:4]])
    assert same(made, one_by_one[:4])
    assert 1 <= len(compiled) <= 2


def _pixels(answer: ImageResult) -> Any:
    assert isinstance(answer, Generated), answer
    return np.asarray(Image.open(io.BytesIO(answer.data)), dtype=float)
