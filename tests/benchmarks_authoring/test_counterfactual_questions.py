"""Questions for CF-World prompts that exist, written by a chat model through the real library of a provider."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices
from formalimg.benchmarks.cfworld.items import items_of_groups, rule_items
from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.items_file import write_items
from formalimg.benchmarks.loader import load
from formalimg.cli.write import write_command
from formalimg.errors import FormalimgError
from formalimg.types import Item
from tests.benchmarks_authoring.counterfactual_author import OURS, Author, after

pytest.importorskip("openai")
app = typer.Typer()
app.command()(write_command)


def prompts(count: int = 2) -> tuple[Item[CounterfactualSpec], ...]:
    """The items of our first groups, without their questions."""
    return tuple(_without_questions(item) for item in items_of_groups(OURS[:count], "1"))


def _without_questions(item: Item[CounterfactualSpec]) -> Item[CounterfactualSpec]:
    return replace(item, spec=replace(item.spec, questions=()))


def plan_for(items: tuple[Item[CounterfactualSpec], ...], attempts: int = 2) -> AuthoringPlan:
    return AuthoringPlan("cf-world", attempts=attempts, version="mine", choices=CounterfactualChoices(prompts=items))


def test_every_prompt_gets_questions_and_the_implicit_one_those_of_the_explicit_one(
    author: Author, tmp_path: Path
) -> None:
    given = prompts()
    written = author.write(plan_for(given), tmp_path)
    assert author.steps == ["questions"] * 4, "one request for L1 and one for L2 of each group"
    assert load("cf-world", tmp_path) == list(written.items)
    assert [_without_questions(item) for item in written.items] == [replace(item, version="mine") for item in given]
    for factual, explicit, implicit in zip(*(written.items[start::3] for start in range(3)), strict=True):
        assert explicit.spec.questions == implicit.spec.questions != factual.spec.questions
        for item in (factual, explicit):
            weights = [(question.dimension, question.weight) for question in item.spec.questions]
            assert weights == [("integrity", 3), ("logic", 8), ("logic", 8), ("assessment", 15)]
            assert item.spec.assessment.rstrip(".") in item.spec.questions[-1].question
    card = json.loads((tmp_path / "writing.json").read_text())
    assert card["prompts_with_questions"] == 6
    assert card["prompts_without_assessment_point"] == []
    assert not (tmp_path / "groups.jsonl").exists()


def test_the_writer_hears_the_prompt_the_assessment_point_and_whose_laws_hold(author: Author, tmp_path: Path) -> None:
    given = prompts(1)
    author.write(plan_for(given), tmp_path, hands=1)
    for question, item in zip(author.questions, given, strict=False):
        assert item.prompt in question
        assert after(question, "is right: ") == item.spec.assessment
    assert "our own world, since the words change nothing" in author.questions[0]
    assert "what these words themselves say" in author.questions[1]


def test_equal_prompts_have_questions_each_and_a_prompt_without_a_point_stays_as_it_is(
    author: Author, tmp_path: Path
) -> None:
    first = prompts(1)
    twins = tuple(replace(item, id=f"twin-{item.level}", spec=replace(item.spec, group="twin")) for item in first[:2])
    blank = replace(first[2], id="blank", spec=CounterfactualSpec("blank", "", ()))
    given = (*first, *twins, blank)
    written = author.write(plan_for(given), tmp_path)
    assert len(author.steps) == 4
    assert [item.id for item in written.items] == [item.id for item in given]
    assert [bool(item.spec.questions) for item in written.items] == [True] * 5 + [False]
    assert not written.rejections
    card = json.loads((tmp_path / "writing.json").read_text())
    assert card["prompts_without_assessment_point"] == ["blank"]
    with pytest.raises(FormalimgError, match="none of these prompts has an assessment point"):
        plan_for((blank,))


def _rules(count: int = 6) -> tuple[Item[CounterfactualSpec], ...]:
    """The first drawings of the rule probe, without their questions."""
    return tuple(_without_questions(item) for item in rule_items("1")[:count])


def test_each_drawing_of_the_rule_probe_gets_a_question_of_its_own(author: Author, tmp_path: Path) -> None:
    given = _rules()
    plan = AuthoringPlan("cf-world-rules", attempts=2, version="mine", choices=CounterfactualChoices(prompts=given))
    written = author.write(plan, tmp_path, hands=1)
    assert author.steps == ["rule question"] * 6
    assert all(item.prompt in question for item, question in zip(given, author.questions, strict=True))
    assert load("cf-world-rules", tmp_path) == list(written.items)
    assert [_without_questions(item) for item in written.items] == [replace(item, version="mine") for item in given]
    for item in written.items:
        (question,) = item.spec.questions
        assert (question.dimension, question.weight) == ("assessment", 15)
        assert item.spec.assessment.rstrip(".") in question.question


def test_the_command_writes_questions_and_says_what_it_needs(
    author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_items(prompts(2), tmp_path / "given")
    model = ["-m", "openai/some-model", "-M", f"base_url={author.server.url}/v1", "-M", "cache=off"]

    def run(*arguments: str) -> tuple[int, list[str]]:
        done = CliRunner().invoke(app, ["cf-world", *model, "--task", "questions", *arguments], catch_exceptions=False)
        return done.exit_code, done.output.splitlines()

    author.spoil = lambda step, answer, question: answer
    code, lines = run("--items", "given", "--out", "made", "--dry-run")
    assert (code, lines[0][:46]) == (0, "4 to write, at least 4 questions to ask of ope")
    code, lines = run("--items", "given", "--out", "made")
    assert (code, lines[-1]) == (0, "6 items in made/items.jsonl")
    author.spoil = lambda step, answer, question: {**answer, "questions": []}
    code, lines = run("--items", "given", "--out", "none", "--attempts", "1")
    assert code == 1
    assert "prompts: 4 missing after 1 attempts each: raise --attempts to continue" in lines
    for arguments, message in (
        ((), "name their items with --items"),
        (("--items", "given", "--checker", "openai/other"), "leave --checker out"),
        (("--items", "given", "--per-law", "2"), "--per-law: not for questions"),
    ):
        with pytest.raises(FormalimgError, match=message):
            run(*arguments, "--out", "more")
