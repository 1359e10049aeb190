"""Grounder and judge of rewards: from an option, the environment, formalimg.toml, or built in, in this order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg import FormalimgError
from formalimg.rewards.reward_functions import RewardModels, choose_models, reward, reward_function
from formalimg.rewards.trainers.flow_grpo import formalimg_score
from formalimg.rewards.trainers.settings import URL, TrainerSettings
from formalimg.rewards.trainers.trl import completion_reward_function
from formalimg.runs.defaults.settings import ConfiguredJudge
from tests.rewards_server.servers import CUP, RED_CUP

FILE = """
[defaults]
judge = "openai/of-file"
judge_options = { temperature = 0.5 }
grounder = "detector/coco"
grounder_options = { threshold = 0.3 }

[suite.natural]
judge = "gemini/of-natural"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("JUDGE", "JUDGE_OPTIONS", "GROUNDER", "GROUNDER_OPTIONS", "URL"):
        monkeypatch.delenv(f"FORMALIMG_{name}", raising=False)
    return tmp_path


def parties(models: RewardModels) -> tuple[Any, ...]:
    return tuple(
        None if party is None else (party.name, dict(party.options)) for party in (models.grounder, models.judge)
    )


def test_option_then_environment_then_file_then_built_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parties(choose_models()) == (("builtin/icons", {}), None)
    (folder / "formalimg.toml").write_text(FILE)
    configured = choose_models(judge_options={"top_p": 0.9})
    assert parties(configured) == (
        ("detector/coco", {"threshold": "0.3"}),
        ("openai/of-file", {"temperature": "0.5", "top_p": "0.9"}),
    )
    assert configured.judges == {"natural": ConfiguredJudge("gemini/of-natural", {}, "./formalimg.toml")}
    assert configured.lines == [
        "grounder detector/coco from ./formalimg.toml",
        "judge openai/of-file from ./formalimg.toml",
        "judge of natural gemini/of-natural from ./formalimg.toml",
    ]
    monkeypatch.setenv("FORMALIMG_JUDGE", "openai/of-environment")
    monkeypatch.setenv("FORMALIMG_JUDGE_OPTIONS", "base_url=http://127.0.0.1:9/v1 'persona=a b'")
    monkeypatch.setenv("FORMALIMG_GROUNDER", "openai/of-boxes")
    chosen = choose_models()
    options = {"base_url": "http://127.0.0.1:9/v1", "persona": "a b"}
    assert parties(chosen) == (("openai/of-boxes", {}), ("openai/of-environment", options))
    assert chosen.judges == {}
    named = choose_models("builtin/icons", "openai/named", judge_options={"cache": True})
    assert parties(named) == (("builtin/icons", {}), ("openai/named", {"cache": "on"}))
    assert named.lines == []


def test_a_judge_that_can_find_objects_is_the_grounder_too() -> None:
    options = {"base_url": "http://127.0.0.1:9/v1", "boxes": "xyxy", "decide": "verdict"}
    assert parties(choose_models(judge="openai/vlm", judge_options=options)) == (
        ("openai/vlm", {"base_url": "http://127.0.0.1:9/v1", "boxes": "xyxy"}),
        ("openai/vlm", {"base_url": "http://127.0.0.1:9/v1", "decide": "verdict"}),
    )
    assert parties(choose_models(judge="detector/coco")) == (("detector/coco", {}), None)
    assert parties(choose_models(judge="builtin/drawn")) == (("builtin/icons", {}), ("builtin/drawn", {}))


def test_what_belongs_to_nobody_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormalimgError, match="judge options need a judge"):
        choose_models(judge_options={"base_url": "http://127.0.0.1:9"})
    with pytest.raises(FormalimgError, match="detector/coco only detects objects"):
        choose_models("builtin/icons", "detector/coco")
    with pytest.raises(FormalimgError, match="leave out either the url or these"):
        TrainerSettings.choose("error", url="http://127.0.0.1:9", judge="openai/vlm")
    with pytest.raises(FormalimgError, match="leave out either the scorer or these"):
        completion_reward_function(choose_models().scorer, judge="openai/vlm")
    for options, told in (("base_url", "write KEY=VALUE"), ("a='", "No closing quotation")):
        monkeypatch.setenv("FORMALIMG_GROUNDER", "openai/vlm")
        monkeypatch.setenv("FORMALIMG_GROUNDER_OPTIONS", options)
        with pytest.raises(FormalimgError, match=told):
            choose_models()
    monkeypatch.delenv("FORMALIMG_GROUNDER")
    with pytest.raises(FormalimgError, match="FORMALIMG_GROUNDER_OPTIONS belongs to a grounder"):
        formalimg_score("cuda")


def test_a_named_judge_goes_before_the_server_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "http://127.0.0.1:9")
    assert TrainerSettings.choose("error").url == "http://127.0.0.1:9"
    assert TrainerSettings.choose("error", grounder="builtin/icons").url is None
    assert formalimg_score(grounder="builtin/icons")([CUP], [""], [RED_CUP]).scores.tolist() == [0.5]


def test_reward_takes_grounder_and_judge_as_the_trainers_functions_do() -> None:
    assert reward([CUP], [RED_CUP], grounder="builtin/icons") == [0.5]
    image = Image.effect_noise((64, 64), 90).convert("RGB")
    with pytest.raises(FormalimgError, match="no grounder builtin/none"):
        reward([image], [RED_CUP], grounder="builtin/none")
    with pytest.raises(FormalimgError, match="judge options need a judge"):
        reward([CUP], [RED_CUP], judge_options={"concurrency": 32})
    with pytest.raises(FormalimgError, match="leave out either the scorer or these"):
        reward([CUP], [RED_CUP], scorer=choose_models().scorer, judge="openai/vlm")


def test_a_prompt_in_place_of_a_task_is_told_how_to_become_one() -> None:
    with pytest.raises(
        FormalimgError, match=r"'a red cup' is not a formula: give the item, or the questions of a prompt"
    ):
        reward([CUP], ["a red cup"])
    commented = f"; mine\n{RED_CUP['formula']}"
    assert reward([CUP], [commented]) == [0.5]


def test_the_choice_holds_wherever_no_scorer_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_models().scorer is choose_models().scorer, "formulas are prepared once"
    image = Image.effect_noise((64, 64), 90).convert("RGB")
    monkeypatch.setenv("FORMALIMG_GROUNDER", "builtin/none")
    for call in (
        lambda: reward([image], [RED_CUP]),
        lambda: reward_function()([image], [""], [RED_CUP]),
        lambda: formalimg_score()([image], [""], [RED_CUP]),
        lambda: completion_reward_function()(["…"], [image], metadata=[RED_CUP]),
    ):
        with pytest.raises(FormalimgError, match="no grounder builtin/none"):
            call()
