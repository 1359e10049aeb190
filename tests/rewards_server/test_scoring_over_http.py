"""The server gives the numbers that are given in process, and says where a request is wrong."""

from __future__ import annotations

import base64
import io
import json
import random
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from PIL import Image
from starlette.testclient import TestClient

from formalimg import FormalimgError, Scene
from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.result import RewardScore
from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import CUP, RED_CUP, SlowGrounder, asked, knolling, visitor
from tests.support.concept_items import CAT, NOTHING, RED, answers_by
from tests.support.scripted_chat import ScriptedChat, numbered


@pytest.fixture(autouse=True, scope="module")
def _items_are_loaded() -> None:
    server()


@cache
def scorer() -> Scorer:
    made = Scorer(items={"knolling": knolling()})
    made.prepare(("knolling", knolling()[0].id))
    return made


@cache
def server() -> TestClient:
    return visitor(scorer())


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


@settings(max_examples=30)
@given(some.randoms(use_true_random=False))
def test_scores_are_those_in_process(chance: random.Random) -> None:
    chosen = chance.sample(knolling(), 3)
    scenes = [chance.choice(chosen).spec.witness.to_json() for _ in chosen]
    named = [{"suite": "knolling", "id": item.id} for item in chosen]
    answer = server().post("/v1/score", json={"items": named, "images": [{"scene": scene} for scene in scenes]})
    found = [RewardScore.from_json(result) for result in answer.json()["results"]]
    assert found == scorer().score_all(zip(scenes, chosen, strict=True))


def test_images_come_as_base64_as_files_and_beside_scenes() -> None:
    item = knolling()[1000]
    drawing = png(draw(item.spec.witness, 256))
    named = {"suite": "knolling", "id": item.id}
    expected = [scored.to_json() for scored in scorer().score_all([(drawing, item), (CUP, item)])]
    sent = [{"base64": base64.b64encode(drawing).decode()}, {"scene": CUP}]
    assert server().post("/v1/score", json=asked(*sent, item=named)).json()["results"] == expected
    files = {"image0": drawing}
    request = json.dumps(asked({"file": "image0"}, {"scene": CUP}, item=named))
    assert server().post("/v1/score", data={"request": request}, files=files).json()["results"] == expected
    alone = json.dumps({"items": [named]})
    assert server().post("/v1/score", data={"request": alone}, files=files).json()["results"] == expected[:1]
    # As some programs send everything: the request as a file too.
    both = {"request": alone.encode(), "image0": drawing}
    assert server().post("/v1/score", files=both).json()["results"] == expected[:1]


def test_questions_go_to_the_judge() -> None:
    judge = QuestionJudge(ScriptedChat({1: NOTHING}, answers_by({CAT.question: "yes", RED.question: "no"})))
    image = numbered(1).pil.copy()
    image.putpixel((0, 0), (255, 255, 255))
    sent = {"base64": base64.b64encode(png(image)).decode()}
    item = {"words": "a cat", "questions": [CAT.question, RED.question]}
    judged = visitor(Scorer(judges={"conceptmix": judge}))
    [found] = judged.post("/v1/score", json=asked(sent, item=item)).json()["results"]
    assert (found["score"], found["passed"]) == (0.5, False)
    # The place is that in the request, whatever of it needs nobody to look.
    mixed = {"items": [RED_CUP, RED_CUP, item], "images": [{"scene": CUP}, {"scene": CUP}, sent]}
    refused = server().post("/v1/score", json=mixed)
    assert (refused.status_code, refused.json()["where"]) == (400, "items[2]")
    assert refused.json()["error"].startswith("items[2]: conceptmix needs a chat model")


def test_rows_of_data_sets_and_prompts_are_items() -> None:
    item = knolling()[0]
    scene = {"scene": item.spec.witness.to_json()}
    row = {"tag": "K=1", "prompt": "any words", "metadata": json.dumps({"suite": "knolling", "id": item.id})}
    of_prompts = {"prompts": [item.prompt, "any words"], "items": [{"tag": "K=1"}, row], "images": [scene, scene]}
    for request in (
        {"items": [{"prompt": item.prompt, "tag": "K=1"}, row], "images": [scene, scene]},
        {"prompts": [item.prompt] * 2, "images": [scene, scene]},
        of_prompts,
    ):
        answer = server().post("/v1/score", json=request)
        assert [result["score"] for result in answer.json()["results"]] == [1, 1]


MULTIPART = {"content-type": "multipart/form-data; boundary=x"}

WRONG: list[tuple[Any, int, str]] = [
    ([], 400, "send a JSON object"),
    ({}, 400, "items: send a list"),
    ({"items": [], "images": []}, 400, "items: send a list"),
    ({**asked({"scene": CUP}), "pickle": "gASVAA=="}, 400, "'pickle' is not known"),
    ({"items": [RED_CUP] * 2, "images": [{"scene": CUP}]}, 400, "2 items and 1 images"),
    (asked({"scene": CUP}, {"scene": []}), 400, "images[1].scene: "),
    (asked({"scene": CUP, "path": "x"}), 400, "images[0]: send an object with one of"),
    (asked({"base64": "é"}), 400, "images[0].base64: "),
    (asked({"file": "image7"}), 400, "images[0].file: there is no part 'image7'"),
    (asked({"path": "a.png"}), 403, "images[0].path: "),
    (asked({"scene": CUP}, item="(Is)"), 400, "items[0]: "),
    (asked({"scene": CUP}, item={"tag": "K=1"}), 400, "items[0]: this does not say what the image should show"),
    ({"prompts": [3], "images": [{"scene": CUP}]}, 400, "prompts[0]: send a text"),
    ({"prompts": ["a"] * 2, **asked({"scene": CUP})}, 400, "1 items and 2 prompts"),
    ({"prompts": ["no item says this"], "images": [{"scene": CUP}]}, 400, "items[0]: no item of"),
    (asked({"scene": CUP}, item={"suite": "knolling", "id": "none"}), 400, "items[0]: knolling has no item"),
    (asked({"scene": CUP}, item={"suite": "knoling", "id": "1"}), 400, "items[0]: unknown suite"),
    (asked({"scene": CUP}, item={"questions": ["A cat?"]}), 400, "images[0].scene: a scene can be scored by a formula"),
    (asked({"scene": CUP}, item={"formula": "(Is", "vocabulary": "/etc/passwd"}), 400, "items[0]: unknown vocabulary"),
    (asked(*[{"scene": CUP}] * 257), 413, "items: there are 257"),
    ({**asked({"scene": CUP}), "parts": 0}, 400, "parts: send true or false"),
]


@pytest.mark.parametrize(("request_", "status", "words"), WRONG, ids=[words for _, _, words in WRONG])
def test_mistakes_are_named_with_their_place(request_: Any, status: int, words: str) -> None:
    answer = server().post("/v1/score", json=request_)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(words)
    assert "\n" not in answer.json()["error"]


def test_problems_of_a_formula_have_line_and_column() -> None:
    formula = {"formula": "(exists ?x\n  (Is ?x 'cupp'))", "vocabulary": "knolling"}
    answer = server().post("/v1/score", json=asked({"scene": CUP}, item=formula))
    assert answer.json()["where"] == "items[0].formula"
    assert answer.json()["error"].startswith("items[0].formula: line 2, column 10: ")
    assert [(problem["line"], problem["column"]) for problem in answer.json()["problems"]] == [(2, 10)]


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from(["items", "images", "formula", "id", "suite", "scene", "objects"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(JSON | some.fixed_dictionaries({"items": some.lists(JSON, max_size=2), "images": some.lists(JSON, max_size=2)}))
def test_any_json_is_answered(sent: object) -> None:
    answer = server().post("/v1/score", content=json.dumps(sent), headers={"content-type": "application/json"})
    assert answer.status_code in (200, 400, 403)
    assert set(answer.json()) & {"results", "error"}


@settings(max_examples=40)
@given(some.binary(max_size=200), some.sampled_from(["application/json", "multipart/form-data; boundary=x", "text/x"]))
def test_any_bytes_are_answered(sent: bytes, kind: str) -> None:
    for content in (sent, b'--x\r\nContent-Disposition: form-data; name="request"\r\n\r\n' + sent + b"\r\n--x--\r\n"):
        answer = server().post("/v1/score", content=content, headers={"content-type": kind})
        assert answer.status_code in (400, 415)
        assert answer.json()["error"]


@pytest.mark.parametrize(
    ("content", "headers", "status", "words"),
    [
        (b'{"items": [1], "items": [2], "images": []}', {}, 400, "the key 'items' occurs twice"),
        (b'{"items": [{"suite": "a", "id": "1", "id": "2"}]}', {}, 400, "the key 'id' occurs twice"),
        (b"{}", {"content-encoding": "gzip"}, 415, "send it without Content-Encoding"),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 2,
            MULTIPART,
            400,
            "Too many fields. Maximum number of fields is 1: send",
        ),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(
    content: bytes, headers: dict[str, str], status: int, words: str
) -> None:
    answer = server().post("/v1/score", content=content, headers={"content-type": "application/json", **headers})
    assert answer.status_code == status
    assert answer.json()["error"].startswith(words)


@settings(max_examples=15)
@given(some.integers(0, 10**6))
def test_without_parts_the_numbers_are_the_same(seed: int) -> None:
    chance = random.Random(seed)
    items = chance.sample(knolling(), 3)
    images = [{"scene": other.spec.witness.to_json()} for other in (items[0], chance.choice(knolling()))]
    images.append({"base64": ""})
    request = {"items": [{"suite": "knolling", "id": item.id} for item in items], "images": images}
    full = server().post("/v1/score", json=request).json()["results"]
    bare = server().post("/v1/score", json={**request, "parts": False}).json()["results"]
    assert full[0]["parts"]
    assert bare == [{**one, "parts": [], "reason": "" if one["unscored"] is None else one["reason"]} for one in full]


def test_a_broken_judge_is_not_the_clients_mistake() -> None:
    class Broken(SlowGrounder):
        async def ground(self, *_: object) -> Any:
            raise FormalimgError("the key is wrong")

    drawing = base64.b64encode(png(draw(Scene.from_json(CUP), 64))).decode()
    answer = visitor(Scorer(Broken(0))).post("/v1/score", json=asked({"base64": drawing}))
    assert (answer.status_code, answer.json()["error"]) == (500, "the judge cannot work: the key is wrong")
