"""Options of models are read strictly, before keys are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.options import Options
from formalimg.models.registry import open_chat_model, open_image_model
from formalimg.models.secrets import redact
from tests.support.remote_models import stand_alone


def test_options_are_read_as_what_they_are() -> None:
    given = Options(
        "x/y", {"a": "text", "n": "-3", "f": "2.5", "on": "Yes", "c": "low", "u": "http://[::1]:80/v1", "extra.k": "v"}
    )
    assert given.text("a", None) == "text"
    assert given.integer("n", 0) == -3
    assert given.number("f", 0.0) == 2.5
    assert given.flag("on", False) is True
    assert given.choice("c", ["low", "high"], None) == "low"
    assert given.url("u", None) == "http://[::1]:80/v1"
    assert given.with_prefix("extra.") == {"k": "v"}
    given.reject_unknown()


WRONG: dict[str, tuple[str, Callable[[Options], object]]] = {
    "3.5": ("give a whole number from 1 to 9", lambda given: given.integer("o", None, minimum=1, maximum=9)),
    "10": ("give a whole number from 1 to 9", lambda given: given.integer("o", None, minimum=1, maximum=9)),
    "0": ("give a whole number, 1 or more", lambda given: given.integer("o", None, minimum=1)),
    "nan": ("give a number", lambda given: given.number("o", None)),
    "inf": ("give a number, 0 or more", lambda given: given.number("o", None, minimum=0)),
    "-1": ("give a number, 0 or more", lambda given: given.number("o", None, minimum=0)),
    "perhaps": ("give on or off", lambda given: given.flag("o", False)),
    "middle": ("give one of low, high", lambda given: given.choice("o", ["low", "high"], None)),
    "localhost:8000": ("is not a URL", lambda given: given.url("o", None)),
    "http://host:port": ("is not a URL", lambda given: given.url("o", None)),
    "http://host:0": ("is not a URL", lambda given: given.url("o", None)),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_values_say_what_is_right(text: str) -> None:
    advice, read = WRONG[text]
    with pytest.raises(FormalimgError, match=f"o='{text}' of x/y .*{advice}"):
        read(Options("x/y", {"o": text}))


def test_what_is_left_over_is_a_mistake() -> None:
    given = Options("x/y", {"stepz": "3"})
    given.integer("steps", 1)
    given.text("size", None)
    with pytest.raises(FormalimgError, match=r"x/y has no option 'stepz': did you mean steps\? it has size, steps"):
        given.reject_unknown()
    with pytest.raises(FormalimgError, match="x/y has no option 'z': it has none"):
        Options("x/y", {"z": ""}).reject_unknown()


@pytest.mark.parametrize("name", ["api_key", "API_KEY", "token", "hf_token"])
def test_keys_are_no_options(name: str) -> None:
    with pytest.raises(FormalimgError, match="set the key in the environment") as caught:
        Options("x/y", {name: "Zsecret-of-mine"})
    assert "Zsecret-of-mine" not in str(caught.value)
    assert redact("it is Zsecret-of-mine") == "it is ***"


def test_what_cannot_be_read_as_an_address_is_not_shown() -> None:
    with pytest.raises(FormalimgError, match=r"^o of x/y is not a URL: write it as http://localhost:8000/v1$"):
        Options("x/y", {"o": "http://me:Zpassword9@[host/v1"}).url("o", None)


REMOTE: list[tuple[Callable[..., object], str]] = [
    (open_chat_model, "openai/some-model"),
    (open_image_model, "openai/some-model"),
    (open_chat_model, "anthropic/some-model"),
    (open_chat_model, "gemini/some-model"),
    (open_image_model, "gemini/some-model"),
    (open_chat_model, "hf/some/model"),
    (open_image_model, "hf/some/model"),
]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "HF_TOKEN")


@pytest.fixture(autouse=True)
def _without_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("opening", "name"), REMOTE)
def test_a_misspelt_address_is_not_a_missing_key(opening: Callable[..., object], name: str) -> None:
    with pytest.raises(FormalimgError, match=f"^{name} has no option 'baseurl': did you mean base_url"):
        opening(name, {"baseurl": "http://127.0.0.1:8000/v1"})
    with pytest.raises(FormalimgError, match="needs a key: set"):
        opening(name, {})
