"""ConceptMix written by a chat model, through the real library of a provider: from plan to items, with any stop."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.conceptmix.authoring.templates import draw_mixture
from formalimg.benchmarks.conceptmix.conflicts import find_conflicts
from formalimg.benchmarks.conceptmix.pools import load_pools
from formalimg.benchmarks.conceptmix.spec import Binding
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from tests.benchmarks_authoring.mixer import POOLS, Answer, Talk, assert_sound

pytest.importorskip("openai")

SPATIAL = AuthoringPlan("conceptmix", (1,), 1, attempts=1, choices=ConceptChoices(only="spatial"))


def drawn_in(folder: Path, plan: AuthoringPlan) -> list[Binding]:
    """What was drawn in each attempt of a writing, before anyone was asked."""
    levels = {slot.id: slot for slot in plan.slots}
    with sqlite3.connect(folder / "writing.sqlite") as file:
        attempts = file.execute("select slot, attempt from outcomes").fetchall()
    return [draw_mixture(plan, POOLS, levels[slot], attempt).binding for slot, attempt in attempts]


def is_open(binding: Binding) -> bool:
    """Has a binding something to be filled in, and is it worth it?"""
    alone = len(binding.objects) == 1 and "size" in binding.objects[0].attributes
    return (alone or bool(binding.relations)) and not find_conflicts(binding)


def test_right_answers_become_items_and_only_what_is_open_is_asked(talk: Talk, tmp_path: Path) -> None:
    plan = AuthoringPlan("conceptmix", (1, 3, 5), 4, attempts=12, version="mine-1")
    written = talk.write(plan, tmp_path)
    assert [item.level for item in written.items] == [1] * 4 + [3] * 4 + [5] * 4
    assert set(written.rejections) <= {"conflict"}
    assert load("conceptmix", tmp_path) == list(written.items)
    assert {item.version for item in written.items} == {"mine-1"}
    assert_sound(written, tmp_path)
    manifest = json.loads((tmp_path / "writing.json").read_text())
    steps = Counter(talk.steps)
    assert steps["binding"] == sum(map(is_open, drawn_in(tmp_path, plan))) > 0
    assert steps["caption"] == steps["questions"] == steps["check"] == 12
    assert manifest["bound_by"]["model"] + manifest["bound_by"]["nobody"] == 12
    assert sum(entry["accepted"] for entry in manifest["by_category"].values()) == 4 * 2 + 4 * 4 + 4 * 6
    assert sum(entry["tried"] for entry in manifest["by_level"].values()) == written.tried


def test_the_paper_keeps_the_caption_and_the_published_code_takes_what_is_repeated(talk: Talk, tmp_path: Path) -> None:
    def spoil(step: str, answer: Answer, question: str) -> Answer:
        return {**answer, "caption": f"Look: {answer['caption']}"} if step == "repeat" else answer

    paper = talk.write(SPATIAL, tmp_path / "paper", spoil)
    assert "repeat" not in talk.steps
    theirs = AuthoringPlan("conceptmix", (1,), 1, attempts=1, choices=ConceptChoices(None, "official-code", "spatial"))
    code = talk.write(theirs, tmp_path / "code", spoil)
    assert [item.prompt.startswith("Look: ") for item in (*paper.items, *code.items)] == [False, True]


def test_without_binder_and_with_templates_only_captions_are_asked_for(talk: Talk, tmp_path: Path) -> None:
    choices = ConceptChoices(only="spatial", binder="offline", questions="template")
    written = talk.write(AuthoringPlan("conceptmix", (2,), 2, choices=choices), tmp_path)
    assert set(talk.steps) == {"caption", "check"}
    assert len(written.items) == 2
    assert all(asked.question.endswith("?") for item in written.items for asked in item.spec.concepts)


def test_the_same_concepts_are_accepted_only_once_and_other_pools_do_not_go_on(talk: Talk, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "object.toml").write_text('values = ["cat"]')
    (own / "color.toml").write_text('values = ["red", "blue"]')
    choices = ConceptChoices(own, only="color")
    numbers = iter(range(100))

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        return {**answer, "caption": answer["caption"] + " ." * next(numbers)} if step == "caption" else answer

    plan = next(
        plan
        for plan in (AuthoringPlan("conceptmix", (1,), 2, seed, choices=choices) for seed in range(99))
        if _repeats(plan)
    )
    written = talk.write(plan, tmp_path / "out", spoil, hands=1)
    assert {concept.value for item in written.items for concept in item.spec.concepts} == {"cat", "red", "blue"}
    assert set(written.rejections) == {"duplicate concepts"}
    assert talk.steps.count("caption") < written.tried, "what is known already is not written about again"
    assert_sound(written, tmp_path / "out")
    (own / "color.toml").write_text('values = ["red", "green"]')
    with pytest.raises(FormalimgError, match="items written with concepts"):
        talk.write(plan, tmp_path / "out")


def _repeats(plan: AuthoringPlan) -> bool:
    """Is the first draw of the first item that of the second one as well, and its second draw too?"""
    pools = load_pools(plan.choices.concepts)
    one, other = plan.slots
    first = draw_mixture(plan, pools, one, 0).binding
    return all(draw_mixture(plan, pools, other, attempt).binding == first for attempt in (0, 1))


@pytest.mark.parametrize(
    ("suite", "levels", "choices", "message"),
    [
        ("knolling", (1,), ConceptChoices(only="color", binder="offline"), "--only, --binder: for conceptmix only"),
        ("natural", (11,), ConceptChoices(), "between 1 and 10"),
        ("conceptmix", (0,), ConceptChoices(), "1 or more"),
        ("conceptmics", (1,), ConceptChoices(), "did you mean conceptmix"),
    ],
)
def test_plans_that_make_no_sense_are_refused(
    suite: str, levels: tuple[int, ...], choices: ConceptChoices, message: str
) -> None:
    with pytest.raises(FormalimgError, match=message):
        AuthoringPlan(suite, levels, choices=choices)


def test_what_cannot_be_drawn_is_told_before_anyone_is_asked(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "object.toml").write_text('values = ["cat"]')
    plan = AuthoringPlan("conceptmix", (1, 3), 1, choices=ConceptChoices(tmp_path, only="color"))
    talk.steps = []
    with pytest.raises(FormalimgError, match="color"):
        talk.write(plan, tmp_path / "out")
    assert talk.steps == []
    assert not (tmp_path / "out").exists()


def test_plans_are_as_large_as_in_the_papers() -> None:
    assert len(AuthoringPlan("conceptmix").slots) == 7 * 300
    assert len(AuthoringPlan("natural").slots) == 10 * 200
    assert AuthoringPlan("conceptmix", (12,), 1).levels == (12,)
    with pytest.raises(FormalimgError, match="unknown binder 'me'"):
        ConceptChoices(binder="me")  # type: ignore[arg-type]
