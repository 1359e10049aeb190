"""What can be asked of a local pipeline, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import io
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult, Refused
from formalimg.models.local.diffusers_model import DiffusersModel, open_diffusers
from tests_local.tiny.pipelines import save_tiny_lora, save_tiny_sd, strict_safety_checker

torch = pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

REQUEST = ImageRequest("1", 0, "a red cup", 7, 64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_sd(tmp_path_factory.mktemp("sd"))


def image(model: DiffusersModel, request: ImageRequest = REQUEST) -> bytes:
    (answer,) = answers(model, request)
    assert isinstance(answer, Generated), answer
    return answer.data


def answers(model: DiffusersModel, *requests: ImageRequest) -> list[ImageResult]:
    async def collected() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(collected())


def opened(folder: Path, **options: str) -> DiffusersModel:
    return open_diffusers(str(folder), {"steps": "2", **options})


@pytest.mark.parametrize(
    "option", [{"guidance": "1.5"}, {"steps": "3"}, {"negative_prompt": "a pen"}, {"call.eta": "1.0"}]
)
def test_each_wish_shapes_the_image_and_is_a_setting(folder: Path, option: dict[str, str]) -> None:
    plain, other = opened(folder), opened(folder, **option)
    assert image(plain) != image(other)
    assert plain.settings != other.settings
    assert set(option) <= set(other.settings)


@pytest.mark.parametrize(
    "option", [{"batch": "4"}, {"attention_slicing": "on"}, {"device": "cpu"}, {"offload": "none"}]
)
def test_what_only_saves_time_or_memory_is_no_setting(folder: Path, option: dict[str, str]) -> None:
    assert opened(folder).settings == opened(folder, **option).settings


def test_weights_that_were_written_over_are_another_model(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(folder, tmp_path / "copy")
    before = opened(copy).settings
    assert before == opened(folder).settings
    file = copy / "unet" / "diffusion_pytorch_model.safetensors"
    weights = load_file(file)
    save_file({name: weight * 1.01 for name, weight in weights.items()}, file)
    assert opened(copy).settings != before


def test_a_lora_is_added_to_the_weights(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    lora = save_tiny_lora(folder, tmp_path / "lora")
    file = next(lora.glob("*.safetensors"))
    plain, whole = image(opened(folder)), image(opened(folder, lora=str(lora)))
    assert plain != whole
    assert image(opened(folder, lora=str(file))) == whole
    assert image(opened(folder, lora=str(lora), lora_scale="0")) == plain
    assert "lora_weights" in opened(folder, lora=str(lora)).settings


def test_images_that_the_safety_checker_blacks_out_are_refused(tmp_path: Path) -> None:
    checked = save_tiny_sd(tmp_path, strict_safety_checker())
    (answer,) = answers(opened(checked), REQUEST)
    assert isinstance(answer, Refused)
    assert "safety checker" in answer.reason


def test_a_pipeline_of_words_says_that_it_takes_no_images(folder: Path) -> None:
    model = opened(folder)
    assert not model.takes_images
    with_image = ImageRequest("1", 0, "a red cup", 7, 64, reference=_png("red"))
    without, failed = answers(model, REQUEST, with_image)
    assert isinstance(without, Generated)
    assert isinstance(failed, Failed)
    assert "takes text only" in failed.reason


def test_image_to_image_goes_by_the_reference(folder: Path) -> None:
    model = opened(folder, task="image-to-image", steps="4", **{"call.strength": "0.5"})
    assert model.takes_images
    requests = [ImageRequest("1", 0, "a red cup", 7, 64, reference=_png(color)) for color in ("red", "blue")]
    red, blue = answers(model, *requests)
    assert isinstance(red, Generated)
    assert isinstance(blue, Generated)
    assert red.served["pipeline"] == "StableDiffusionImg2ImgPipeline"
    assert red.data != blue.data


def test_a_batch_that_does_not_fit_into_memory_is_made_in_halves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import StableDiffusionPipeline

    requests = [ImageRequest(str(number), 0, f"{number} cups", number, 64) for number in range(5)]
    roomy = answers(opened(folder, batch="5"), *requests)
    sizes: list[int] = []
    encode = StableDiffusionPipeline.encode_prompt

    def in_little_memory(self: Any, prompt: list[str], *more: Any, **named: Any) -> Any:
        sizes.append(len(prompt))
        if len(prompt) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return encode(self, prompt, *more, **named)

    monkeypatch.setattr(StableDiffusionPipeline, "encode_prompt", in_little_memory)
    model = opened(folder, batch="5")
    tight = answers(model, *requests)
    assert sizes == [5, 2, 2, 1]
    assert [type(answer) for answer in tight] == [type(answer) for answer in roomy] == [Generated] * 5
    answers(model, *requests)
    assert sizes[4:] == [2, 2, 1], "what was learned is kept in mind"


def test_an_image_for_which_there_is_no_memory_at_all_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from diffusers import StableDiffusionPipeline

    def without_memory(*given: Any, **named: Any) -> Any:
        raise RuntimeError("MPS backend out of memory")

    monkeypatch.setattr(StableDiffusionPipeline, "encode_prompt", without_memory)
    for answer in answers(opened(folder, batch="2"), REQUEST, REQUEST):
        assert isinstance(answer, Failed)
        assert "out of memory" in answer.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stepz": "3"}, "did you mean steps"),
        ({"steps": "0"}, "steps"),
        ({"dtype": "fp8"}, "bf16"),
        ({"device": "abacus"}, "device=abacus"),
        ({"size": "huge"}, "size"),
        ({"lora_scale": "1"}, "needs a lora"),
        ({"call.guidance_scale": "1"}, "give guidance="),
        ({"api_key": "secret-secret"}, "environment"),
    ],
)
def test_wrong_options_are_noticed_at_once(folder: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_diffusers(str(folder), options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"call.flavour": "1"}, "cannot be given flavour"),
        ({"call.generator": "1"}, "cannot be given generator"),
        ({"offload": "model"}, "offload"),
        ({"lora": "nobody/nothing"}, "cannot be loaded"),
    ],
)
def test_what_the_pipeline_cannot_do_ends_the_run(folder: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        image(open_diffusers(str(folder), options))


def test_a_hub_that_cannot_be_reached_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its errors are no OSErrors. Where it can be reached, it does not know this name."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(FormalimgError, match="cannot be loaded"):
        image(open_diffusers(str(folder), {"lora": "nobody/nothing-at-all"}))


def test_there_must_be_a_model(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="no folder"):
        open_diffusers(str(tmp_path / "nowhere"), {})
    with pytest.raises(FormalimgError, match="cannot be loaded"):
        image(open_diffusers(str(tmp_path), {}))
    with pytest.raises(FormalimgError, match="cannot be loaded"):
        image(open_diffusers("nobody/nothing", {"offline": "on"}))


def _png(color: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (100, 100), color).save(file, "PNG")
    return file.getvalue()
