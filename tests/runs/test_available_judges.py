"""Judges that are suggested: keys by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.runs.defaults.settings import no_judge_error, suggest_judge


def test_keys_are_named_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    (tmp_path / ".env").write_text("GOOGLE_API_KEY=AIzaabcdefgh12345678\n")
    lines = no_judge_error("knolling", "openai/x", "default", "command", making=True).findings
    assert [line.strip() for line in lines[:3]] == [
        "Available here, add one of these:",
        "--judge gemini/gemini-3-pro-preview  (GOOGLE_API_KEY is set)",
        "--judge openai/gpt-5                 (OPENAI_API_KEY is set)",
    ]
    assert suggest_judge() == "--judge gemini/gemini-3-pro-preview"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:password@somewhere/v1")
    text = str(no_judge_error("knolling", "openai/x", "default", "python", making=True))
    assert "judge='openai/MODEL'" in text
    assert "(OPENAI_BASE_URL is set: name a model of that server)" in text
    assert "password" not in text
    assert "openai/gpt-5" not in text
