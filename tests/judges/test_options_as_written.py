"""Options of judges in several words are written with hyphens, and messages show them so."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.judges.factory import open_judge
from tests.support.remote_models import stand_alone

CHAT = "openai/gpt-4o"


@pytest.mark.parametrize(
    ("suite", "option", "known"),
    [
        ("conceptmix", "requests", "each-question, all-at-once"),
        ("knolling", "requests", "per-class, all-at-once"),
        ("natural", "answers", "each-clause, published"),
        ("cf-world", "answers", "numbered, published"),
    ],
)
def test_a_wrong_value_is_answered_with_values_that_work(
    suite: str, option: str, known: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_alone(monkeypatch, tmp_path)
    for wrong in ("foo", "foo-bar"):
        with pytest.raises(FormalimgError, match=f"^unknown {option} '{wrong}': known are {known}$"):
            open_judge(suite, CHAT, {option: wrong})
    for written in known.split(", "):
        for way in (written, written.replace("-", " ")):
            assert open_judge(suite, CHAT, {option: way}).settings[option] == written.replace("-", " ")
