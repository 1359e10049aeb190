"""Oracle and scatter in the drawn worlds of Natural and ConceptMix."""

from __future__ import annotations

import subprocess
import sys

import pytest

from formalimg import load, parse
from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.formal.spec import NO_FORMULA, FormulaSpec, undrawable_because
from formalimg.drawing.scene import DrawnScene
from formalimg.drawing.signed_png import read_signed_png
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Failed, Generated, ImageRequest, Refused
from formalimg.models.builtin.baselines import _DRAWN_VERSION, Baseline, open_baseline
from formalimg.models.builtin.drawn_reader import compose_drawn_scatter
from formalimg.models.builtin.oracle import compose_drawn_solution
from formalimg.runs.plan import image_key
from formalimg.scenes.objects import CANVAS
from formalimg.types import Item
from tests.support.concept_items import CAT
from tests.support.sizes import tries

HOLDING = "A blue cat is to the left of two wooden chairs. A man holds an orange. This is a pixel art image."


def asked(prompt: str = HOLDING, suite: str = "natural", seed: int = 0, spec: object = None) -> ImageRequest:
    return ImageRequest("1", 0, prompt, seed, 128, spec, suite=suite)


def opened(name: str) -> Baseline:
    model = open_baseline(name, {})
    assert isinstance(model, Baseline)
    return model


def scattered(prompt: str = HOLDING, suite: str = "natural", seed: int = 0) -> DrawnScene:
    found = compose_drawn_scatter(asked(prompt, suite, seed))
    assert isinstance(found, DrawnScene), found
    return found


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_a_drawing_carries_the_scene_that_the_model_decided_on(suite: str) -> None:
    item = next(item for item in load(suite) if undrawable_because(item.spec) is None)
    request = ImageRequest(item.id, 0, item.prompt, 5, 256, item.spec, suite=suite)
    for name, compose in (("oracle", compose_drawn_solution), ("scatter", compose_drawn_scatter)):
        answer = opened(name).answer(request)
        assert isinstance(answer, Generated), answer
        drawn = compose(request)
        assert isinstance(drawn, DrawnScene)
        assert read_signed_png(answer.data).to_json() == drawn.to_json()
        assert opened(name).answer(request) == answer


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (FormulaSpec.of(parse("(and (IsStyle 'photo') (exists ?c (Is ?c 'cat')))")), "photo"),
        (
            FormulaSpec.of(
                parse("(exists ?a (exists ?b (and (Is ?a 'cat') (Is ?b 'dog') (LeftOf ?a ?b) (LeftOf ?b ?a))))")
            ),
            "",
        ),
        (FormulaSpec(NO_FORMULA, unreadable="(and"), "the published dsl is no formula"),
        (ConceptSpec((CAT,)), "does not assign the concepts to objects"),
    ],
)
def test_what_cannot_be_drawn_is_declined_with_the_reason(spec: object, reason: str) -> None:
    answer = opened("oracle").answer(asked(spec=spec))
    assert isinstance(answer, Refused)
    assert answer.reason.startswith("cannot be drawn: ")
    assert reason in answer.reason
    assert "\n" not in answer.reason


def test_the_oracle_needs_the_spec() -> None:
    assert opened("oracle").answer(asked()) == Failed(
        "builtin/oracle needs to know what is asked for: the request has no spec"
    )


def test_scatter_names_the_objects_and_draws_them_apart() -> None:
    for seed in range(20):
        drawn = scattered(seed=seed)
        assert sorted(obj.label for obj in drawn.scene.objects) == ["cat", "chair", "chair", "man", "orange"]
        assert drawn.scene.relations == frozenset()
        boxes = [obj.box for obj in drawn.scene.objects]
        assert all(min(box) >= 0 and max(box) <= CANVAS for box in boxes)
        for number, one in enumerate(boxes):
            for other in boxes[:number]:
                across = one.xmax <= other.xmin or other.xmax <= one.xmin
                assert across or one.ymax <= other.ymin or other.ymax <= one.ymin


def test_scatter_gives_attributes_to_anything() -> None:
    scenes = [scattered(seed=seed) for seed in range(60)]
    objects = [obj for drawn in scenes for obj in drawn.scene.objects]
    assert {obj.color for obj in objects} == {None, "blue"}
    assert {obj.material for obj in objects} == {None, "wooden"}
    assert {obj.label for obj in objects if obj.color == "blue"} > {"cat", "chair"}
    assert {drawn.style for drawn in scenes} == {None, "pixel art"}


def test_a_prompt_that_names_nothing_is_declined() -> None:
    assert opened("scatter").answer(asked("A philosophy of mind.")) == Refused(
        "the prompt names nothing that can be drawn"
    )


@pytest.mark.parametrize("suite", ["natural", "conceptmix"])
def test_whatever_scatter_finds_can_be_drawn(suite: str) -> None:
    words = vocabulary("natural").words
    for number, label in list(enumerate(words["class"]))[:: tries(12, 1)]:
        said = [words[kind][number % len(words[kind])] for kind in ("color", "material", "shape", "state", "style")]
        answer = opened("scatter").answer(asked(f"A {' '.join(said)} {label}.", suite, number))
        assert not isinstance(answer, Failed), (label, said, answer)


def test_the_painter_draws_layouts_of_natural() -> None:
    prompt = 'A cat. [{"label": "cat", "color": "black", "box_2d": [100, 200, 500, 600]}]'
    answer = opened("painter").answer(asked(prompt))
    assert isinstance(answer, Generated), answer
    assert [obj.describe() for obj in read_signed_png(answer.data).scene.objects] == ["black cat"]


def test_knolling_loads_nothing_of_the_drawn_worlds() -> None:
    code = (
        "import sys; from formalimg.models.builtin.baselines import open_baseline\n"
        "from formalimg.models.base import ImageRequest\n"
        "for name in ('oracle', 'reader', 'scatter'):\n"
        "    open_baseline(name, {}).answer(ImageRequest('1', 0, 'A cup.', 0, 64, suite='knolling'))\n"
        "icons = ('formalimg.drawing.icon', 'formalimg.drawing.icon_scene', 'formalimg.drawing.svg')\n"
        "print([name for name in sys.modules if name.startswith('formalimg.drawing.') and name not in icons])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_other_drawings_are_other_images_but_not_in_knolling(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = FormulaSpec.of(parse("(exists ?c (Is ?c 'cup'))"))
    items = {suite: Item(suite, "1", 1, "A cup.", spec) for suite in ("knolling", "natural")}

    def keys() -> dict[str, str]:
        return {suite: image_key(item, asked(suite=suite), opened("scatter")) for suite, item in items.items()}

    before = keys()
    monkeypatch.setattr("formalimg.models.builtin.baselines._DRAWN_VERSION", _DRAWN_VERSION + 1)
    after = keys()
    assert (before["knolling"] == after["knolling"], before["natural"] == after["natural"]) == (True, False)
