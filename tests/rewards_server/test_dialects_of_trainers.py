"""Flow-Factory and UniRL get the same rewards as everybody, over real HTTP, by clients that behave as theirs do."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest
from PIL import Image

from formalimg.benchmarks.conditions import Condition
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.reward_functions import reward
from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import knolling, on_a_port, visitor

GOOD, BAD = 3, 30
NOISE = Image.effect_noise((64, 64), 90).convert("RGB")
TOKEN = "a-token-that-is-long-enough"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(Scorer(items={"knolling": knolling()[:40]}, suites=["knolling"])) as port:
        yield port


def encoded(image: Image.Image, form: str = "PNG") -> str:
    file = io.BytesIO()
    image.save(file, form)
    return base64.b64encode(file.getvalue()).decode()


def drawn(index: int) -> Image.Image:
    return draw(knolling()[index].spec.witness, 256)


def sent(port: int, method: str, path: str, data: object = None) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    body = None if data is None else json.dumps(data)
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


class FlowFactoryClient:
    def __init__(self, port: int) -> None:
        self.port = port
        assert sent(port, "GET", "/health")[0] == 200

    def compute(self, prompt: list[str], image: list[Image.Image]) -> list[float]:
        data = {
            "prompt": prompt,
            "image": [encoded(one) for one in image],
            "video": None,
            "condition_images": None,
            "condition_videos": None,
            "kwargs": None,
        }
        status, answer = sent(self.port, "POST", "/compute", data)
        if status != 200:
            raise ConnectionError(f"{status}")
        if answer.get("error"):
            raise RuntimeError(answer["error"])
        return [float(value) for value in answer["rewards"]]


class UniRLClient:
    def __init__(self, port: int, required: list[str]) -> None:
        self.port, self.required = port, required
        status, health = sent(port, "GET", "/health")
        assert status == 200
        self.missing = [name for name in required if name not in health["rewards"]]

    def score(self, prompts: list[str], images: list[Image.Image], metadata: list[Any]) -> tuple[list[Any], list[Any]]:
        requests = [
            {
                "history": [{"text": prompt, "image_b64": encoded(image, "JPEG" if number % 2 else "PNG")}],
                "required_rewards": self.required,
                "metadata": entry,
                "request_id": f"r{number}",
                "sample_id": None,
                "group_id": number // 2,
                "source_rank": 0,
                "policy_version": None,
                "scorer_version": None,
                "idempotency_key": f"k{number}",
            }
            for number, (prompt, image, entry) in enumerate(zip(prompts, images, metadata, strict=True))
        ]
        status, answer = sent(self.port, "POST", "/score", {"protocol_version": "1", "requests": requests})
        assert status == 200
        assert answer["protocol_version"] == "1"
        keys = ("request_id", "sample_id", "group_id", "source_rank", "policy_version", "idempotency_key")
        for request, identity in zip(requests, answer["identities"], strict=True):
            assert {key: identity[key] for key in keys} == {key: request[key] for key in keys}
        rewards = [[next(iter(result[name].values())) for name in result] for result in answer["results"]]
        assert all(math.isfinite(value) and not isinstance(value, bool) for values in rewards for value in values)
        return answer["results"], answer["errors"]


def test_flow_factory_finds_items_by_their_prompts_as_exported(port: int) -> None:
    item = knolling()[GOOD]
    plain, images = item.prompt, [drawn(GOOD), drawn(BAD)]
    here = reward(images, [item, item])
    assert here[0] == 1 > (here[1] or 0)
    client = FlowFactoryClient(port)
    assert client.compute([plain, plain], images) == here
    for prompt in (Condition(style="long").model_input(item).prompt, f"  {plain.replace(' ', '  ')}\n"):
        assert client.compute([prompt] * 2, images) == here


def test_flow_factory_gets_an_error_and_never_a_number_for_what_has_no_reward(port: int) -> None:
    client, prompt = FlowFactoryClient(port), knolling()[GOOD].prompt
    with pytest.raises(RuntimeError, match=r"1 of 2 images have no reward; image\[1\]: "):
        client.compute([prompt, prompt], [drawn(GOOD), NOISE])
    with pytest.raises(RuntimeError, match="no item of knolling has the prompt 'a unicorn'"):
        client.compute([prompt, "a unicorn"], [drawn(GOOD), drawn(GOOD)])
    data = {"prompt": [prompt] * 2, "image": [encoded(drawn(GOOD)), encoded(NOISE)]}
    assert sent(port, "POST", "/compute", data)[1]["rewards"] == [1.0, None]


def test_unirl_gets_named_rewards_by_metadata_or_by_prompt(port: int) -> None:
    item, other = knolling()[GOOD], knolling()[BAD]
    client = UniRLClient(port, ["formalimg", "formalimg_strict"])
    assert client.missing == []
    by_id = {"suite": "knolling", "id": item.id, "policy_version": 4}
    by_text = json.dumps({"formula": item.spec.text, "vocabulary": "knolling"})
    images, metadata = [drawn(GOOD), drawn(BAD), drawn(GOOD), drawn(BAD)], [by_id, by_id, {"metadata": by_text}, None]
    results, errors = client.score(["not looked at"] * 3 + [other.prompt], images, metadata)
    here = reward([drawn(GOOD), drawn(BAD)], [item, item])
    assert [result["formalimg"]["score"] for result in results] == [here[0], here[1], 1, 1]
    assert [result["formalimg_strict"]["passed"] for result in results] == [1, 0, 1, 1]
    assert errors == [{}] * 4


def test_unirl_gets_an_error_and_never_a_number_for_what_has_no_reward(port: int) -> None:
    client = UniRLClient(port, ["formalimg", "aesthetics"])
    assert client.missing == ["aesthetics"]
    prompt = knolling()[GOOD].prompt
    natural = {"suite": "natural", "id": "0"}  # which needs a judge that this server has not
    results, errors = client.score(
        [prompt, prompt, "a unicorn", ""], [drawn(GOOD), NOISE, NOISE, NOISE], [None] * 3 + [natural]
    )
    assert results == [{"formalimg": {"score": 1.0}}, {}, {}, {}]
    assert [sorted(each) for each in errors] == [["aesthetics"], *[["aesthetics", "formalimg"]] * 3]
    assert "no such reward" in errors[0]["aesthetics"]
    assert "a unicorn" in errors[2]["formalimg"]
    assert "needs a chat model" in errors[3]["formalimg"]


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("/compute", {}, "send a list of prompt"),
        ("/compute", {"prompt": ["a"], "image": []}, "send a list of image"),
        ("/compute", {"prompt": ["a", "b"], "image": [""]}, "2 prompts and 1 images"),
        ("/compute", {"prompt": ["a"], "image": ["?"]}, "image[0]: this is not base64"),
        ("/compute", {"prompt": ["a"], "image": [None]}, "image[0]: send a text"),
        ("/compute", {"prompt": ["a"], "video": [["AAAA"]]}, "video: only images can be scored"),
        ("/score", {"requests": []}, "send a list of requests"),
        ("/score", {"requests": [{"history": []}]}, "requests[0]: send a history"),
        ("/score", {"requests": [{"history": [{"text": "a", "video_b64": "AAAA"}]}]}, "requests[0]: send a history"),
        (
            "/score",
            {"requests": [{"history": [{"image_b64": ""}], "required_rewards": 1}]},
            "requests[0].required_rewards: send names",
        ),
        (
            "/score",
            {"requests": [{"history": [{"image_b64": ""}], "required_rewards": [f"{n}" for n in range(65)]}]},
            "requests[0].required_rewards: there are 65",
        ),
        (
            "/score",
            {"requests": [{"history": [{"image_b64": ""}], "required_rewards": ["x" * 201]}]},
            "requests[0].required_rewards: send names",
        ),
        (
            "/score",
            {"requests": [{"history": [{"image_b64": ""}], "request_id": "x" * 1001}]},
            "requests[0].request_id: send a number, or a text",
        ),
        (
            "/score",
            {"requests": [{"history": [{"image_b64": ""}], "sample_id": [[1]]}]},
            "requests[0].sample_id: send a number, or a text",
        ),
    ],
)
def test_what_no_trainer_sends_is_refused_in_one_line(path: str, data: object, said: str) -> None:
    answer = visitor(Scorer(items={"knolling": knolling()[:40]}, suites=["knolling"])).post(path, json=data)
    assert answer.status_code == 400
    assert said in answer.json()["error"]


def test_trainers_that_know_an_address_and_no_headers_send_the_token_as_password() -> None:
    server = visitor(token=TOKEN)
    for user, password, status in (("any", TOKEN, 200), ("", TOKEN, 200), (TOKEN, "", 401), ("any", TOKEN[:-1], 401)):
        assert server.get("/v1/about", auth=(user, password)).status_code == status
    for sent_text in ("Basic", "Basic !", "Basic w7w=", f"Digest {TOKEN}"):
        assert server.get("/v1/about", headers={"authorization": sent_text}).status_code == 401
    assert server.get("/health").status_code == 503


def test_prompts_of_several_items_that_differ_are_ambiguous() -> None:
    from dataclasses import replace

    one, two = knolling()[:2]
    twins = [one, replace(two, prompt=one.prompt), replace(one, id="again", prompt="same")]
    scorer = Scorer(items={"knolling": [*twins, replace(one, id="once more", prompt="same")]}, suites=["knolling"])
    assert scorer.find("same").item.id == "again"
    with pytest.raises(Exception, match="several items have this prompt and ask for different things"):
        scorer.find(one.prompt)
