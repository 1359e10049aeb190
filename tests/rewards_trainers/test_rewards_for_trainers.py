"""What trainers' functions do with odd rows and with images that have no reward: NaN or an error, never 0."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from formalimg import FormalimgError
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.trainers import settings
from formalimg.rewards.trainers.flow_grpo import formalimg_score, geneval_score
from formalimg.rewards.trainers.pickle_gateway import PickleGateway, PickleRefusedError
from formalimg.rewards.trainers.settings import TrainerSettings
from formalimg.rewards.trainers.trl import completion_reward, completion_reward_function
from formalimg.rewards.trainers.verl_omni import compute_score
from tests.rewards_server.servers import CUP, RED_CUP, knolling, on_a_port

NOISE = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
ROW = json.dumps({**RED_CUP, "level": 1})


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (settings.URL, settings.TOKEN, settings.MISSING):
        monkeypatch.delenv(name, raising=False)


def test_no_setting_makes_a_missing_reward_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.MISSING, "zero")
    with pytest.raises(FormalimgError, match="use nan or error"):
        TrainerSettings.choose("nan")
    assert TrainerSettings.choose("error", missing="nan").missing == "nan"


def test_flow_grpo_gets_an_error_or_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    for make, more in ((formalimg_score, ()), (geneval_score, (True,))):
        assert "device" in make.__code__.co_varnames  # by which flow_grpo decides whether to pass it
        with pytest.raises(FormalimgError, match="image 0 has no reward"):
            make("cuda")(NOISE[None], ["…"], [RED_CUP], *more)
        monkeypatch.setenv(settings.MISSING, "nan")
        scores, *others = make("cuda")(NOISE[None], ["…"], [RED_CUP], *more)
        assert math.isnan(scores[0])
        monkeypatch.delenv(settings.MISSING)
    assert others[2:] == [{}, {}]  # in training, where all processes gather lists of the same length
    with pytest.raises(FormalimgError, match="metadata 0 does not say"):
        geneval_score()([CUP], [""], [{"tag": "none"}], True)


def test_verl_omni_reads_the_task_wherever_it_stands() -> None:
    async def score(image: Any, truth: object, extra: Any = None, **options: Any) -> float:
        return (await compute_score("formalimg", image, truth, extra, reward_router_address=None, **options))["score"]

    assert asyncio.run(score(CUP, ROW)) == 0.5
    assert asyncio.run(score(CUP, "a red cup", {"metadata": ROW})) == 0.5
    chw = NOISE.transpose(2, 0, 1)
    assert math.isnan(asyncio.run(score(chw[None], ROW)))
    with pytest.raises(FormalimgError, match="has no reward"):
        asyncio.run(score(chw, ROW, missing="error"))
    with pytest.raises(FormalimgError, match="2 frames are not an image"):
        asyncio.run(score(np.stack([chw, chw]), ROW))
    with pytest.raises(FormalimgError, match="neither ground_truth nor extra_info"):
        asyncio.run(score(CUP, "a red cup"))


@pytest.mark.parametrize(
    ("completion", "reward"),
    [
        (json.dumps(CUP), 0.5),
        (f"<think>where?</think>Here it is:\n```json\n{json.dumps({'thoughts': 'left', **CUP})}\n```", 0.5),
        ([{"role": "user", "content": "?"}, {"role": "assistant", "content": json.dumps(CUP)}], 0.5),
        ([{"role": "assistant", "content": [{"type": "text", "text": json.dumps(CUP)}]}], 0.5),
        ("/etc/passwd", 0.0),
        ("", 0.0),
        ('{"objects": [{"label": 3}]}', 0.0),
        ('{"objects": []}', 0.0),
        (CUP, 0.5),
    ],
)
def test_trl_scores_plans_and_a_text_without_one_is_the_models_failure(completion: Any, reward: float) -> None:
    assert completion_reward(["…"], [completion], metadata=[ROW], trainer_state=object()) == [reward]


def test_trl_gets_an_error_for_images_without_a_reward_and_rows_without_a_task() -> None:
    image = [{"role": "assistant", "content": [{"type": "image", "image": NOISE}]}]
    with pytest.raises(FormalimgError, match="image 1 has no reward"):
        completion_reward(["…"] * 2, ["no plan", image], metadata=[ROW] * 2)
    own = completion_reward_function(Scorer(items={"knolling": knolling()[:3]}), missing="nan")
    assert own.__name__ == "completion_reward"  # by which TRL names it in its logs
    columns = {"suite": ["knolling", None], "id": ["0", None], "formula": [None, RED_CUP["formula"]]}
    witness = json.dumps(knolling()[0].spec.witness.to_json())
    assert own(prompts=["…"] * 2, completions=[witness, json.dumps(CUP)], **columns) == [1.0, 0.5]
    assert math.isnan(own(["…"], [image], metadata=[ROW])[0])
    with pytest.raises(FormalimgError, match="row 0 does not say"):
        completion_reward([""], ["no plan"], tags=["none"])
    with pytest.raises(FormalimgError, match="no item of knolling has the prompt"):
        completion_reward_function(Scorer(suites=["knolling"]))(["…"], ["no plan"], tags=["none"])


class Bomb:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (exec, ("raise SystemExit('unpickled')",))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pickle.dumps(Bomb()), "builtins.exec"),
        (pickle.dumps({"images": [Bomb()], "meta_datas": []}), "builtins.exec"),
        (pickle.dumps({"images": [NOISE], "meta_datas": []}), "only plain data is read"),
        (b"cos\nsystem\n(S'true'\ntR.", "os.system"),
        (b"Pid\n.", "objects outside of it"),
        (b"not a pickle", "not a pickle that can be read"),
        (b"", "not a pickle that can be read"),
        (pickle.dumps([1]), "not a request of flow_grpo"),
        (pickle.dumps({"images": ["a.png"], "meta_datas": [{}]}), "not a request of flow_grpo"),
    ],
)
def test_the_gateway_reads_plain_data_only(data: bytes, said: str) -> None:
    with pytest.raises(PickleRefusedError, match=said):
        PickleGateway("http://127.0.0.1:9").answer(data)


def test_the_gateway_gives_nan_for_what_has_no_reward_or_an_error() -> None:
    with on_a_port() as port:
        url = f"http://127.0.0.1:{port}"
        request = pickle.dumps({"images": [b"no image"], "meta_datas": [RED_CUP], "only_strict": True})
        found = pickle.loads(PickleGateway(url).answer(request))
        assert sorted(found) == ["group_rewards", "group_strict_rewards", "rewards", "scores", "strict_rewards"]
        assert all(math.isnan(found[name][0]) for name in ("scores", "rewards", "strict_rewards"))
        with pytest.raises(FormalimgError, match="image 0 has no reward"):
            PickleGateway(url, missing="error").answer(request)
