"""What `formalimg items write --dry-run` foresees is what a writing without rejections asks."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.authoring.engine import author_suite, estimate_authoring
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.cli.write import write_command
from formalimg.errors import FormalimgError
from formalimg.models.base import Unanswered, Usage
from formalimg.models.pricing import get_price
from formalimg.models.registry import open_chat_model
from tests.benchmarks_authoring.mixer import Talk
from tests.benchmarks_authoring.scripted import Scripted, draft, honest_draft

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
    plan = AuthoringPlan("conceptmix", (1, 3), 4, choices=choices)
    model = open_chat_model("openai/some-model", {"base_url": f"{talk.server.url}/v1", "cache": "off"})
    outlook = estimate_authoring(plan, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    written = talk.write(plan, tmp_path / "out")
    assert set(written.rejections) <= {"conflict"}
    assert (outlook.places, outlook.questions) == (8, len(talk.steps))


def test_after_half_a_round_what_was_rejected_is_still_to_be_written(tmp_path: Path) -> None:
    plan = AuthoringPlan("knolling", (2,), 4, attempts=2)
    said = iter([draft("no", "no"), draft("no", "no")])
    down = Scripted(lambda question: next(said, Unanswered("failed", "down")), concurrency=1)
    assert author_suite(plan, down, tmp_path).outstanding == 2
    outlook = estimate_authoring(plan, down, tmp_path)
    assert (outlook.places, outlook.questions) == (4, 8)
    model = Scripted(honest_draft)
    assert len(author_suite(plan, model, tmp_path).items) == 4
    assert len(model.asked) == 8


def test_the_cost_is_that_of_all_questions_and_answers(tmp_path: Path) -> None:
    model = Scripted(honest_draft, name="openai/gpt-5")
    for suite, questions in (("knolling", 2), ("conceptmix", 3)):
        plan = AuthoringPlan(suite, (1,), 1, choices=ConceptChoices(only="color" if suite == "conceptmix" else None))
        outlook = estimate_authoring(plan, model, tmp_path)
        used = Usage(input_tokens=questions * (len(outlook.first) // 4), output_tokens=questions * 150)
        assert outlook.questions == questions
        assert outlook.cost == pytest.approx(get_price(model.name).cost(used))
        assert estimate_authoring(plan, model, tmp_path, checker=Scripted(honest_draft)).cost is None


def test_a_folder_with_the_items_of_others_is_refused_by_a_dry_run_too(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").touch()
    with pytest.raises(FormalimgError, match="holds items already"):
        estimate_authoring(AuthoringPlan("knolling", (2,), 1), Scripted(honest_draft), tmp_path)


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
