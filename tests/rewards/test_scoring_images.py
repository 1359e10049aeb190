"""From images of any make, and from scenes, to rewards: the numbers of runs, and no number where nobody can tell."""

from __future__ import annotations

import asyncio
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import formalimg
from formalimg import FormalimgError, Scene, load
from formalimg.benchmarks.formal.spec import NO_FORMULA, FormulaSpec
from formalimg.drawing.icon_scene import draw
from formalimg.judges.base import Grounding, LoadedImage
from formalimg.judges.grounders.icons import ground_icons
from formalimg.judges.scene_judge import SceneJudge, judge_grounding
from formalimg.rewards.inputs import StyledScene
from formalimg.rewards.result import PairError, RewardScore
from formalimg.rewards.reward_functions import reward, reward_function
from formalimg.rewards.scorer import Scorer
from formalimg.types import Item, Unscored, Verdict

ITEMS = [item for item in load("knolling") if item.level in (2, 6)][::100]
ITEM = ITEMS[0]
assert ITEM.spec.witness is not None
SHOWN = draw(ITEM.spec.witness, 384)
PIXELS = np.asarray(SHOWN)
SCORER = Scorer()


def earns_something(item: Item[Any]) -> bool:
    [result] = SCORER.score_all([(ITEM.spec.witness, item)])
    return 0 < (result.score or 0) < 1


WRONG = next(item for item in load("knolling") if item.level == 6 and earns_something(item))


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@dataclass
class Tensor:
    values: Any
    steps: list[str] = field(default_factory=list)
    dtype: str = "torch.bfloat16"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def detach(self) -> Tensor:
        return Tensor(self.values, [*self.steps, "detach"])

    def cpu(self) -> Tensor:
        return Tensor(self.values, [*self.steps, "cpu"])

    def is_floating_point(self) -> bool:
        return True

    def float(self) -> Tensor:
        return Tensor(self.values, [*self.steps, "float"])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.steps == ["detach", "cpu", "float"]
        return self.values


def test_an_image_is_an_image_however_it_comes(tmp_path: Path) -> None:
    (tmp_path / "shown.png").write_bytes(png(SHOWN))
    floats = PIXELS.astype(np.float32) / 255
    ways = [
        SHOWN,
        png(SHOWN),
        tmp_path / "shown.png",
        str(tmp_path / "shown.png"),
        PIXELS,
        PIXELS.transpose(2, 0, 1),
        floats,
        floats.transpose(2, 0, 1).astype(np.float16),
        Tensor(floats.transpose(2, 0, 1)),
        SHOWN.convert("RGBA"),
    ]
    found = SCORER.score_all([(way, WRONG) for way in ways])
    assert 0 < (found[0].score or 0) < 1
    assert found == [found[0]] * len(ways)


@pytest.mark.parametrize(
    ("broken", "sort", "told"),
    [
        (None, "no image", "None"),
        (b"GIF89a", "unreadable image", "no PNG"),
        (Path("nowhere.png"), "unreadable image", "No such file"),
        ("no\0where.png", "unreadable image", "null byte"),
        (Path("nowhere.png").read_bytes, "unreadable image", "method"),
        (lambda: Path("nowhere.png").read_bytes(), "unreadable image", "No such file"),
        (Image.new("RGB", (0, 9)), "unreadable image", ""),
        (PIXELS / 127.5 - 1, "unreadable image", "from 0 to 1"),
        (np.full((8, 8, 3), np.nan), "unreadable image", "not finite"),
        (PIXELS.astype(np.int64), "unreadable image", "int64"),
        (np.zeros((2, 3, 8, 8)), "unreadable image", "shape"),
        (np.zeros((0, 8, 3)), "unreadable image", "shape"),
        (42, "unreadable image", "int"),
        (Image.effect_noise((64, 64), 90), "not understood", "reads only drawings"),
        ({"objects": None}, "not understood", "null"),
        ({"objects": [{"label": "cup", "box_2d": [9, 9, 1, 1]}]}, "not understood", "swapped"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_what_nobody_can_read_has_no_score(broken: Any, sort: str, told: str) -> None:
    [found] = SCORER.score_all([(broken, ITEM)])
    assert (found.score, found.passed, found.parts, found.unscored) == (None, None, (), sort)
    assert told in found.reason
    assert reward([broken], [ITEM]) == [None]
    assert reward([broken], [ITEM], missing="zero") == [0]
    assert math.isnan(reward([broken], [ITEM], missing="nan")[0])  # type: ignore[arg-type]
    with pytest.raises(FormalimgError, match="image 0 has no reward"):
        reward([broken], [ITEM], missing="error")


def test_one_flat_colour_fails_as_it_does_in_runs() -> None:
    [found] = SCORER.score_all([(Image.new("RGB", (64, 64), "black"), ITEM)])
    assert (found.score, found.passed) == (0, False)
    assert "flat colour" in found.reason


def test_rewards_agree_with_verdicts() -> None:
    for item in [*ITEMS, WRONG]:
        seen = ground_icons(SHOWN)
        assert isinstance(seen, Grounding)
        verdict = judge_grounding(item.spec.formula, seen)
        assert isinstance(verdict, Verdict)
        found = SCORER.score_all([(seen.scene, item), (seen.scene.to_json(), item), (SHOWN, item)])
        assert found == [found[0]] * 3
        assert found[0].passed is verdict.passed
        assert [part.name for part in found[0].parts] == [part.name for part in verdict.parts]
        assert found[0].score is not None
        assert found[0].score <= verdict.score
        if verdict.passed:
            assert (found[0].score, found[0].parts) == (1, verdict.parts)
        else:
            share = SCORER.prepare(item).formula.best_binding(seen.scene).share  # type: ignore[union-attr]
            [undiscounted] = Scorer(surplus=0).score_all([(seen.scene, item)])
            assert undiscounted.score == share >= found[0].score


def test_an_item_may_be_named_in_many_ways() -> None:
    formula = WRONG.spec.formula
    ways: list[Any] = [
        WRONG,
        ("knolling", WRONG.id),
        {"suite": "knolling", "id": WRONG.id},
        {"suite": "knolling", "id": int(WRONG.id)},
        formula,
        str(formula),
        {"formula": str(formula)},
        {"formula": str(formula), "vocabulary": "knolling"},
        SCORER.prepare(WRONG),
    ]
    found = SCORER.score_all([(ITEM.spec.witness, way) for way in ways])
    assert found == [found[0]] * len(ways)
    own = Scorer(items={"knolling": [Item("knolling", "mine", 1, "", FormulaSpec.of(formula))]})
    assert own.score_all([(ITEM.spec.witness, ("knolling", "mine"))]) == found[:1]


def test_an_id_means_one_item() -> None:
    mine = [Item("knolling", "mine", 1, "", item.spec) for item in (ITEM, ITEM, WRONG)]
    twice, torn = (Scorer(items={"knolling": items}) for items in (mine[:2], mine))
    assert [scored.passed for scored in twice.score_all([(ITEM.spec.witness, ("knolling", "mine"))])] == [True]
    with pytest.raises(PairError, match="two items of knolling have the id 'mine'"):
        torn.score_all([(ITEM.spec.witness, ("knolling", "mine"))])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("knolling", "x"), "no item 'x'"),
        (("knoling", "1"), "did you mean knolling"),
        ({"formula": "(exists ?x (Is ?x 'cupp'))", "vocabulary": "knolling"}, "did you mean 'cup'"),
        ({"formula": "(exists ?x (Is ?x 'cup'))", "vocabulary": "/etc/words.toml"}, "unknown vocabulary"),
        ({"formula": "(exists ?x (Is ?x 'cup'))", "vocabluary": "knolling"}, "'vocabluary' is not known"),
        ({"formula": 3}, "must be texts"),
        ({"suite": "knolling"}, "say what the image should show"),
        ({"suite": "knolling", "id": "1", "formula": "(exists ?x (Is ?x 'cup'))"}, "id and formula: leave out all but"),
        ({"prompt": "no item says this"}, "no item of"),
        ("(Is ?x 'cup')", "not bound"),
        ("(exists ?x", "never closed"),
        ({"questions": []}, "1 to 64"),
        ({"questions": ["Is there a cat?"]}, "by a formula only"),
        (7, "a int cannot be scored"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_is_told_with_its_place(wrong: Any, told: str) -> None:
    with pytest.raises(PairError, match="pair 1: ") as caught:
        SCORER.score_all([(Scene.of([]), ITEM), (Scene.of([]), wrong)])
    assert told in caught.value.reason
    assert caught.value.index == 1


def test_rows_of_data_sets_are_tasks() -> None:
    exported = {"prompt": ITEM.prompt, "tag": "K=1", "data_source": "formalimg"}
    formula = {"formula": str(ITEM.spec.formula), "vocabulary": "knolling", "suite": "knolling", "id": None}
    rows: list[dict[str, Any]] = [
        exported,
        {**exported, **formula},
        {**exported, "metadata": json.dumps(formula)},
        {"prompts": ITEM.prompt},
    ]
    found = SCORER.score_all([(ITEM.spec.witness, row) for row in rows])
    assert [scored.score for scored in found] == [1.0] * len(rows)
    row: dict[str, Any] = {
        "prompt": [{"role": "user", "content": "a cat"}],
        "questions": ["Is there a cat?"],
        "tag": "animals",
    }
    assert SCORER.prepare(row).item == SCORER.prepare({"words": "a cat", "questions": ["Is there a cat?"]}).item


def test_a_scene_that_does_not_tell_leaves_it_open() -> None:
    photo = {"objects": [{"label": "cup", "color": "red", "box_2d": [0, 0, 9, 9]}], "style": "photo"}
    asked = "(and (IsStyle 'photo') (exists ?x (Is ?x 'cup')))"
    unknown = {key: value for key, value in photo.items() if key != "style"}
    told, styled, open_ = SCORER.score_all(
        [(photo, asked), (StyledScene(Scene.from_json(photo), "cartoon"), asked), (unknown, asked)]
    )
    assert (told.score, styled.score, open_.score) == (1, 0.5, None)
    assert "style of the image is not known" in open_.reason
    assert SCORER.score_all([({**photo, "style": ""}, asked)]) == [open_]


@dataclass
class Watched:
    name: str = "test/watched"
    settings: dict[str, Any] = field(default_factory=dict)
    concurrency: int = 2
    looking: int = 0
    most: int = 0

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored:
        self.looking += 1
        self.most = max(self.most, self.looking)
        await asyncio.sleep(0.005)
        self.looking -= 1
        assert ITEM.spec.witness is not None
        return Grounding(ITEM.spec.witness, cost=0.5)


def test_no_more_look_at_a_time_than_the_grounder_takes_and_costs_are_told() -> None:
    watched = Watched()
    scorer = Scorer(watched)

    async def two_callers() -> list[list[RewardScore]]:
        return await asyncio.gather(*(scorer.score([(SHOWN, ITEM)] * 4) for _ in range(2)))

    found = [scored for caller in asyncio.run(two_callers()) for scored in caller]
    assert watched.most == 2
    assert [(scored.score, scored.cost) for scored in found] == [(1, 0.5)] * 8
    assert isinstance(SceneJudge(watched).name, str)


def test_a_reward_survives_json() -> None:
    for found in SCORER.score_all([(ITEM.spec.witness, WRONG), (ITEM.spec.witness, ITEM), (None, ITEM)]):
        assert RewardScore.from_json(json.loads(json.dumps(found.to_json()))) == found
    good = {**found.to_json(), "score": 1.0, "passed": True, "unscored": None}
    assert RewardScore.from_json(good).score == 1
    for broken in (
        {},
        {**found.to_json(), "passed": True},
        {**found.to_json(), "unscored": "no reason"},
        {**good, "score": math.nan},
        {**good, "score": 1.5},
        {**good, "parts": [3]},
        {**good, "parts": [{}]},
    ):
        with pytest.raises(FormalimgError, match="not a reward"):
            RewardScore.from_json(broken)


def test_trainers_call_with_batches_and_metadata() -> None:
    batch = np.stack([PIXELS, PIXELS]).transpose(0, 3, 1, 2) / 255.0
    metadata: list[dict[str, Any]] = [
        {"suite": "knolling", "id": ITEM.id, "tag": "mine"},
        {"formula": str(WRONG.spec.formula), "prompt": "…"},
    ]
    found = reward_function()(batch, ["", ""], metadata)
    assert found.scores.dtype == np.float64
    assert list(found.scores) == formalimg.reward([SHOWN, SHOWN], [ITEM, WRONG])
    assert found.details["passed"] == [True, False]
    assert found.details["unscored"] == 0
    with pytest.raises(FormalimgError, match="image 1 has no reward"):
        reward_function()([SHOWN, None], ["", ""], metadata)
    assert np.isnan(reward_function(missing="nan")([None, SHOWN], ["", ""], metadata).scores[0])
    with pytest.raises(FormalimgError, match="metadata 0 does not say"):
        reward_function()([SHOWN], [""], [{"tag": "mine"}])
    with pytest.raises(FormalimgError, match="one item for each image"):
        reward([SHOWN, SHOWN], [ITEM])
    with pytest.raises(FormalimgError, match="a list of images"):
        reward(SHOWN, [ITEM])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "weights", [{"relation": 0}, {"relation": -1}, {"relation": 0.0001}, {"relation": math.inf}, {"relations": 2}]
)
def test_weights_that_would_break_a_promise_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(FormalimgError, match=r"relation|kind"):
        Scorer(weights=weights)


def test_a_published_text_that_is_no_formula_rewards_nothing() -> None:
    odd = Item("knolling", "7", 1, "A cup.", FormulaSpec(NO_FORMULA, unreadable="(and"))
    with pytest.raises(FormalimgError, match="cannot score item 7 of knolling: the published dsl"):
        SCORER.score_all([(SHOWN, odd)])
