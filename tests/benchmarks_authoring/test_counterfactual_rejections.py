"""Whatever is wrong with an answer for CF-World, it is noticed, called by its name, and never accepted."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import AuthoringPlan
from formalimg.benchmarks.cfworld.authoring.choices import CounterfactualChoices, collect_outcomes
from formalimg.benchmarks.cfworld.authoring.group_task import read_groups
from formalimg.benchmarks.cfworld.authoring.prompt_tasks import apply_description, parse_pair
from formalimg.benchmarks.cfworld.authoring.question_task import parse_questions
from formalimg.benchmarks.cfworld.authoring.templates import DescriptionAnswer, PairAnswer, QuestionAnswer
from formalimg.benchmarks.cfworld.items import items_of_groups
from tests.benchmarks_authoring.counterfactual_author import (
    OURS,
    PAIRS,
    Answer,
    Author,
    assert_sound,
    group_asked,
    laws,
    plan_of,
    questions_about,
    right_answer,
)
from tests.support.loopback.faults import Fault

pytest.importorskip("openai")


def _with(**fields: Any) -> Any:
    return lambda answer: {**answer, **fields}


def _asked(change: Any) -> Any:
    return lambda answer: {**answer, "questions": change(answer["questions"])}


def _first(**fields: Any) -> Any:
    return _asked(lambda asked: [{**asked[0], **fields}, *asked[1:]])


SPOILT: list[tuple[str, str, Any]] = [
    ("unsafe", "group", _with(factual="A man with a gun stands in a field.")),
    ("unfit words", "group", _with(shows="  \n")),
    ("unfit words", "group", _with(outcome="All is red.\x00")),
    ("form", "group", _with(shows="no sentence")),
    ("form", "group", _with(implicit="So. " * 100)),
    ("not ordinary", "group", lambda a: {**a, "factual": f"Imagine this. {a['factual']}"}),
    ("law not told", "group", lambda a: {**a, "implicit": a["factual"]}),
    ("gives it away", "group", lambda a: {**a, "implicit": f"{a['implicit']} {a['outcome']}"}),
    ("gives it away", "group", lambda a: {**a, "outcome": a["factual"]}),
    ("outcome not told", "group", _with(shows="Seven purple elephants juggle golden umbrellas happily.")),
    ("not visual", "group", lambda a: {**a, "shows": f"{a['shows'].rstrip('.')} because of a force."}),
    ("same in both worlds", "group", lambda a: {**a, "shows_factual": a["shows"]}),
    ("not described", "group", lambda a: {**a, "described": a["outcome"]}),
    ("law not changed", "group", lambda a: {**a, **_unchanged(a)}),
    ("unreadable", "group", lambda a: {**a, "weight": 3}),
    ("unreadable", "group", lambda a: {"thoughts": "I would rather not."}),
    ("check: ambiguous", "check", _with(unambiguous=False, why="who can tell?")),
    ("check: not deductive", "check", _with(deductive=False)),
    ("check: unsafe", "check", _with(safe=False)),
    ("check: invalid", "check", _with(valid=False)),
    ("check unreadable", "check", _with(valid="perhaps")),
    ("wrong number of questions", "questions", _asked(lambda asked: asked[1:])),
    ("wrong number of questions", "questions", _asked(lambda asked: [*asked, asked[0]])),
    ("wrong number of questions", "questions", _asked(lambda asked: asked + asked[1:2] * 2)),
    ("wrong number of questions", "questions", _asked(lambda asked: [])),
    ("no question", "questions", _first(question="Say whether it is so.")),
    ("no question", "questions", _asked(lambda asked: [*asked[:3], asked[1]])),
    ("no criteria", "questions", _first(criteria="Be fair.")),
    ("no criteria", "questions", _first(criteria="From 0 to 2, 1 is little.")),
    ("question beside the point", "questions", _first(question="Is it nice?")),
    ("unreadable", "questions", _first(weight=100)),
]


def _unchanged(answer: Answer) -> Answer:
    law = next(group.law for group in OURS if group.changed == answer["changed"])
    return {"changed": law, "implicit": answer["implicit"].replace(answer["changed"], law) + f" {law}"}


@pytest.fixture(scope="module")
def reasons(author: Author, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What became of one writing in which each law has a fault of its own."""
    place_of = {law.law: place for place, law in enumerate(laws(len(SPOILT)))}

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        _, spoilt_step, change = SPOILT[place_of[group_asked(question).law]]
        changed: Answer = change(answer) if step == spoilt_step else answer
        return changed

    folder = tmp_path_factory.mktemp("spoilt")
    written = author.write(plan_of(len(SPOILT), attempts=1, questions="model"), folder, spoil)
    assert written.items == ()
    assert not (folder / "groups.jsonl").exists()
    with sqlite3.connect(folder / "writing.sqlite") as file:
        outcomes = file.execute("select outcome from outcomes order by slot").fetchall()
    found = [json.loads(text)["rejection"] for (text,) in outcomes]
    assert Counter(reason for reason, _ in found) == written.rejections
    return [reason for reason, _ in found]


@pytest.mark.parametrize("place", range(len(SPOILT)), ids=[f"{reason}, {step}" for reason, step, _ in SPOILT])
def test_each_fault_has_its_reason(reasons: list[str], place: int) -> None:
    assert reasons[place] == SPOILT[place][0]


@pytest.mark.parametrize(("place", "reason"), [(0, "refused"), (1, "check refused")])
def test_refusals_are_counted(author: Author, tmp_path: Path, place: int, reason: str) -> None:
    def faults(number: int) -> Fault | None:
        return Fault("refusal") if number == place else None

    for plan in (plan_of(1), AuthoringPlan("cf-world-attributes", per_level=1)):
        written = author.write(plan, tmp_path / plan.suite, faults=faults)
        assert dict(written.rejections) == {reason: 1}
        assert written.accepted == 1


def test_among_many_faults_nothing_wrong_is_accepted_and_all_is_counted(author: Author, tmp_path: Path) -> None:
    chance = random.Random(3)

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        known = [change for _, place, change in SPOILT if place == step]
        changed: Answer = chance.choice(known)(answer) if chance.random() < 0.3 else answer
        return changed

    written = author.write(plan_of(8, attempts=4, questions="model"), tmp_path, spoil, hands=1)
    groups = read_groups(tmp_path / "groups.jsonl")
    assert 4 <= len(groups) <= 8
    assert len(written.rejections) >= 5
    assert_sound(written, groups, tmp_path)


MARKED = collect_outcomes(items_of_groups(OURS[:1]))[0]
DESCRIBED: Answer = right_answer("description", MARKED.explicit.prompt)
SPOILT_DESCRIPTIONS: list[tuple[str, Any]] = [
    ("outcome not quoted", _with(outcome=MARKED.explicit.prompt)),
    ("outcome not quoted", _with(outcome="Something else.")),
    ("more than the outcome", lambda a: {**a, "described": f"{MARKED.implicit} {a['described']}"}),
    ("not described", lambda a: {**a, "described": MARKED.outcome}),
    ("not described", _with(named=[])),
    ("not described", _with(named=["elephant"])),
    ("comparison", lambda a: {**a, "described": f"{a['described'][:-1]}, like a seesaw."}),
    ("comparison", lambda a: {**a, "described": f"{a['described'][:-1]}, as tall as a house."}),
    ("more than the nouns", _with(described="The plank slants steeply, and one end of it touches the lawn.")),
    ("unsafe", _with(described="There is blood on it.")),
    ("unfit words", _with(described="")),
    ("form", _with(described="a thin thing")),
]


@pytest.mark.parametrize(("reason", "spoil"), SPOILT_DESCRIPTIONS)
def test_descriptions_that_say_too_little_or_too_much_are_rejected(reason: str, spoil: Any) -> None:
    assert apply_description(DescriptionAnswer(**DESCRIBED), MARKED) == OURS[0].denominalised
    found = apply_description(DescriptionAnswer(**spoil(DESCRIBED)), MARKED)
    assert isinstance(found, Rejection)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("step", "change", "reason"),
    [
        ("check description", {"same": False}, "check: another outcome"),
        ("check description", {"nameless": False}, "check: named"),
        ("description", {"outcome": "All."}, "outcome not quoted"),
    ],
)
def test_what_the_checker_has_against_a_description_counts(
    author: Author, tmp_path: Path, step: str, change: Answer, reason: str
) -> None:
    plan = AuthoringPlan("cf-world-denominalised", attempts=1, choices=CounterfactualChoices(named_outcomes=(MARKED,)))
    written = author.write(plan, tmp_path, lambda place, answer, _: {**answer, **change} if place == step else answer)
    assert dict(written.rejections) == {reason: 1}


@settings(max_examples=60)
@given(st.integers(0, 200), st.integers(0, 200), st.booleans())
def test_the_law_and_the_scene_stay_letter_by_letter(start: int, length: int, marked: bool) -> None:
    """Whatever part is called the outcome: what is accepted differs from the prompt in that part alone."""
    told = MARKED if marked else MARKED._replace(implicit="All is as it was.")
    prompt = told.explicit.prompt
    quoted = prompt[start : start + length]
    named = [word for word in re.findall("[a-z]{4,}", quoted.lower()) if word not in DESCRIBED["described"].lower()]
    found = apply_description(DescriptionAnswer(**{**DESCRIBED, "outcome": quoted, "named": named[-2:]}), told)
    if not isinstance(found, Rejection):
        # A marked outcome may be quoted with blanks around it, which stay.
        assert found == prompt.replace(quoted.strip() if marked else quoted, DESCRIBED["described"])
        assert not marked or quoted.strip() == OURS[0].outcome


def test_a_part_that_is_not_marked_can_be_replaced() -> None:
    """The test above is not about rejections alone."""
    told = MARKED._replace(implicit="All is as it was.")
    assert apply_description(DescriptionAnswer(**DESCRIBED), told) == OURS[0].denominalised
    for part in (OURS[0].outcome[1:], told.explicit.prompt):
        found = apply_description(DescriptionAnswer(**{**DESCRIBED, "outcome": part}), told)
        assert isinstance(found, Rejection)
        assert found.reason == "outcome not quoted"


FOX: Answer = next(pair for pair in PAIRS if pair["a"] == "fox")
SPOILT_PAIRS: list[tuple[str, Answer]] = [
    ("thing not said", {"a": "wolf"}),
    ("thing not said", {"rare": "castle"}),
    ("thing not said", {"common_prompt": FOX["rare_prompt"]}),
    ("thing not said", {"rare_prompt": "A red fox peeks out of a phone booth and a hollow log."}),
    ("another frame", {"common_prompt": "A hollow log lies in the wood, and a red fox sleeps in it."}),
    ("another frame", {"common_prompt": "A red fox peeks out of a hollow log on a sunny day in spring."}),
    ("another frame", {"common_prompt": "A small grey fox peeks out of a hollow log."}),
    ("form", {"rare": "a phone booth in the street"}),
    ("form", {"rare_prompt": "a red fox peeks out of a phone booth"}),
    ("unfit words", {"a": " "}),
    ("unsafe", {"rare": "gun", "rare_prompt": "A red fox peeks out of a gun."}),
]


@pytest.mark.parametrize(("reason", "change"), SPOILT_PAIRS)
def test_prompts_that_are_no_pair_are_rejected(reason: str, change: Answer) -> None:
    found = parse_pair(PairAnswer(thoughts="", **{**FOX, **change}))
    assert isinstance(found, Rejection)
    assert found.reason == reason


def test_all_our_own_pairs_are_pairs() -> None:
    """And the article and one word more may change with the partner."""
    assert [
        found for entry in PAIRS if isinstance(found := parse_pair(PairAnswer(thoughts="", **entry)), Rejection)
    ] == []
    rare, common = "A red fox sleeps in an oven.", "A red fox sleeps on a log."
    fields = {"a": "fox", "rare": "oven", "common": "log", "rare_prompt": rare, "common_prompt": common}
    assert parse_pair(PairAnswer(thoughts="", **fields)) == tuple(fields.values())


@given(st.permutations(questions_about("The apple floats above the table.")))
def test_questions_are_put_into_one_order(asked: list[Answer]) -> None:
    found = parse_questions([QuestionAnswer(**entry) for entry in asked], "The apple floats above the table.")
    assert not isinstance(found, Rejection)
    assert [question.dimension for question in found] == ["integrity", "logic", "logic", "assessment"]
    assert [question.weight for question in found] == [3, 8, 8, 15]
