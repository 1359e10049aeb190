"""From a name and options to a model: keys, addresses, libraries, and messages that say what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from formalimg._util.installing import install_line
from formalimg.errors import FormalimgError
from formalimg.models.providers.anthropic import open_anthropic_chat
from formalimg.models.providers.openai import open_openai_chat, open_openai_images
from tests.support.loopback import Loopback
from tests.support.remote_models import answers, request

pytestmark = pytest.mark.usefixtures("stand_alone")

Open = Callable[[str, Mapping[str, str]], object]

ALL = [(open_openai_images, "openai"), (open_openai_chat, "openai"), (open_anthropic_chat, "anthropic")]


@pytest.mark.parametrize(("opening", "library"), ALL)
def test_unknown_options_are_refused_and_the_known_ones_listed(opening: Open, library: str) -> None:
    with pytest.raises(FormalimgError, match=rf"{library}/some-model has no option 'colour'.*base_url.*concurrency"):
        opening("some-model", {"colour": "red"})


@pytest.mark.parametrize(("opening", "library"), ALL)
def test_a_missing_library_says_how_to_install_it(opening: Open, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(FormalimgError, match=re.escape(install_line(library))):
        opening("some-model", {})


@pytest.mark.parametrize(("opening", "library"), ALL)
def test_a_missing_key_says_which_variable_to_set(opening: Open, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"{library.upper()}_API_KEY")
    with pytest.raises(FormalimgError, match=f"set {library.upper()}_API_KEY"):
        opening("some-model", {})


@pytest.mark.parametrize(("opening", "library"), ALL)
@pytest.mark.parametrize("key", ["sk-two words", "sk-smart‑hyphen", "sk-line\nbreak"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(
    opening: Open, library: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{library.upper()}_API_KEY", key)
    with pytest.raises(FormalimgError, match=f"{library.upper()}_API_KEY holds no key") as caught:
        opening("some-model", {})
    assert key not in str(caught.value)


@pytest.mark.parametrize(("opening", "library"), ALL)
@pytest.mark.parametrize("name", ["api_key", "extra.api_key"])
def test_a_key_is_no_option(opening: Open, library: str, name: str) -> None:
    with pytest.raises(FormalimgError, match="api_key is not an option") as caught:
        opening("some-model", {name: "sk-given-as-an-option"})
    assert "sk-given" not in str(caught.value)


@pytest.mark.parametrize(("opening", "library"), ALL)
def test_an_address_with_a_password_is_refused(opening: Open, library: str) -> None:
    with pytest.raises(FormalimgError, match="base_url") as caught:
        opening("some-model", {"base_url": "https://me:hunter22@example.org/v1"})
    assert "hunter22" not in str(caught.value)


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with Loopback() as server:
        answers(open_openai_images("my-own-flux", {"base_url": f"{server.url}/v1"}), [request()])
    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_the_address_may_lie_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        model = open_openai_images("my-own-flux", {})
        answers(model, [request()])
        assert model.settings["base_url"] == f"{server.url}/v1"
    assert len(server.requests) == 1


def test_the_key_may_lie_in_a_file_of_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-from-the-file-0123\n", encoding="utf-8")
    with Loopback() as server:
        answers(open_openai_images("gpt-image-1", {"base_url": f"{server.url}/v1"}), [request()])
    assert server.requests[0].headers["authorization"] == "Bearer sk-from-the-file-0123"


def test_opening_a_model_calls_nobody() -> None:
    with Loopback() as server:
        for opening, _ in ALL:
            opening("some-model", {"base_url": server.url})
    assert server.requests == []


@pytest.mark.parametrize(
    ("opening", "options", "said"),
    [
        (open_openai_chat, {"temperature": "hot"}, "temperature='hot'"),
        (open_openai_chat, {"schema": "xml"}, "json_schema, json_object, none"),
        (open_openai_images, {"output_compression": "200"}, "from 0 to 100"),
        (open_openai_images, {"base_url": "localhost:8000"}, "not a URL"),
        (open_anthropic_chat, {"thinking": "hard"}, "thinking='hard'"),
    ],
)
def test_wrong_values_say_what_is_wanted(opening: Open, options: Mapping[str, str], said: str) -> None:
    with pytest.raises(FormalimgError, match=said):
        opening("some-model", options)
