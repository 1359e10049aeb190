"""What `formalimg write --dry-run` foresees is what a writing without rejections asks."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.cli.write import write_command
from formalimg.models import open_chat_model
from formalimg.writers import ConceptChoices, WritingPlan, foresee_writing
from tests.writers.mixer import Talk

pytest.importorskip("openai")
app = typer.Typer()
app.command()(write_command)


@pytest.mark.parametrize(
    "choices",
    [
        ConceptChoices(),
        ConceptChoices(only="spatial"),
        ConceptChoices(only="spatial", binder="offline", questions="template"),
    ],
)
def test_as_many_questions_are_foreseen_as_right_answers_take(
    talk: Talk, tmp_path: Path, choices: ConceptChoices
) -> None:
    plan = WritingPlan("conceptmix", (1, 3), 4, choices=choices)
    model = open_chat_model("openai/some-model", {"base_url": f"{talk.server.url}/v1", "cache": "off"})
    outlook = foresee_writing(plan, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    written = talk.write(plan, tmp_path / "out")
    assert set(written.rejections) <= {"conflict"}
    assert (outlook.places, outlook.questions) == (8, len(talk.steps))


@pytest.mark.parametrize("suite", ["knolling", "natural", "conceptmix", "cf-world"])
def test_a_dry_run_asks_nobody_and_leaves_nothing(suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    arguments = [suite, "-m", "openai/gpt-5", "--out", str(tmp_path / "out"), "--dry-run"]
    arguments += ["-M", "base_url=http://127.0.0.1:9/v1"]
    if suite != "cf-world":
        arguments += ["--levels", "2", "--per-level", "3"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "at least" in done.output
    assert "the first would be:" in done.output
    assert not (tmp_path / "out").exists()
