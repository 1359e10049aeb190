"""Certificates of grounders measure what they say: right counts, honest about refusals, the same for the same seed."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.drawing.icon_scene import draw
from formalimg.errors import FormalimgError
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.boxes import MIN_OVERLAP, box_overlap, match_objects
from formalimg.judges.certificates.grounder_certificate import (
    CONDITIONS,
    Certificate,
    ConditionResult,
    certify,
    draw_impostors,
    random_scenes,
)
from formalimg.judges.grounders.icons import IconGrounder, ground_icons
from formalimg.scenes.objects import CANVAS, MIN_SIDE, Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Setting, Unscored
from tests.support.command import Result, formalimg
from tests.support.loopback import Fault, Loopback
from tests.support.remote_models import stand_alone
from tests.support.sizes import tries


class Flawed:
    """Reads drawings, and then does something to what it read."""

    name = "test/flawed"
    settings: Mapping[str, Setting] = {}
    concurrency = 2

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        answer = ground_icons(image.pil)
        if self.flaw == "silent":
            return Unscored("judge failed", "test/flawed did not answer")
        if self.flaw == "refuses" or isinstance(answer, Unscored):
            return Unscored("not understood")
        objects = answer.scene.objects
        if self.flaw == "colour-blind":
            objects = tuple(replace(obj, color="red" if obj.color == "blue" else "blue") for obj in objects)
        if self.flaw == "sees double":
            objects = objects * 2
        if self.flaw == "careless":
            objects = tuple(replace(obj, box=Box(*(edge + 50 for edge in obj.box))) for obj in objects)
        return Grounding(Scene.of(objects))


def _reading(flaw: str) -> ConditionResult:
    return certify(Flawed(flaw), scenes=2, seed=3, conditions=["clean"], others=0).results[0]


def test_the_grounder_for_drawings_passes() -> None:
    scenes = tries(1, 5)
    certificate = certify(IconGrounder(), scenes=scenes, seed=19, others=tries(3, 10))
    assert [reading.condition for reading in certificate.results] == list(CONDITIONS)
    for reading in certificate.results:
        assert (reading.images, reading.refused) == (scenes, 0)
        assert reading.shares["f1"] >= 0.97
        assert reading.shares["color_accuracy"] >= 0.98
    assert certificate.results[0].matched == certificate.results[0].objects == certificate.results[0].found
    assert certificate.impostors_refused == certificate.impostors == tries(3, 10)
    assert certificate.reaches(0.97)


def test_flaws_are_found_where_they_are() -> None:
    fine = _reading("none")
    assert set(fine.shares.values()) == {1}
    blind = _reading("colour-blind")
    assert blind.shares == {"precision": 1, "recall": 1, "f1": 1, "color_accuracy": 0}
    double = _reading("sees double")
    assert (double.shares["precision"], double.shares["recall"]) == (0.5, 1)
    assert double.shares["f1"] == pytest.approx(2 / 3)
    careless = _reading("careless")
    assert (careless.matched, set(careless.shares.values())) == (0, {0})


def test_what_is_refused_is_not_found() -> None:
    reading = _reading("refuses")
    assert (reading.refused, reading.images, reading.found, reading.shares["recall"]) == (2, 2, 0, 0)
    assert reading.objects > 0


class Narrow(Flawed):
    """Was trained on some classes, and refuses images if it is asked for others."""

    def unknown_classes(self, classes: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in classes if name > "h")

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        answer = await super().ground(image, classes)
        if self.unknown_classes(classes) or isinstance(answer, Unscored):
            return Unscored("not understood")
        return Grounding(Scene.of(obj for obj in answer.scene.objects if obj.label in classes))


def test_classes_that_a_grounder_does_not_know_are_not_counted() -> None:
    certificate = certify(Narrow("none"), scenes=3, seed=3, conditions=["clean"], others=0)
    (reading,) = certificate.results
    assert (reading.refused, reading.shares["precision"], reading.shares["recall"]) == (0, 1, 1)
    known = [obj for scene in random_scenes(3, 3) for obj in scene.objects if obj.label <= "h"]
    assert reading.objects == len(known) > 0
    assert "wrench" in certificate.unknown
    assert str(certificate).splitlines()[-1].startswith("classes it does not know, not counted: ")
    assert certificate.to_json()["unknown_classes"] == list(certificate.unknown)


@pytest.mark.parametrize(("flaw", "refused"), [("none", 3), ("silent", 0)])
def test_who_does_not_answer_has_refused_no_impostor(flaw: str, refused: int) -> None:
    assert certify(Flawed(flaw), scenes=1, conditions=["clean"], others=3).impostors_refused == refused


def test_a_certificate_asks_for_all_of_it() -> None:
    good = ConditionResult("clean", 10, 0, 100, 100, 99, 99)
    bad = ConditionResult("JPEG 60", 10, 5, 100, 40, 40, 40)
    assert Certificate("x", 10, 1, (good, bad), 5, 5).reaches(0.97)
    assert not Certificate("x", 10, 1, (good, bad), 5, 4).reaches(0.97)
    assert not Certificate("x", 10, 1, (replace(good, matched=96),), 5, 5).reaches(0.97)
    assert not Certificate("x", 10, 1, (replace(good, found=103),), 5, 5).reaches(0.97)


def test_a_certificate_is_told_as_a_table() -> None:
    reading = ConditionResult("clean", 10, 1, 100, 90, 81, 60)
    text = str(Certificate("test/one", 10, 4, (reading,), 5, 3))
    assert text.splitlines()[0] == "test/one: 10 scenes of 100 objects, seed 4, boxes at IoU 0.9"
    assert "clean                0.9000  0.8100  0.8526  0.7407  1 of 10" in text
    assert "published parser     0.967   0.978   0.972   0.954         –" in text
    assert text.endswith("images that are no drawings: 3 of 5 refused")


def test_the_same_seed_gives_the_same_scenes_and_impostors() -> None:
    assert list(random_scenes(5, seed=1)) == list(random_scenes(5, seed=1))
    assert list(random_scenes(5, seed=1)) != list(random_scenes(5, seed=2))
    assert list(random_scenes(3, seed=1)) == list(random_scenes(5, seed=1))[:3]
    one, other = ([image.tobytes() for _, image in draw_impostors(tries(4, 10), seed=1)] for _ in range(2))
    assert one == other


@given(st.integers(0, 10_000))
def test_random_scenes_can_be_read_in_principle(seed: int) -> None:
    (scene,) = random_scenes(1, seed)
    assert 1 <= len(scene) <= 25
    for obj in scene.objects:
        assert 0 <= min(obj.box) <= max(obj.box) <= CANVAS
        assert min(obj.box.xmax - obj.box.xmin, obj.box.ymax - obj.box.ymin) >= MIN_SIDE
    for one, other in itertools.combinations(scene.objects, 2):
        across = max(one.box.xmin, other.box.xmin) - min(one.box.xmax, other.box.xmax)
        down = max(one.box.ymin, other.box.ymin) - min(one.box.ymax, other.box.ymax)
        assert max(across, down) >= 20


def test_conditions_change_images_the_same_way_each_time() -> None:
    (scene,) = random_scenes(1, seed=1)
    image = draw(scene)
    for name, condition in CONDITIONS.items():
        assert condition(image, 1).tobytes() == condition(image, 1).tobytes()
        assert (condition(image, 1).tobytes() == image.tobytes()) == (name == "clean")


@pytest.mark.parametrize("wrong", [{"conditions": ["fog"]}, {"conditions": []}, {"scenes": 0}])
def test_what_cannot_be_certified_is_an_error(wrong: dict[str, object]) -> None:
    with pytest.raises(FormalimgError):
        certify(IconGrounder(), **wrong)  # type: ignore[arg-type]


BOXES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(90, 110), st.integers(90, 110)).map(
    lambda numbers: Box(numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3])
)
SCENES = st.lists(st.builds(SceneObject, st.sampled_from(["cup", "pen"]), BOXES), max_size=4).map(Scene.of)


@given(SCENES, SCENES)
def test_matches_are_pairs_of_the_same_class_that_overlap(truth: Scene, found: Scene) -> None:
    matches = match_objects(truth, found)
    assert len(matches) <= min(len(truth), len(found))
    assert all(one.label == other.label and _overlap_by_counting(one.box, other.box) >= 0.9 for one, other in matches)
    unmatched = list(truth.objects)
    left = list(found.objects)
    for one, other in matches:
        unmatched.remove(one)
        left.remove(other)
    assert not any(
        one.label == other.label and box_overlap(one.box, other.box) >= MIN_OVERLAP
        for one in unmatched
        for other in left
    )


def test_boxes_may_be_asked_to_be_the_same() -> None:
    (scene,) = random_scenes(1, seed=1)
    assert len(match_objects(scene, scene, 1)) == len(scene)
    moved = Scene.of([replace(obj, box=Box(*(edge + 0.01 for edge in obj.box))) for obj in scene.objects])
    assert match_objects(scene, moved, 1) == []


def _overlap_by_counting(one: Box, other: Box) -> float:
    cells = [
        {(x, y) for x in range(int(box.xmin), int(box.xmax)) for y in range(int(box.ymin), int(box.ymax))}
        for box in (one, other)
    ]
    return len(cells[0] & cells[1]) / len(cells[0] | cells[1])


def test_it_works_where_an_event_loop_is_running() -> None:
    async def notebook() -> Certificate:
        return certify(IconGrounder(), scenes=1, others=0)

    assert asyncio.run(notebook()).scenes == 1


# --- the command


def test_the_table_and_the_exit_code() -> None:
    result = formalimg("certify", "--scenes", "1", "--others", "2", "--require", "0.97")
    assert result.code == 0, result.err
    assert result.out.startswith("builtin/icons: 1 scene")
    assert "published parser" in result.out
    assert result.out.endswith("images that are no drawings: 2 of 2 refused\n")


def test_json() -> None:
    result = formalimg("certify", "builtin/icons", "--scenes", "1", "--others", "0", "--seed", "5", "--json")
    certificate = json.loads(result.out)
    assert (certificate["grounder"], certificate["scenes"], certificate["seed"]) == ("builtin/icons", 1, 5)
    assert certificate["readings"][0]["precision"] == 1


def test_an_unknown_grounder_is_the_users_mistake() -> None:
    result = formalimg("certify", "builtin/eyes")
    assert result.code == 2
    assert "builtin/icons" in result.err


# --- grounders that cost


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A world in which a call to openai/looker costs a cent, and everything it says is remembered."""
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/looker" = { input = 100.0, output = 0.0 }\n')
    return tmp_path


def _certify(server: Loopback, *more: str) -> Result:
    options = (f"base_url={server.url}/v1", "requests=all-at-once", "initial_backoff=0", "concurrency=1")
    given = [word for option in options for word in ("-J", option)]
    return formalimg("certify", "openai/looker", *given, "--scenes", "1", "--others", "0", *more)


def test_options_dry_run_and_cost(priced: Path) -> None:
    with Loopback(reply=lambda asked: '{"objects": []}') as server:
        dry = _certify(server, "--dry-run")
        assert (dry.code, server.requests) == (0, [])
        assert "images to look at          5" in dry.out
        assert "questions to ask           5  about $1.00" in dry.out
        done = _certify(server, "--budget", "1")
        assert len(server.requests) == 5  # all classes in one request, as the option says
    assert done.code == 0, done.err
    assert done.err.splitlines() == [
        "at most 5 images, 5 questions, about $1.00, under a minute at 5 s a question",
        "it cost $0.05",
    ]


def test_a_budget_stops_it_and_a_larger_one_goes_on(priced: Path) -> None:
    with Loopback(reply=lambda asked: '{"objects": []}') as server:
        done = _certify(server, "--budget", "0.03")
        assert (done.code, done.out) == (130, "")
        assert "the budget of $0.03 is used up after 3 images: repeat the command with a larger budget" in done.err
        assert len(server.requests) == 3
        assert _certify(server, "--budget", "1").code == 0
        assert len(server.requests) == 5


def test_a_budget_needs_a_price(priced: Path) -> None:
    (priced / "prices.toml").unlink()
    elsewhere = ("-J", "base_url=http://nowhere.invalid/v1")  # a server on this machine is free
    done = formalimg("certify", "openai/looker", *elsewhere, "--scenes", "1", "--budget", "1")
    assert done.code == 2
    assert "the price of openai/looker is unknown" in done.err


def test_a_grounder_that_never_answers_is_given_up(priced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.judges.certificates.measurement.MAX_FAILURES", 3)
    with Loopback(faults=lambda number: Fault("400")) as server:
        done = _certify(server)
        assert len(server.requests) == 3
    assert done.code == 2
    assert "openai/looker failed 3 times in a row; last error: " in done.err
