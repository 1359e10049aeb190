"""Open-vocabulary detectors as grounders: with random weights they find noise, but always on the canvas."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.support.models import small_items
from tests.support.run_contents import order

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.grounders.detector import DetectorGrounder, open_detector
from formalimg.judges.scene_judge import SceneJudge
from formalimg.models.builtin.baselines import open_baseline
from formalimg.runs.execution import execute
from formalimg.scenes.objects import CANVAS
from tests_local.tiny.detectors import TINY_DETECTORS

torch = pytest.importorskip("torch", reason="needs the libraries of local models: pip install 'formalimg[local]'")
pytest.importorskip("transformers", reason="needs the libraries of local models: pip install 'formalimg[local]'")

CLASSES = ("cup", "game_controller", "pen")


@pytest.fixture(scope="module", params=list(TINY_DETECTORS))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return TINY_DETECTORS[request.param](tmp_path_factory.mktemp("models") / request.param)


@pytest.mark.parametrize("size", [(64, 64), (90, 40), (40, 90)])
def test_whatever_is_found_lies_on_the_canvas_and_is_of_a_class(folder: Path, size: tuple[int, int]) -> None:
    grounder = open_detector(str(folder), {"threshold": "0", "overlap": "0.95"})
    image = Image.effect_noise(size, 90).convert("RGB")
    found, again = (grounded(grounder, image) for _ in range(2))
    assert found == again
    assert found.scene.objects or found.evidence["dropped"], "what lies in the padding is dropped"
    for obj in found.scene.objects:
        assert obj.label in CLASSES
        assert 0 <= obj.box.xmin < obj.box.xmax <= CANVAS
        assert 0 <= obj.box.ymin < obj.box.ymax <= CANVAS
    json.dumps(found.evidence)
    assert len(found.evidence["found"]) == len(found.scene.objects)  # type: ignore[arg-type]


def test_nothing_is_found_above_the_highest_threshold(folder: Path) -> None:
    found = grounded(open_detector(str(folder), {"threshold": "1"}), Image.new("RGB", (64, 64), "gray"))
    assert not found.scene.objects


def test_it_judges_runs(folder: Path, tmp_path: Path) -> None:
    judge = SceneJudge(open_detector(str(folder), {"threshold": "0.5"}))
    progress = execute(order(open_baseline("oracle", {}), small_items(4), size=128), tmp_path, judge)
    assert (progress.made, progress.passed + progress.not_passed) == (4, 4)


@pytest.mark.parametrize(("size", "expected"), [((80, 40), (250, 500, 500, 1000)), ((40, 80), (500, 250, 1000, 500))])
def test_owlv2_looks_at_a_square_into_which_the_image_is_padded(
    tmp_path: Path, size: tuple[int, int], expected: tuple[float, ...]
) -> None:
    """A box from a quarter to a half of that square, which is as long as the image's longer side."""
    grounder = open_detector(str(TINY_DETECTORS["owlv2"](tmp_path / "owlv2")), {})
    image = Image.new("RGB", size, "red")
    grounded(grounder, image)
    answering(grounder, logits=[[-9.0, 9.0, -9.0]], box=(0.375, 0.375, 0.25, 0.25))
    (obj,) = grounded(grounder, image).scene.objects
    assert (obj.label, obj.color) == ("game_controller", "red")
    assert tuple(obj.box) == pytest.approx(expected, abs=0.1)


def test_grounding_dino_is_asked_for_one_class_at_a_time(tmp_path: Path) -> None:
    grounder = open_detector(str(TINY_DETECTORS["grounding-dino"](tmp_path / "grounding-dino")), {})
    image = Image.new("RGB", (80, 40), "blue")
    grounded(grounder, image)
    asked = answering(grounder, logits=[[9.0] + [-9.0] * 255], box=(0.375, 0.5, 0.25, 0.5))
    found = grounded(grounder, image)
    assert len(asked) == len(CLASSES)
    (obj,) = found.scene.objects
    assert (obj.label, obj.color) == ("cup", "blue"), "equally sure: the class that was asked for first"
    assert tuple(obj.box) == pytest.approx((250, 250, 500, 750), abs=0.1)
    assert len(found.evidence["dropped"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": "2"}, "threshold"),
        ({"query": "an object"}, "has no {class}"),
        ({"treshold": "0.2"}, "did you mean threshold"),
    ],
)
def test_wrong_options_are_noticed_at_once(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_detector(str(tmp_path), options)


def test_settings_tell_all_that_shapes_a_scene(tmp_path: Path) -> None:
    plain = open_detector(str(tmp_path), {}).settings
    for option in (
        {"threshold": "0.11"},
        {"overlap": "0.9"},
        {"query": "one {class}"},
        {"dtype": "fp16"},
    ):
        assert open_detector(str(tmp_path), option).settings != plain
    with pytest.raises(FormalimgError, match="cannot be loaded"):
        grounded(open_detector(str(tmp_path), {}), Image.new("RGB", (8, 8)))


def grounded(grounder: DetectorGrounder, image: Image.Image) -> Grounding:
    found = asyncio.run(grounder.ground(LoadedImage(b"", image), CLASSES))
    assert isinstance(found, Grounding), found
    return found


def answering(grounder: DetectorGrounder, logits: list[list[float]], box: tuple[float, ...]) -> list[Any]:
    """Let the loaded detector answer this from now on; gives back a list of all it is asked."""
    from transformers.modeling_outputs import ModelOutput

    class Answers(torch.nn.Module):  # type: ignore[misc,name-defined]
        device, dtype = torch.device("cpu"), torch.float32

        def forward(self, **given: Any) -> Any:
            asked.append(given)
            return ModelOutput(logits=torch.tensor([logits]), pred_boxes=torch.tensor([[box]]))

    asked: list[Any] = []
    assert grounder._detector is not None
    grounder._detector.model = Answers()
    return asked
