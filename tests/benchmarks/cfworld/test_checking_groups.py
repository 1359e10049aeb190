"""The checker of groups: each object that goes wrong is found, and what is right passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from formalimg.benchmarks.cfworld.group_checks import ProblemReason, check_group, check_groups
from formalimg.benchmarks.cfworld.spec import CounterfactualGroup
from formalimg.errors import FormalimgError

MIRROR = CounterfactualGroup(
    id="optics-900",
    discipline="physics",
    branch="optics",
    law="A flat mirror shows things at their own size.",
    changed="Flat mirrors show everything at half its size.",
    factual="A woman in a yellow coat is in front of a tall flat mirror in a bright hallway.",
    implicit="In a world where flat mirrors show everything at half its size, a woman in a yellow coat is in front of "
    "a tall flat mirror in a bright hallway.",
    outcome="Her reflection reaches only to the middle of the glass, half as tall as she is.",
    described="The figure behind the shiny pane, with the same coat, ends where her belt is.",
    shows_factual="The reflection is as tall as the woman.",
    shows="The reflection is clearly smaller than the woman, about half as tall.",
)

WRONG: list[tuple[ProblemReason, dict[str, str]]] = [
    ("form", {"id": "Optics 1"}),
    ("form", {"law": ""}),
    ("form", {"outcome": "her reflection is half as tall as she is."}),
    ("form", {"factual": "A woman " + "very " * 90 + "tall."}),
    ("form", {"shows": "The reflection is  smaller, half as tall."}),
    ("not ordinary", {"factual": "Imagine a woman in front of a mirror."}),
    ("not ordinary", {"factual": f"{MIRROR.changed} {MIRROR.factual}"}),
    ("another scene", {"factual": "Seven ducks swim across a lake at dawn."}),
    ("law not changed", {"changed": MIRROR.law}),
    ("gives it away", {"implicit": f"{MIRROR.implicit} {MIRROR.described}"}),
    ("not ordinary", {"factual": "A woman in a world where mirrors are tall."}),
    ("law not told", {"implicit": "A woman in a yellow coat is in a bright hallway."}),
    ("gives it away", {"implicit": f"{MIRROR.implicit} {MIRROR.outcome}"}),
    ("outcome not told", {"shows": "A penguin juggles seven pineapples, half as tall."}),
    ("not about the outcome", {"shows": "A woman in a yellow coat is in a bright hallway with a mirror."}),
    ("not visual", {"shows": "The reflection is half as tall because mirrors shrink."}),
    ("not visual", {"shows_factual": "The reflection obeys the law."}),
    ("same in both worlds", {"shows_factual": MIRROR.shows}),
    ("not described", {"described": MIRROR.outcome}),
    ("unsafe", {"factual": "A woman with a gun is in front of a tall flat mirror."}),
]


def test_a_good_group_passes() -> None:
    assert check_group(MIRROR) == []


@pytest.mark.parametrize(("reason", "change"), WRONG)
def test_what_is_wrong_is_found_for_its_reason(reason: ProblemReason, change: dict[str, str]) -> None:
    found = check_group(replace(MIRROR, **change))
    assert reason in {problem.reason for problem in found}
    assert all(problem.detail and "\n" not in problem.detail for problem in found)


def test_duplicates_are_found_among_groups() -> None:
    twin = replace(MIRROR, id="optics-901")
    assert [(problem.group, problem.reason) for problem in check_groups([MIRROR, twin])] == [
        ("optics-901", "duplicate")
    ]
    assert [problem.detail for problem in check_groups([MIRROR, replace(MIRROR, outcome="It rains frogs there now.")])][
        -1
    ] == "another group has this id"


def test_the_prompts_follow_from_the_fields() -> None:
    assert MIRROR.explicit == f"{MIRROR.implicit} {MIRROR.outcome}"
    assert MIRROR.denominalised == f"{MIRROR.implicit} {MIRROR.described}"
    assert [MIRROR.prompt(level) for level in (1, 2, 3)] == [MIRROR.factual, MIRROR.explicit, MIRROR.implicit]
    assert MIRROR.assessment(1) != MIRROR.assessment(2) == MIRROR.assessment(3)


def test_fields_are_read_strictly() -> None:
    fields = vars(MIRROR)
    assert CounterfactualGroup.from_fields(fields) == MIRROR
    with pytest.raises(FormalimgError, match="group optics-900: law is missing"):
        CounterfactualGroup.from_fields({name: text for name, text in fields.items() if name != "law"})
    with pytest.raises(FormalimgError, match="unknown field 'extra'"):
        CounterfactualGroup.from_fields({**fields, "extra": "?"})
