"""No provider's library takes its key, or a prompt, to another server because the first one says so."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import CallError
from formalimg.models.providers.limits import refuse_redirect
from tests.support.loopback.hostile import Answer, HostileServer, redirect, whole
from tests.support.remote_calls import CALLERS, plant_keys, why_it_failed
from tests.support.remote_models import PLANTED, stand_alone
from tests.support.sizes import tries


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    plant_keys(monkeypatch)


@pytest.mark.parametrize("status", [307, 301, 302, 303, 308][: tries(1, 5)])
@pytest.mark.parametrize("caller", CALLERS)
def test_a_redirect_to_another_port_ends_the_run_and_names_the_server(caller: str, status: int) -> None:
    with HostileServer(whole(b"{}")) as other, HostileServer(redirect(status, f"{other.url}/v1?x=y")) as server:
        with pytest.raises(FormalimgError) as caught:
            why_it_failed(caller, server.url)
        assert len(server.came) == 1
        assert PLANTED in str(server.came[0][2])  # so there was a key to lose
        assert other.came == []
    assert f"{server.url} redirects to {other.url}, " in str(caught.value)
    assert "name it in base_url" in str(caught.value)
    assert "x=y" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("caller", CALLERS)
def test_a_redirect_to_another_name_of_the_same_machine_is_one_to_another_server(caller: str) -> None:
    with HostileServer(whole(b"{}"), host="localhost") as other:
        with (
            HostileServer(redirect(307, f"//localhost:{other.port}/")) as server,
            pytest.raises(FormalimgError, match=f"to http://localhost:{other.port},"),
        ):
            why_it_failed(caller, server.url)
        assert other.came == []


@pytest.mark.parametrize("caller", CALLERS)
def test_a_redirect_within_the_server_is_followed(caller: str) -> None:
    with HostileServer(lambda handler: _move_once(handler.path)(handler)) as server:
        assert why_it_failed(caller, server.url).startswith("wrong: ")  # what is there is no answer
    assert [path for _, path, _ in server.came][1:] == ["/moved"]
    assert PLANTED in str(server.came[1][2])


def _move_once(path: str) -> Answer:
    return whole(b"{}") if path == "/moved" else redirect(308, "/moved")


@pytest.mark.parametrize(
    ("here", "there", "named"),
    [
        ("https://api.example.org/v1", "http://api.example.org/v1", "http://api.example.org"),
        ("https://api.example.org/v1", "https://api.example.org:8443/v1", "https://api.example.org:8443"),
        ("https://api.example.org/v1", "https://example.org/v1", "https://example.org"),
        ("https://api.example.org/v1", "https://api.example.org.evil.net/", "https://api.example.org.evil.net"),
        ("https://api.example.org/v1", "https://api.example.org@evil.net/", "https://evil.net"),
        ("http://api.example.org:8000/v1", "https://api.example.org/v1", "https://api.example.org"),
    ],
)
def test_another_scheme_port_or_host_is_another_server(here: str, there: str, named: str) -> None:
    with pytest.raises(FormalimgError, match=f" redirects to {named}, "):
        refuse_redirect(_response(here, there))


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("https://api.example.org/v1", "https://api.example.org/v2"),
        ("https://api.example.org/v1", "https://API.example.org:443/v2"),
        ("https://api.example.org/v1", "/v2"),
        ("http://api.example.org/v1", "https://api.example.org/v1"),
    ],
)
def test_the_same_server_and_the_same_with_tls_are_none(here: str, there: str) -> None:
    refuse_redirect(_response(here, there))


def test_a_redirect_that_cannot_be_read_is_an_error_of_this_call() -> None:
    with pytest.raises(CallError, match="redirects to an address that cannot be read"):
        refuse_redirect(_response("https://api.example.org/v1", "http://[::1/"))


def _response(here: str, there: str) -> httpx2.Response:
    return httpx2.Response(307, headers={"location": there}, request=httpx2.Request("POST", here))
