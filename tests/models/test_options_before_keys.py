"""A misspelt option is reported as what it is, also where a key or a library is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_grounder, open_judge
from formalimg.models.registry import open_chat_model, open_image_model
from tests.support.command import formalimg
from tests.support.remote_models import stand_alone

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


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix", "cf-world"])
def test_judges_say_so_too(suite: str) -> None:
    with pytest.raises(FormalimgError, match="did you mean base_url"):
        open_judge(suite, "openai/some-model", {"baseurl": "http://127.0.0.1:8000/v1"})


def test_a_detector_checks_its_options_before_its_libraries() -> None:
    with pytest.raises(FormalimgError, match=r"has no option 'thresold': did you mean threshold\?"):
        open_grounder("detector/some/model", {"thresold": "0.3"})
    with pytest.raises(FormalimgError, match=r"has no option 'devise': did you mean device\?"):
        open_grounder("detector/some/model", {"devise": "cpu"})


def test_on_the_command_line(tmp_path: Path) -> None:
    given = ("-j", "openai/m", "-J", "baseurl=http://127.0.0.1:8000/v1")
    code, _, err = formalimg("run", "knolling", "-m", "builtin/reader", *given, "--dry-run", cwd=tmp_path)
    assert code == 2
    assert "did you mean base_url?" in err
