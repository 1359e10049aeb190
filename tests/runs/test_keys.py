"""Keys: the same is never asked again, any difference is made or judged anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import formalimg
from formalimg.benchmarks.conditions import Condition
from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest
from formalimg.models.folder.folder_model import open_folder
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import open_image_model
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.plan import Selection, default_style, image_key, image_seed, judge_key, plan_digest, question_key
from formalimg.runs.prepared_run import estimate
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import ImageModel, Setting, Unscored
from tests.support.command import formalimg as command
from tests.support.models import NumberJudge, Speckles, small_items, speckled
from tests.support.run_contents import contents, order, outcomes, rows


def test_what_is_there_is_not_asked_for_again(tmp_path: Path) -> None:
    model, judge = Speckles(), NumberJudge()
    for _ in range(3):
        execute(order(model, samples=2), tmp_path / "run", judge)
    assert len(model.asked) == len(set(model.asked)) == 16
    assert len(judge.judged) == 16


@pytest.mark.parametrize("change", [{"prompt": "other words"}, {"seed": 8}, {"size": 65}, {"sample": 1}])
def test_every_part_of_a_request_is_in_the_key(change: dict[str, object]) -> None:
    request = ImageRequest("0", 0, "words", 7, 64)
    item = small_items(1)[0]
    key = image_key(item, request, Speckles())
    assert image_key(item, replace(request, **change), Speckles()) != key  # type: ignore[arg-type]
    assert image_key(item, ImageRequest("0", 0, "words", 7, 64), Speckles()) == key


def test_every_setting_is_in_the_keys() -> None:
    """Also where Python calls values equal; the order of settings does not matter."""
    request, item = ImageRequest("0", 0, "words", 7, 64), small_items(1)[0]
    values = (None, 1, 1.0, True, "1", 2, False, "None")
    settings: list[dict[str, Setting]] = [{}, {"b": 1}, {"c": None}, {"a": 1, "b": 2}, *({"a": it} for it in values)]
    assert len({image_key(item, request, Speckles(settings=each)) for each in settings}) == len(settings)
    assert len({judge_key(NumberJudge(settings=each)) for each in settings}) == len(settings)
    assert judge_key(NumberJudge(settings={"a": 1, "b": 2})) == judge_key(NumberJudge(settings={"b": 2, "a": 1}))


def test_keys_stay_what_they_are() -> None:
    """Another version that makes other keys makes and judges everything anew, so it must mean to."""
    item = replace(small_items(1)[0], prompt="A naïve cup · 茶")
    judge = NumberJudge(settings={"words": "für", "steps": 7, "cut": 0.5, "fast": True, "style": None})
    model = Speckles(settings=judge.settings)
    request = ImageRequest(item.id, 2, item.prompt, image_seed(1, item, 2), 512)
    found = [judge_key(judge), question_key(item), image_key(item, request, model), plan_digest(["b", "a"])]
    assert [key[:16] for key in found] == [
        "e242602baafed39f",
        "fc40ca2792122d85",
        "20d9797797e1220d",
        "623499e2fc24d4b5",
    ]
    assert image_seed(1, item, 2) == 1_765_622_961


def test_seeds_are_recorded_and_differ_by_item_and_sample(tmp_path: Path) -> None:
    execute(order(samples=3), tmp_path / "run")
    execute(order(samples=3), tmp_path / "again")
    seeds = rows(tmp_path / "run", "SELECT item, sample, seed FROM pictures")
    assert seeds == rows(tmp_path / "again", "SELECT item, sample, seed FROM pictures")
    assert len({seed for *_, seed in seeds}) == 24
    assert all(0 <= seed < 2**31 for *_, seed in seeds)
    item = small_items(1)[0]
    assert image_seed(1, item, 0) != image_seed(2, item, 0)


def test_other_words_are_made_anew_and_the_rest_is_kept(tmp_path: Path) -> None:
    items = small_items(8)
    execute(order(items=items), tmp_path / "run", NumberJudge())
    items[3] = replace(items[3], prompt="Something else.")
    model, judge = Speckles(), NumberJudge()
    execute(order(model, items), tmp_path / "run", judge)
    assert (model.asked, judge.judged) == ([("3", 0)], ["3"])
    fresh = tmp_path / "fresh"
    execute(order(items=items), fresh, NumberJudge())
    assert outcomes(tmp_path / "run") == outcomes(fresh)


@pytest.mark.parametrize("part", [{"selection": Selection(levels=[1, 2])}, {"samples": 1}])
def test_other_words_for_a_part_of_the_run_are_refused(tmp_path: Path, part: dict[str, Any]) -> None:
    """The other items, or the other samples, would be judged by words that they were not made from."""
    execute(order(samples=2), tmp_path / "run", NumberJudge())
    before = contents(tmp_path / "run")
    others = [replace(item, prompt="Something else.") for item in small_items(8)]
    with pytest.raises(FormalimgError, match=r"item 0 asks something else .* choose another folder"):
        execute(order(items=others, **{"samples": 2, **part}), tmp_path / "run", NumberJudge())
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("sees_spec", [False, True])
def test_another_formula_is_judged_anew_and_made_anew_only_by_who_sees_it(tmp_path: Path, sees_spec: bool) -> None:
    first = Speckles(sees_spec=sees_spec)
    execute(order(first, small_items(4)), tmp_path / "run", NumberJudge())
    model, judge = Speckles(sees_spec=sees_spec), NumberJudge()
    execute(order(model, small_items(4, color="green")), tmp_path / "run", judge)
    assert len(model.asked) == (4 if sees_spec else 0)
    assert sorted(judge.judged) == ["0", "1", "2", "3"]


def test_a_model_is_told_the_spec_only_if_it_says_so(tmp_path: Path) -> None:
    specs = []

    def noting(request: ImageRequest) -> object:
        specs.append(request.spec)
        return Unscored  # no answer at all

    for sees_spec in (False, True):
        execute(order(Speckles(sees_spec=sees_spec, answer=noting), small_items(1)), tmp_path / str(sees_spec))  # type: ignore[arg-type]
    assert specs == [None, small_items(1)[0].spec]


def test_an_image_that_is_exchanged_in_a_folder_is_made_anew(tmp_path: Path) -> None:
    images = tmp_path / "pictures"
    images.mkdir()
    for number in range(4):
        (images / f"{number}.png").write_bytes(speckled(f"first {number}"))
    judge = NumberJudge()
    execute(order(open_folder(str(images), {}), small_items(4)), tmp_path / "run", judge)
    (images / "2.png").unlink()
    (images / "2.jpg").write_bytes(speckled("second", form="JPEG"))
    done = execute(order(open_folder(str(images), {}), small_items(4)), tmp_path / "run", judge)
    assert (done.images, judge.judged[4:]) == (1, ["2"])
    files = contents(tmp_path / "run")["files"]
    assert set(files) == {"0.png", "1.png", "2.jpg", "3.png", "metadata.jsonl"}, "the old file is gone"
    assert files["2.jpg"] == (images / "2.jpg").read_bytes()


@pytest.mark.parametrize("apart", [False, True])
def test_the_same_image_made_several_times_is_judged_once(tmp_path: Path, apart: bool) -> None:
    """As by models that take no seed. The second look could not even be kept beside the first."""
    folder, judge = tmp_path / "run", NumberJudge(concurrency=1)
    asked = order(Speckles(answer=lambda request: Generated(speckled(request.item))), small_items(4), samples=3)
    if apart:
        execute(asked, folder)
        assert estimate(asked, folder, judge).verdicts == 4
        done = judge_run(folder, judge)
    else:
        done = execute(asked, folder, judge)
    assert sorted(judge.judged) == ["0", "1", "2", "3"]
    assert done.judged == done.verdicts == 4
    assert done.done == done.steps
    assert all(outcome.passed is not None for outcome in outcomes(folder))


def test_another_judge_judges_anew_and_both_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge(settings={"version": 1}))
    first = outcomes(folder)
    second = NumberJudge(settings={"version": 2}, verdict=lambda item, image: Unscored("not understood", "dark"))
    assert judge_run(folder, second).unscored == 8
    assert {outcome.reason for outcome in outcomes(folder)} == {"not understood"}
    assert rows(folder, "SELECT count(*) FROM verdicts") == [(16,)]
    assert rows(folder, "SELECT count(*) FROM judges") == [(2,)]
    again = NumberJudge(settings={"version": 1})
    assert judge_run(folder, again).verdicts == 0
    assert again.judged == []
    assert outcomes(folder) == first, "the card names the judge that was asked last"


def test_a_proof_is_no_part_of_the_question() -> None:
    item = small_items(1)[0]
    witness = Scene((SceneObject("cup", Box(100, 100, 300, 300), color="red"),))
    assert question_key(item) == question_key(replace(item, spec=replace(item.spec, witness=witness)))
    assert question_key(item) != question_key(replace(item, prompt=f"{item.prompt} "))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"seed": 2}, "seed: was 1, now 2"),
        ({"size": 128}, "size: was 64, now 128"),
        ({"model": Speckles(name="test/other")}, "model: was test/speckles, now test/other"),
        ({"model": Speckles(settings={"steps": 20})}, "model setting steps: was not set, now 20"),
    ],
)
def test_a_run_of_other_settings_is_refused_by_name(tmp_path: Path, changes: dict[str, object], told: str) -> None:
    execute(order(), tmp_path / "run", NumberJudge())
    before = contents(tmp_path / "run")
    with pytest.raises(FormalimgError, match=told):
        execute(order(**changes), tmp_path / "run", NumberJudge())
    assert contents(tmp_path / "run") == before


_PAINTER = """
from pathlib import Path
from PIL import Image

def paint(prompt):
    with Path("sent.txt").open("a") as file:
        file.write(prompt + "\\n====\\n")
    return Image.effect_noise((64, 64), 30).convert("RGB")
"""


def test_every_way_in_has_the_same_style(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    Path("lab.py").write_text(_PAINTER)
    models: list[ImageModel] = [CallableModel(lambda prompt: None), Speckles()]
    models += [
        open_image_model(name) for name in ("openai/gpt-image-1", "python/lab.py:paint", "command/true {prompt}")
    ]
    assert {default_style("knolling", model) for model in models} == {"long"}
    assert {default_style("natural", model) for model in models} == {"none"}
    Path("images").mkdir()
    Image.effect_noise((64, 64), 30).save("images/0.png")
    for model in (open_image_model("folder/images"), open_image_model("builtin/reader")):
        assert default_style("knolling", model) == "none"  # nothing is sent; it knows one style only


def test_the_command_line_and_python_send_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_text(_PAINTER)
    asked = ("run", "knolling", "--model", "python/lab.py:paint", "--levels", "1", "--per-level", "1", "--size", "64")
    _, _, err = command(*asked, "--judge", "builtin/icons", cwd=tmp_path)
    assert "python/lab.py:paint: the long style text goes before each prompt (--style none sends" in err
    _, _, err = command(*asked, "--judge", "builtin/icons", "--style", "none", "--out", "other", cwd=tmp_path)
    assert "style text" not in err
    by_command = (tmp_path / "sent.txt").read_text().split("\n====\n")

    got: list[str] = []

    def paint(prompt: str) -> Image.Image:
        got.append(prompt)
        return Image.effect_noise((64, 64), 30).convert("RGB")

    def sent(number: int, **options: Any) -> str:
        done = formalimg.evaluate(
            paint, judge=lambda image, item: True, levels=[1], per_level=1, size=64, folder=tmp_path / str(number),
            progress=False, **options,
        )  # fmt: skip
        assert done.run.manifest.style == ("long" if len(got[-1]) > 1000 else "none")
        return got[-1]

    assert sent(1) == by_command[0]
    assert sent(2, style="none") == by_command[1] == formalimg.load("knolling")[0].prompt
    assert sent(3, condition=Condition()) == by_command[0]  # as --condition plain
    assert sent(4, condition=Condition(style="long"), style="none") == by_command[1]


def test_a_style_for_models_that_read_few_words(tmp_path: Path) -> None:
    done = formalimg.run(
        items=small_items(1),
        model=Speckles(),
        judge=lambda image, item: True,
        style="short",
        folder=tmp_path / "run",
        progress=False,
    )
    assert (done.run.manifest.style, done.run.manifest.prompts) == ("short", "style_short (version 1)")
