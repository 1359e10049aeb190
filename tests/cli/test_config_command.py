"""`formalimg config`: what is in force, and who says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import formalimg


def test_what_is_in_force_and_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert formalimg("config", cwd=tmp_path).out.splitlines()[1:] == [
        "judge    builtin/icons for builtin models on knolling, knolling-counts, geneval and t2i-compbench",
        "         builtin/drawn for builtin models on natural and conceptmix",
        "         none for all others",
        "budget   none",
        "runs     runs",
    ]
    (tmp_path / "formalimg.toml").write_text(
        '[defaults]\njudge = "hf/a"\njudge_options.top_p = 0.5\nbudget = 3\n[suite.natural]\njudge = "hf/b"\n'
    )
    code, out, _ = formalimg("config", cwd=tmp_path)
    assert code == 0
    assert out.splitlines() == [
        "files    ./formalimg.toml",
        "judge    builtin/icons for builtin models on knolling, knolling-counts, geneval and t2i-compbench",
        "         builtin/drawn for builtin models on natural and conceptmix",
        "         hf/a (top_p=0.5) from ./formalimg.toml for all others",
        "         hf/b from ./formalimg.toml for natural",
        "budget   3 dollars from ./formalimg.toml",
        "runs     runs",
    ]
    found = json.loads(formalimg("config", "--json", cwd=tmp_path).out)
    assert found["judge"] == {"name": "hf/a", "options": {"top_p": "0.5"}, "source": "./formalimg.toml"}
    assert list(found["suites"]) == ["natural"]
    assert found["grounder"] is None
    monkeypatch.setenv("FORMALIMG_GROUNDER", "detector/coco")
    monkeypatch.setenv("FORMALIMG_GROUNDER_OPTIONS", "threshold=0.3")
    shown = formalimg("config", cwd=tmp_path).out
    assert "grounder detector/coco (threshold=0.3) from FORMALIMG_GROUNDER for rewards" in shown
    monkeypatch.setenv("FORMALIMG_JUDGE", "gemini/c")
    assert "gemini/c from FORMALIMG_JUDGE for all others" in formalimg("config", cwd=tmp_path).out
    (tmp_path / "formalimg.toml").write_text("[defaults]\nbuget = 3\n")
    code, _, err = formalimg("config", cwd=tmp_path)
    assert (code, err) == (2, "error: ./formalimg.toml: unknown key 'buget' in [defaults]: did you mean budget?\n")
