"""A key in the environment goes out with requests and is found nowhere afterwards, whatever the server does with it."""

from __future__ import annotations

import json
import logging
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute
from tests.remote.knowing_server import KnowingServer, all_bytes_in, knolling, looker, order, painter
from tests.support.command import Result, formalimg, formalimg_process
from tests.support.loopback import Dialect, Fault, Request, Response, Route, at_random, scripted
from tests.support.loopback.dialects import Parts
from tests.support.loopback.openai import OPENAI
from tests.support.remote_models import PLANTED
from tests.support.run_contents import judged, rows

pytestmark = pytest.mark.usefixtures("stand_alone")

SAID = (
    f"Incorrect API key provided: {PLANTED}.",
    f"Incorrect API key provided: {PLANTED[:9]}*************{PLANTED[-4:]}. Look it up.",
    f"your header was 'Authorization: Bearer {PLANTED}'",
)
FAULTS = [Fault(status, message=said) for status in ("400", "429", "500") for said in SAID]


def _echoing(route: Route) -> Route:
    """The same answers, with the key in every place where a server could put it."""

    def answer(request: Request, fault: Fault | None, parts: Parts) -> Response:
        good = route.answer(request, fault, parts)
        content = json.loads(good.body)
        came = request.headers["authorization"]
        if "data" in content:
            content["data"][0]["revised_prompt"] = f"A cup, as asked for by {came}, in detail."
        else:
            message = content["choices"][0]["message"]
            message["content"] = json.dumps({"note": came, **json.loads(message["content"])})
        names = ("model", "id", "system_fingerprint", "service_tier", "quality", "background")
        content |= {name: f"{name} for {came}" for name in names}
        return Response.of(content, headers={"x-request-id": f"req {came}"})

    return Route(route.path, answer)


ECHOING = Dialect(
    tuple(_echoing(route) for route in OPENAI.routes if re.search("images|chat", route.path.pattern)), OPENAI.error
)


def _parts_of(key: str) -> Iterator[bytes]:
    """The key, and all pieces of it that nobody would write by chance."""
    yield from (key[start : start + 8].encode() for start in range(len(key) - 7))


def _without_key(found: bytes) -> bool:
    return not [part for part in _parts_of(PLANTED) if part in found]


def _on_the_command_line(*arguments: str, run: Callable[..., Result] = formalimg) -> Result:
    done = run(*arguments)
    assert _without_key((done.out + done.err).encode())
    return done


def test_the_search_finds_parts_of_keys(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"Incorrect: {PLANTED[:9]}***")
    assert not _without_key(all_bytes_in(tmp_path))


def test_no_command_shows_or_keeps_it(tmp_path: Path) -> None:
    items = knolling(4, levels=[1, 2])
    faults = at_random(0.3, FAULTS, seed=2)
    with KnowingServer(items, faults=faults, dialects=[ECHOING]) as server:
        address, run = f"base_url={server.url}/v1", tmp_path / "runs" / "knolling-openai-painter"
        model = ("--model", "openai/painter", "-M", address, "-M", "tries=1", "-M", "first_wait=0.01")
        judge = ("--judge", "openai/looker", "-J", address, "-J", "tries=1", "-J", "first_wait=0.01")
        asked = ("knolling", *model, *judge, "--levels", "1-2", "--per-level", "2")
        assert _on_the_command_line("run", *asked, run=formalimg_process).code == 0
        assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {PLANTED}"}
        assert len(server.requests) > 4
    for form in ("csv", "json"):
        assert _on_the_command_line("report", str(run), "--format", form).code == 0
    assert _on_the_command_line("report", str(run), "--format", "html", "--out", "page.html").code == 0
    assert {"run.toml", "results.sqlite"} <= {path.name for path in run.iterdir()}
    assert (tmp_path / "page.html").stat().st_size > 1000
    assert (tmp_path / "cache" / "answers.sqlite").exists()
    assert "***" in str(rows(run, "SELECT served FROM pictures"))
    assert _without_key(all_bytes_in(tmp_path))


def test_a_run_in_python_keeps_no_trace_of_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)  # what HTTP libraries tell beyond that are all headers as they came
    items = knolling(30, levels=[1, 2])
    with KnowingServer(items, faults=at_random(0.55, FAULTS, seed=5), dialects=[ECHOING]) as server:
        model, judge = painter(server, tries="1"), looker(server, tries="1", cache="on")
        done = [execute(order(items, model), tmp_path / "run", judge) for _ in range(2)]
        assert PLANTED in str([request.headers for request in server.requests])
    stored = judged(tmp_path / "run")
    assert {one.outcome.reason for one in stored} >= {"", "generation failed", "judge failed"}
    assert any("***" in str(one.served["revised_prompt"]) for one in stored if one.image)
    assert any("***" in str(one.verdict.evidence) for one in stored)
    shown = f"{done} {stored} {model!r} {model.settings} {judge!r} {judge.settings} {caplog.text}"
    assert _without_key(shown.encode())
    assert _without_key(all_bytes_in(tmp_path))


@pytest.mark.parametrize("status", ["401", "403", "404", "402"])
def test_the_error_that_ends_a_run_does_not_show_it(status: str, tmp_path: Path) -> None:
    items = knolling(2, levels=[1])
    for number, said in enumerate(SAID):
        folder = tmp_path / f"run{number}"
        faults = scripted([Fault(status, message=said)])
        with KnowingServer(items, faults=faults) as server, pytest.raises(FormalimgError) as caught:
            execute(order(items, painter(server)), folder)
        shown = f"{caught.value!r} {''.join(traceback.format_exception(caught.value))}"
        assert _without_key(shown.encode())
    assert _without_key(all_bytes_in(tmp_path))


def test_a_key_that_was_given_as_an_option_is_refused_and_not_shown(tmp_path: Path) -> None:
    by_itself, in_an_address = f"api_key={PLANTED}", f"base_url=http://me:{PLANTED}@127.0.0.1:9/v1"
    model = ("--model", "openai/painter", "-M", by_itself)
    judge = ("--model", "builtin/oracle", "--judge", "openai/looker", "-J", in_an_address)
    for wrong in (model, judge):
        assert _on_the_command_line("run", "knolling", *wrong, "--levels", "1").code == 2
    assert _without_key(all_bytes_in(tmp_path))
