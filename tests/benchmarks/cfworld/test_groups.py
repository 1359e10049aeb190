"""The groups that ship and the checker of groups: each fault is found, and a plain scene fails every assessment."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest

from formalimg.benchmarks.cfworld.group_checks import (
    ProblemReason,
    check_group,
    check_groups,
    find_comparison,
    word_lists,
)
from formalimg.benchmarks.cfworld.items import (
    builtin_groups,
    denominalised_items,
    items_of_groups,
    read_package_toml,
    replace_nouns,
)
from formalimg.benchmarks.cfworld.spec import FIELDS, CounterfactualGroup
from formalimg.errors import FormalimgError
from tests.support.sizes import only_in_full

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


GROUPS = builtin_groups()
PUBLISHED = Path(__file__).parents[4] / "shared" / "official" / "cf-world"


def test_there_are_thirty_of_each_field() -> None:
    assert Counter((group.discipline, group.branch) for group in GROUPS) == dict.fromkeys(
        [
            *(("physics", b) for b in ("mechanics", "optics", "thermodynamics", "electromagnetism", "astronomy")),
            *((discipline, "") for discipline in ("biology", "chemistry", "geography", "sociology")),
        ],
        30,
    )


def test_laws_and_prompts_are_not_used_up_twice() -> None:
    assert max(Counter(group.law for group in GROUPS).values()) <= 2
    for name in ("factual", "implicit", "outcome", "described", "shows"):
        assert len({getattr(group, name) for group in GROUPS}) == len(GROUPS), name


def test_each_gives_three_items_that_differ_as_they_should() -> None:
    items = items_of_groups(GROUPS, "1")
    assert len(items) == 3 * len(GROUPS)
    assert len({item.prompt for item in items}) == len(items)
    for factual, explicit, implicit in zip(items[::3], items[1::3], items[2::3], strict=True):
        assert [item.level for item in (factual, explicit, implicit)] == [1, 2, 3]
        assert explicit.prompt.startswith(implicit.prompt)
        assert explicit.spec.questions == implicit.spec.questions != factual.spec.questions
        for item in (factual, explicit):
            assert [question.dimension for question in item.spec.questions] == ["integrity", "logic", "assessment"]
            assert [question.weight for question in item.spec.questions] == [3, 8, 15]
            assert not any(re.search(r"[{}]|\.\?|\?\?", question.question) for question in item.spec.questions)
    without_names = denominalised_items(GROUPS, "1")
    assert [item.id for item in without_names] == [item.id for item in items if item.level == 2]


@only_in_full
def test_described_outcomes_differ_from_the_named_ones_in_target_nouns_only() -> None:
    for group in GROUPS:
        nouns = _target_nouns(group.id)
        assert nouns, group.id
        frame = re.split("|".join(rf"(?<!\w){re.escape(noun)}(?!\w)" for noun in nouns), group.outcome)
        assert len(frame) == len(nouns) + 1, group.id
        kept = ".*".join(re.escape(part).replace(",", ",?") for part in frame)
        assert re.fullmatch(kept, group.described), group.id
        assert len(" ".join(nouns)) < 0.75 * len(group.outcome), group.id


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It looks like a wheel.", "like"),
        ("It is as tall as a house.", "as tall as"),
        ("It is as big and round as a ball.", None),
        ("A shape resembling a leaf.", "resembling"),
        ("It bends as if in a storm.", "as if"),
        ("It serves as a bridge, and most likely holds.", None),
    ],
)
def test_comparisons_are_found(text: str, found: str | None) -> None:
    assert find_comparison(text) == found


def test_a_noun_that_is_not_there_once_is_an_error() -> None:
    assert replace_nouns("Snow lies on the snow.", {"Snow": "Frozen crystals"}) == "Frozen crystals lies on the snow."
    for outcome in ("Ice lies on the roof.", "Snow lies on Snow.", "Snowflakes fall."):
        with pytest.raises(FormalimgError, match="'Snow' exactly once"):
            replace_nouns(outcome, {"Snow": "Frozen crystals"})


def _target_nouns(group: str) -> dict[str, str]:
    name, _, number = group.rpartition("-")
    text = (files("formalimg.benchmarks.cfworld") / "groups" / f"{name}.toml").read_text(encoding="utf-8")
    nouns: dict[str, str] = tomllib.loads(text)["group"][int(number) - 1]["described"]
    return nouns


@only_in_full
def test_no_sentence_is_a_published_one() -> None:
    """Eight words in a row that stand in the published texts would not be our own."""
    files = sorted(PUBLISHED.rglob("*.json"))
    if not files:
        pytest.skip(f"the published data are not at {PUBLISHED}")
    theirs = {run for path in files for run in _runs(path.read_text(encoding="utf-8"))}
    for group in GROUPS:
        for text in (group.law, group.factual, group.implicit, group.outcome, group.described, group.shows):
            assert not theirs & set(_runs(text)), (group.id, text)


def _runs(text: str, length: int = 8) -> list[tuple[str, ...]]:
    words = re.findall(r"[a-z]+", text.lower())
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]


_LETTERS = re.compile(r"[a-z]+")
_DENIALS = frozenset({"no", "not", "none", "nothing", "without", "bare", "free", "hidden"})


class PlainScene(NamedTuple):
    """What a plain scene shows in place of a part of the assessment."""

    part: str
    readings: tuple[str, ...]


def _plain_scenes() -> dict[str, PlainScene]:
    """Return the plain scene of each built-in group, by its id."""
    return {
        f"{name}-{number:03}": PlainScene(entry["plain"]["part"], tuple(entry["plain"]["shows"].split(" or ")))
        for name in FIELDS
        for number, entry in enumerate(read_package_toml(f"groups/{name}.toml")["group"], 1)
    }


def _find_problems(shows: str, plain: PlainScene) -> list[str]:
    """Return why a plain scene may pass an assessment after all; empty if every reading fails it."""
    if shows.lower().count(plain.part.lower()) != 1:
        return [f"the assessment does not say {plain.part!r} exactly once"]
    return [f"{text!r} does not exclude {plain.part!r}" for text in plain.readings if not _excludes(plain.part, text)]


def _excludes(part: str, reading: str) -> bool:
    """Return whether the same thing cannot be both, as far as the words tell."""
    words, other_words = (_LETTERS.findall(text.lower()) for text in (part, reading))
    if bool(_DENIALS & set(words)) != bool(_DENIALS & set(other_words)):
        return True
    return any(_differ(frozenset(values.split()), words, other_words) for values in word_lists()["exclusive"])


def _differ(values: frozenset[str], words: Sequence[str], other_words: Sequence[str]) -> bool:
    """Return whether two texts name different values, none of them in both, or the same ones in another order."""
    first, second = ([word for word in text if word in values] for text in (words, other_words))
    if set(first) & set(second):
        return set(first) == set(second) and first != second
    return bool(first and second)


BY_ID = {group.id: group for group in builtin_groups()}
PLAIN = _plain_scenes()


def test_every_group_states_what_a_plain_scene_shows_instead() -> None:
    assert PLAIN.keys() == BY_ID.keys()
    problems = {name: _find_problems(group.shows, PLAIN[name]) for name, group in BY_ID.items()}
    assert {name: found for name, found in problems.items() if found} == {}


def test_the_part_that_a_plain_scene_fails_is_about_the_outcome() -> None:
    """What the prompt says in any case decides nothing: part of it must come from the outcome alone."""
    for name, group in BY_ID.items():
        assert PLAIN[name].part.lower() not in group.implicit.lower(), name
