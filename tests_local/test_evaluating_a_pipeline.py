"""A pipeline of diffusers in Python goes to `evaluate` as it is, and so do functions that return what it returns."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import formalimg
from formalimg.errors import FormalimgError
from formalimg.reports.results.result import Evaluation
from tests_local.tiny.pipelines import save_tiny_sd

diffusers = pytest.importorskip(
    "diffusers", reason="needs the libraries of local models: pip install 'formalimg[local]'"
)

_ITEMS: dict[str, Any] = {"judge": "builtin/icons", "levels": [1], "per_level": 3, "size": 64, "progress": False}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return diffusers.DiffusionPipeline.from_pretrained(save_tiny_sd(tmp_path_factory.mktemp("sd")))


def _files(done: Evaluation) -> list[bytes]:
    return [path.read_bytes() for path in sorted(done.folder.rglob("*.png"))]


def test_a_pipeline_makes_the_same_images_one_by_one_and_in_batches(pipeline: Any, tmp_path: Path) -> None:
    steps = {"num_inference_steps": 2}
    single = formalimg.evaluate(pipeline, model_options=steps, folder=tmp_path / "a", **_ITEMS)
    again = formalimg.evaluate(functools.partial(pipeline, **steps), folder=tmp_path / "b", **_ITEMS)
    batch = formalimg.evaluate(pipeline, model_options=steps, batch=3, folder=tmp_path / "c", **_ITEMS)
    assert [done.progress.made for done in (single, again, batch)] == [3, 3, 3]
    assert len(set(_files(single))) == 3, "each image has a seed of its own"
    assert _files(single) == _files(again)
    assert single.run.manifest.model.name == "python/StableDiffusionPipeline"
    assert single.run.manifest.model.settings["num_inference_steps"] == 2
    assert not getattr(pipeline, "_progress_bar_config", {}).get("disable"), "the pipeline is the user's own"


def test_the_output_of_a_pipeline_is_an_image(pipeline: Any, tmp_path: Path) -> None:
    def generate(prompts: list[str], size: int) -> Any:
        return pipeline(prompts, num_inference_steps=1, height=size, width=size)

    done = formalimg.evaluate(generate, batch=3, folder=tmp_path / "run", **_ITEMS)
    assert done.progress.made == 3
    single = formalimg.evaluate(lambda prompt: generate([prompt], 64), folder=tmp_path / "single", **_ITEMS)
    assert single.progress.made == 3


def test_what_a_pipeline_does_not_take_is_refused_before_anything_is_written(pipeline: Any, tmp_path: Path) -> None:
    for options, message in (({"stepz": 2}, "cannot be given stepz"), ({"height": 64}, "told the size of images by")):
        with pytest.raises(FormalimgError, match=message):
            formalimg.evaluate(pipeline, model_options=options, folder=tmp_path / "run", **_ITEMS)
    assert not (tmp_path / "run").exists()
