"""The server describes all its paths, as OpenAPI and as a page without scripts, and the examples in it work."""

from __future__ import annotations

import json
import re
from typing import Any

from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import knolling, visitor

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
