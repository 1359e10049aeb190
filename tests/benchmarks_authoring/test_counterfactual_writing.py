"""CF-World written by a chat model, through the real library of a provider: plans, groups, descriptions, pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, Law, collect_outcomes, read_laws
from formalimg.benchmarks.cfworld.authoring.group_task import read_groups
from formalimg.benchmarks.cfworld.items import items_of_groups
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.loader import load
from formalimg.cli.write import write_command
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.counterfactual_author import (
    BY_LAW,
    OURS,
    Answer,
    Author,
    after,
    assert_sound,
    group_asked,
    laws,
    plan_of,
)
from tests.support.loopback.faults import Fault


def test_laws_are_read_from_text_tables_and_toml(tmp_path: Path) -> None:
    expected = (Law("Ice floats on water.", "physics", "mechanics"), Law("Bees like flowers."))
    texts = {
        "laws.txt": "# mine\n\nIce floats on water. | physics | mechanics\nBees like  flowers.\n",
        "laws.csv": "law,discipline,branch\nIce floats on water.,physics,mechanics\nBees like flowers.,,\n",
        "laws.toml": '[[law]]\nlaw="Ice floats on water."\ndiscipline="physics"\nbranch="mechanics"\n'
        '[[law]]\nlaw="Bees like flowers."\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert read_laws(tmp_path / name) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "Ice floats.\nice floats", "line 2: a law is a sentence"),
        ("a.txt", "Ice floats.\n\nIce floats. | physics", "line 3: this law occurs twice"),
        ("a.txt", "Ice floats. | Physics!", "line 1: discipline and branch are small letters"),
        ("a.txt", "Ice floats. | a | b | c", "line 1: unknown part 4"),
        ("a.txt", "A gun fires.", "line 1: the law says 'gun'"),
        ("a.txt", "# none", "holds no laws"),
        ("a.csv", "rule\nIce floats.", "law is missing"),
        ("a.csv", "law\nIce floats.,physics", "line 2: unknown one more column"),
        ("a.toml", "law = 3", "laws are tables"),
        ("a.toml", "law = ", "is not valid TOML"),
        ("a.toml", "[[law]]\nlaw = 3", "law 1: law, discipline and branch must be texts"),
    ],
)
def test_a_file_without_proper_laws_is_an_error_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormalimgError, match=message):
        read_laws(tmp_path / name)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda: AuthoringPlan("cf-world", (1,)), "leave --levels out"),
        (lambda: AuthoringPlan("cf-world", per_level=7), "say --per-law"),
        (lambda: AuthoringPlan("cf-world-rules"), "cannot be written"),
        (lambda: AuthoringPlan("cf-world", choices=ConceptChoices(binder="offline")), "for conceptmix only"),
        (lambda: AuthoringPlan("natural", choices=CounterfactualChoices(laws(1))), "--laws: for cf-world only"),
        (
            lambda: AuthoringPlan("cf-world-attributes", choices=CounterfactualChoices(per_law=2)),
            "--per-law: not for cf-world-attributes",
        ),
    ],
)
def test_plans_that_make_no_sense_are_refused(plan: type[AuthoringPlan], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        plan()  # type: ignore[call-arg]


pytest.importorskip("openai")
app = typer.Typer()
app.command()(write_command)


def test_right_answers_become_groups_and_their_items(author: Author, tmp_path: Path) -> None:
    written = author.write(plan_of(5), tmp_path)
    groups = read_groups(tmp_path / "groups.jsonl")
    expected = [replace(BY_LAW[law.law][0], id=f"law-{n:03}-1") for n, law in enumerate(laws(5), 1)]
    assert groups == expected
    assert load("cf-world", tmp_path) == list(written.items) == items_of_groups(expected, "mine")
    nameless = load("cf-world-denominalised", tmp_path / "denominalised")
    assert [item.prompt for item in nameless] == [group.denominalised for group in expected]
    assert sorted(author.steps) == ["check"] * 5 + ["group"] * 5
    assert_sound(written, groups, tmp_path)


def test_every_attempt_begins_from_something_else(author: Author, tmp_path: Path) -> None:
    author.write(plan_of(2, attempts=4, per_law=3), tmp_path, lambda step, answer, question: {"thoughts": ""})
    assert len(set(author.questions)) == len(author.questions) == 2 * 4 * 3


@pytest.mark.parametrize("stop", [1, 7])
def test_wherever_an_outage_comes_it_goes_on_to_the_same_files(author: Author, tmp_path: Path, stop: int) -> None:
    plan = plan_of(3, questions="model")
    whole = author.write(plan, tmp_path / "whole")
    asked = len(author.steps)
    down = author.write(
        plan, tmp_path / "stopped", faults=lambda place: Fault("500") if place >= stop else None, hands=2
    )
    assert len(author.steps) == stop
    assert down.path is None
    assert down.outstanding > 0
    assert author.write(plan, tmp_path / "stopped").items == whole.items
    assert len(author.steps) == asked - stop, "nothing that was answered is asked again"
    for name in ("items.jsonl", "groups.jsonl", "denominalised/items.jsonl"):
        assert (tmp_path / "stopped" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    usage = [json.loads((tmp_path / name / "writing.json").read_text())["usage"] for name in ("whole", "stopped")]
    assert usage[0] == usage[1]
    other = replace(plan, choices=CounterfactualChoices(laws(3)[::-1], questions="model"))
    with pytest.raises(FormalimgError, match="items written with laws"):
        author.write(other, tmp_path / "stopped")


def test_the_same_group_twice_is_kept_once(author: Author, tmp_path: Path) -> None:
    for hands in (1, 4):
        written = author.write(plan_of(3, per_law=2), tmp_path / str(hands), hands=hands)
        assert [item.spec.group for item in written.items[::3]] == ["law-001-1", "law-002-1", "law-003-1"]
        assert dict(written.rejections) == {"duplicate": 6}
        assert written.missing == {2: 3}
    manifest = json.loads((tmp_path / "1" / "writing.json").read_text())
    assert manifest["laws_short_of_groups"] == [law.law for law in laws(3)]
    assert manifest["items"] == 9


def test_a_law_without_a_field_gets_the_one_that_the_writer_says(author: Author, tmp_path: Path) -> None:
    asked = (Law(OURS[0].law), Law(OURS[1].law, "music"), Law(OURS[2].law))
    plan = AuthoringPlan("cf-world", choices=CounterfactualChoices(asked))

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        wrong = step == "group" and group_asked(question).law == OURS[2].law
        return {**answer, "discipline": "biology", "branch": "optics"} if wrong else answer

    author.write(plan, tmp_path, spoil)
    said, given, mixed_up = read_groups(tmp_path / "groups.jsonl")
    assert (said.discipline, said.branch) == (OURS[0].discipline, OURS[0].branch)
    assert (given.discipline, given.branch) == ("music", "")
    assert (mixed_up.discipline, mixed_up.branch) == ("biology", ""), "only physics has branches"


def test_only_the_outcome_of_existing_items_is_described(author: Author, tmp_path: Path) -> None:
    items = items_of_groups(OURS[:4])
    told = collect_outcomes(items)
    plan = AuthoringPlan("cf-world-denominalised", choices=CounterfactualChoices(named_outcomes=told))
    written = author.write(plan, tmp_path)
    assert load("cf-world-denominalised", tmp_path) == list(written.items)
    for item, group, source in zip(written.items, OURS[:4], items[1::3], strict=True):
        assert item.prompt == f"{group.implicit} {group.described}"
        assert (item.id, item.spec) == (source.id, source.spec)


def test_an_outcome_that_is_not_marked_is_replaced_where_it_stands(author: Author, tmp_path: Path) -> None:
    group = OURS[0]
    explicit, implicit = items_of_groups([group])[1:]
    inside = replace(explicit, prompt=f"{explicit.prompt} It is a quiet day.")
    other = replace(implicit, prompt=f"Once, {implicit.prompt}")
    plan = AuthoringPlan(
        "cf-world-denominalised", choices=CounterfactualChoices(named_outcomes=collect_outcomes([inside, other]))
    )
    (item,) = author.write(plan, tmp_path).items
    assert item.prompt == f"{group.denominalised} It is a quiet day."
    with pytest.raises(FormalimgError, match="no item of level 3"):
        collect_outcomes([explicit])
    with pytest.raises(FormalimgError, match="two items of level 2"):
        collect_outcomes([explicit, implicit, inside])


def test_pairs_are_written_with_both_prompts(author: Author, tmp_path: Path) -> None:
    plan = AuthoringPlan("cf-world-attributes", per_level=6, attempts=9)
    written = author.write(plan, tmp_path)
    assert load("cf-world-attributes", tmp_path) == list(written.items)
    assert [item.level for item in written.items] == [1, 2] * 6
    assert {item.id for item in written.items[:2]} == {"pair-001-common", "pair-001-rare"}
    assert written.accepted == 6
    assert set(written.rejections) <= {"duplicate"}
    assert len(AuthoringPlan("cf-world-attributes").slots) == 100


def test_the_command_writes_groups_and_descriptions_and_says_what_is_missing(
    author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "laws.txt").write_text("\n".join(" | ".join(filter(None, law)) for law in laws(2)))
    model = ["-m", "openai/some-model", "-M", f"base_url={author.server.url}/v1", "-M", "cache=off"]

    def run(*arguments: str) -> tuple[int, list[str]]:
        done = CliRunner().invoke(app, ["cf-world", *model, *arguments], catch_exceptions=False)
        return done.exit_code, done.output.splitlines()

    author.spoil = lambda step, answer, question: answer
    code, lines = run("--laws", "laws.txt", "--questions", "model", "--out", "made")
    assert (code, lines[-1]) == (0, "6 items in made/items.jsonl")
    assert lines[1].split() == ["accepted", "2", "100.0%"]

    def stubborn(step: str, answer: Answer, question: str) -> Answer:
        known = step == "group" and after(question, "The law: ") == laws(2)[1].law
        return {**answer, "factual": "A gun."} if known else answer

    author.spoil = stubborn
    code, lines = run("--laws", "laws.txt", "--attempts", "2", "--out", "less")
    assert code == 1
    assert "groups: 1 missing after 2 attempts each: raise --attempts to continue" in lines
    assert any(line.split()[:2] == ["unsafe", "2"] for line in lines)
    with pytest.raises(FormalimgError, match="--items: not for cf-world"):
        run("--items", "less", "--out", "more")
    with pytest.raises(FormalimgError, match="--task: for cf-world only"):
        CliRunner().invoke(app, ["natural", *model, "--task", "pairs", "--out", "more"], catch_exceptions=False)
