"""What the server says of itself: OpenAPI and a page, metrics, and what shapes its rewards."""

from __future__ import annotations

import json
import re
from typing import Any

from formalimg.benchmarks.conceptmix.judge import QuestionJudge
from formalimg.benchmarks.loader import instruction_digest
from formalimg.judges.factory import open_grounder
from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import CUP, asked, knolling, visitor
from tests.support.concept_items import answers_by
from tests.support.scripted_chat import ScriptedChat

TOKEN = "a-token-that-is-long-enough"


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {value["$ref"]} if "$ref" in value else set().union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_all_paths_are_described_and_nothing_else() -> None:
    server = visitor(token=TOKEN)
    document = server.get("/openapi.json").json()
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", "1.2.3")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            status = server.request(method, path).status_code
            assert status == (
                401 if operation.get("security") != [] else 503 if path in ("/health", "/readyz") else 200
            )
    known = {"authorization": f"Bearer {TOKEN}"}
    app: Any = server.app
    assert {route.path for route in app.routes} == set(document["paths"])
    assert server.get("/nothing", headers=known).status_code == 404
    for reference in references(document):
        found = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert {tag for operation in operations for tag in operation["tags"]} == {tag["name"] for tag in document["tags"]}


def test_the_examples_are_answered_as_shown() -> None:
    with visitor(Scorer(items={"knolling": knolling()[:3]}, suites=["knolling"])) as server:
        paths = server.get("/openapi.json").json()["paths"]
        for path in ("/v1/score", "/compute", "/score"):
            operation = paths[path]["post"]
            request = operation["requestBody"]["content"]["application/json"]["example"]
            shown = operation["responses"]["200"]["content"]["application/json"]["example"]
            assert server.post(path, json=request).json() == shown
        shown = paths["/health"]["get"]["responses"]["200"]["content"]["application/json"]["example"]
        assert server.get("/health").json() == shown


def test_the_page_loads_nothing_and_shows_every_path() -> None:
    answer = visitor().get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"<script|<link|<img|@import|url\(|src=|https?://(?!trainer:TOKEN@HOST)", answer.text)
    for path in visitor().get("/openapi.json").json()["paths"]:
        assert re.search(rf"<h3><b>(GET|POST)</b> {re.escape(path)}</h3>", answer.text)
    assert json.dumps("formalimg_strict")[1:-1] in answer.text


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
