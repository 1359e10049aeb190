"""What the server says of itself: health, numbers, and what shapes its rewards."""

from __future__ import annotations

import re

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.loader import instruction_digest
from formalimg.judges.factory import open_grounder
from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import CUP, asked, knolling, visitor
from tests.support.concept_items import answers_by
from tests.support.scripted_chat import ScriptedChat

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? ([0-9.e+-]+)')


def parsed(text: str) -> dict[tuple[str, str], float]:
    found, known = {}, set[str]()
    assert text.endswith("\n")
    for line in text.splitlines():
        if comment := re.fullmatch(r"# (?:HELP ([a-z_]+) .+|TYPE ([a-z_]+) (?:counter|gauge|histogram))", line):
            known.add(comment[1] or comment[2])
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert re.sub("_(bucket|sum|count)$", "", sample[1]) in known
        found[sample[1], sample[2] or ""] = float(sample[3])
    return found


def test_numbers_can_be_read_and_add_up() -> None:
    server = visitor()
    server.post("/v1/score", json=asked({"scene": CUP}, {"scene": {"objects": None}}))
    red = {"objects": [{"label": "cup", "color": "red", "box_2d": [0, 0, 9, 9]}]}
    server.post("/v1/score", json=asked({"scene": red}))
    server.post("/v1/score", json={})
    server.get("/some/where")
    server.get("/v1/score")
    found = parsed(server.get("/metrics").text)
    requests = {labels: count for (name, labels), count in found.items() if name == "formalimg_requests_total"}
    assert requests == {
        'path="/v1/score",status="200"': 2,
        'path="/v1/score",status="400"': 1,
        'path="/v1/score",status="405"': 1,
        'path="other",status="404"': 1,
    }
    for outcome in ("passed", "failed", "unscored"):
        assert found["formalimg_items_total", f'outcome="{outcome}"'] == 1
    buckets = [count for (name, _), count in found.items() if name == "formalimg_score_seconds_bucket"]
    assert buckets == sorted(buckets)
    assert buckets[-1] == found["formalimg_score_seconds_count", ""] == 2
    assert found["formalimg_waiting", ""] == found["formalimg_in_flight", ""] == 0
    assert found["process_resident_memory_bytes", ""] > 10_000_000


def test_what_shapes_rewards_can_be_asked_for() -> None:
    plain, weighed = (visitor(Scorer(weights=weights)).get("/v1/about").json() for weights in ({}, {"relation": 2}))
    assert plain["formalimg"] == "1.2.3"
    assert plain["scorer"]["grounder"] == "builtin/icons"
    assert weighed["scorer"]["weight_relation"] == 2
    assert plain["scorer"]["reward_rules"] == 2
    assert visitor(Scorer(surplus=0.5)).get("/v1/about").json()["scorer"]["surplus"] == 0.5
    assert set(plain["vocabularies"]) == {"knolling", "natural"}
    assert all(digest.startswith("sha256:") for digest in plain["vocabularies"].values())
    assert plain["suites"]["knolling"] == instruction_digest(knolling())
    own = visitor(Scorer(items={"knolling": knolling()[:3]})).get("/v1/about").json()["suites"]
    assert own == {**plain["suites"], "knolling": instruction_digest(knolling()[:3])}
    assert plain["looking"]["grounder"]["name"] == "builtin/icons"
    assert plain["looking"]["grounder"]["settings"] == dict(open_grounder("builtin/icons").settings) != {}
    judge = QuestionJudge(ScriptedChat({}, answers_by({})))
    asked_of = visitor(Scorer(judges={"conceptmix": judge})).get("/v1/about").json()["looking"]
    assert asked_of["conceptmix"] == {"name": judge.name, "settings": dict(judge.settings)}
