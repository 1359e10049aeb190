"""`formalimg certify` prints what was measured, and its exit code says whether it is enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import Result, formalimg
from tests.support.loopback import Fault, Loopback
from tests.support.remote_models import stand_alone


def test_the_table_and_the_exit_code() -> None:
    result = formalimg("certify", "--scenes", "1", "--others", "2", "--require", "0.97")
    assert result.code == 0, result.err
    assert result.out.startswith("builtin/icons: 1 scene")
    assert "published parser" in result.out
    assert result.out.endswith("images that are no drawings: 2 of 2 refused\n")


def test_json() -> None:
    result = formalimg("certify", "builtin/icons", "--scenes", "1", "--others", "0", "--seed", "5", "--json")
    certificate = json.loads(result.out)
    assert (certificate["grounder"], certificate["scenes"], certificate["seed"]) == ("builtin/icons", 1, 5)
    assert certificate["readings"][0]["precision"] == 1


def test_an_unknown_grounder_is_the_users_mistake() -> None:
    result = formalimg("certify", "builtin/eyes")
    assert result.code == 2
    assert "builtin/icons" in result.err


# --- grounders that cost


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A world in which a call to openai/looker costs a cent, and everything it says is remembered."""
    stand_alone(monkeypatch, tmp_path)
    (tmp_path / "prices.toml").write_text('[prices]\n"openai/looker" = { input = 100.0, output = 0.0 }\n')
    return tmp_path


def _certify(server: Loopback, *more: str) -> Result:
    options = (f"base_url={server.url}/v1", "requests=all-at-once", "initial_backoff=0", "concurrency=1")
    given = [word for option in options for word in ("-J", option)]
    return formalimg("certify", "openai/looker", *given, "--scenes", "1", "--others", "0", *more)


def test_options_dry_run_and_cost(priced: Path) -> None:
    with Loopback(reply=lambda asked: '{"objects": []}') as server:
        dry = _certify(server, "--dry-run")
        assert (dry.code, server.requests) == (0, [])
        assert "images to look at          5" in dry.out
        assert "questions to ask           5  about $1.00" in dry.out
        done = _certify(server, "--budget", "1")
        assert len(server.requests) == 5  # all classes in one request, as the option says
    assert done.code == 0, done.err
    assert done.err.splitlines() == [
        "at most 5 images, 5 questions, about $1.00, under a minute at 5 s a question",
        "it cost $0.05",
    ]


def test_a_budget_stops_it_and_a_larger_one_goes_on(priced: Path) -> None:
    with Loopback(reply=lambda asked: '{"objects": []}') as server:
        done = _certify(server, "--budget", "0.03")
        assert (done.code, done.out) == (130, "")
        assert "the budget of $0.03 is used up after 3 images: repeat the command with a larger budget" in done.err
        assert len(server.requests) == 3
        assert _certify(server, "--budget", "1").code == 0
        assert len(server.requests) == 5


def test_a_budget_needs_a_price(priced: Path) -> None:
    (priced / "prices.toml").unlink()
    elsewhere = ("-J", "base_url=http://nowhere.invalid/v1")  # a server on this machine is free
    done = formalimg("certify", "openai/looker", *elsewhere, "--scenes", "1", "--budget", "1")
    assert done.code == 2
    assert "nobody knows what openai/looker costs" in done.err


def test_a_grounder_that_never_answers_is_given_up(priced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.judges.certificates.measurement.MAX_FAILURES", 3)
    with Loopback(faults=lambda number: Fault("400")) as server:
        done = _certify(server)
        assert len(server.requests) == 3
    assert done.code == 2
    assert "openai/looker failed 3 times in a row, the last time: " in done.err
