"""Whatever is wrong with an answer for ConceptMix, it is noticed, called by its name, and never accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.authoring.outcomes import Rejection
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.conceptmix.authoring.checks import complete_binding_from
from formalimg.benchmarks.conceptmix.authoring.choices import ConceptChoices
from formalimg.benchmarks.conceptmix.authoring.templates import BindingAnswer, draw_mixture
from formalimg.benchmarks.conceptmix.spec import Binding, BoundObject, SpatialRelation
from tests.benchmarks_authoring.mixer import POOLS, Answer, Talk, assert_sound

pytest.importorskip("openai")

SPATIAL = AuthoringPlan("conceptmix", (1,), 1, attempts=1, choices=ConceptChoices(only="spatial"))
COLORS = ConceptChoices(only="color")


def _changed(answer: Answer, **fields: Any) -> Answer:
    return {**answer, **fields}


def _first_object(answer: Answer, **fields: Any) -> Answer:
    first, *others = answer["objects"]
    return {**answer, "objects": [{**first, **fields}, *others]}


def _relation(answer: Answer, **fields: Any) -> Answer:
    return {**answer, "relation": [{**answer["relation"][0], **fields}]}


def _with_more(answer: Answer, **fields: Any) -> Answer:
    objects = answer["objects"]
    return {**answer, "objects": [*objects, {"id": len(objects) + 1, "item": "lamp", **fields}]}


def _exchanged(caption: str) -> str:
    """The same caption, its two colours exchanged."""
    colors = [word for word in caption.replace(".", " ").split() if word in POOLS["color"].values]
    one, other = dict.fromkeys(colors)
    return caption.replace(one, "\0").replace(other, one).replace("\0", other)


def _denied(question: str) -> str:
    return question.replace("Is it true", "Is it not true")


SPOILT: list[tuple[str, str, Any]] = [
    ("binding changed", "binding", lambda a: _first_object(a, item="whale")),
    ("binding changed", "binding", lambda a: _first_object(a, color="red")),
    ("binding changed", "binding", lambda a: _changed(a, style="cartoon")),
    ("binding changed", "binding", lambda a: _relation(a, name="near")),
    ("binding changed", "binding", lambda a: _relation(a, description="{ObjectA} is near {ObjectB}")),
    ("binding changed", "binding", lambda a: _changed(a, relation=[])),
    ("binding changed", "binding", lambda a: _changed(a, relation=[*a["relation"], a["relation"][0]])),
    ("binding changed", "binding", lambda a: _relation(a, ObjectB_id=a["relation"][0]["ObjectA_id"])),
    ("binding changed", "binding", lambda a: _with_more(a)),
    ("binding changed", "binding", lambda a: _relation(_with_more(a, color="red"), ObjectB_id=3)),
    ("binding changed", "binding", lambda a: _changed(a, objects=[a["objects"][0], {"id": 2, "item": "red ball"}])),
    ("binding left open", "binding", lambda a: _relation(a, ObjectA_id="?")),
    ("binding unfit", "binding", lambda a: _relation(a, ObjectA_id=7)),
    ("binding unfit", "binding", lambda a: _first_object(a, id=4)),
    ("binding unfit", "binding", lambda a: _changed(a, objects=[])),
    ("called impossible", "caption", lambda a: _changed(a, possible=False, why="it cannot be")),
    ("called impossible", "caption", lambda a: _changed(a, caption="WRONG. A cat cannot be there.")),
    ("unfit words", "caption", lambda a: _changed(a, caption=" \n")),
    ("unfit words", "caption", lambda a: _changed(a, caption=f"{a['caption']}\x00")),
    ("concept not said", "caption", lambda a: _changed(a, caption="I am sorry, but I cannot help with that.")),
    ("something added", "caption", lambda a: _changed(a, caption=f"{a['caption']} There is also a purple kite.")),
    ("something added", "caption", lambda a: _changed(a, caption=f"{a['caption']} Two birds look on.")),
    ("concept not said", "caption", lambda a: _changed(a, caption=f"{a['caption']} But none of it is there.")),
    ("concept not said", "caption", lambda a: _changed(a, caption=f"Instead of a dream: {a['caption']}")),
    ("check: invalid", "check", lambda a: _changed(a, valid=False, why="there is too much")),
    ("wrong number of questions", "questions", lambda a: {"questions": a["questions"][1:]}),
    ("wrong number of questions", "questions", lambda a: {"questions": ["Here they are:", *a["questions"]]}),
    ("question out of order", "questions", lambda a: {"questions": a["questions"][::-1]}),
    ("question out of order", "questions", lambda a: {"questions": ["Is it nice?", *a["questions"][1:]]}),
    ("question out of order", "questions", lambda a: {"questions": [_denied(each) for each in a["questions"]]}),
    ("question out of order", "questions", lambda a: {"questions": [f"Can you see: {q}" for q in a["questions"]]}),
    ("no question", "questions", lambda a: {"questions": [a["questions"][0][:-1], *a["questions"][1:]]}),
    ("unreadable", "binding", lambda a: {"objects": "none"}),
    ("unreadable", "caption", lambda a: {"caption": "A cat"}),
    ("check unreadable", "check", lambda a: {"valid": "perhaps"}),
    ("unreadable", "questions", lambda a: {"questions": "Is there a cat?"}),
]


@pytest.mark.parametrize(("reason", "at", "spoil"), SPOILT)
def test_wrong_answers_are_counted_by_their_reason(
    talk: Talk, tmp_path: Path, reason: str, at: str, spoil: Any
) -> None:
    written = talk.write(SPATIAL, tmp_path, lambda step, answer, question: spoil(answer) if step == at else answer)
    assert dict(written.rejections) == {reason: 1}
    assert talk.steps[-1] == at, "nothing is asked after a rejection"
    assert written.missing == {1: 1}
    assert not (tmp_path / "items.jsonl").exists()


def test_an_exchanged_attribute_is_noticed(talk: Talk, tmp_path: Path) -> None:
    def spoil(step: str, answer: Answer, question: str) -> Answer:
        return _changed(answer, caption=_exchanged(answer["caption"])) if step == "caption" else answer

    seed = next(seed for seed in range(99) if len(_colors(seed)) == 2)
    plan = AuthoringPlan("conceptmix", (3,), 1, seed, 1, choices=COLORS)
    assert dict(talk.write(plan, tmp_path / "spoilt", spoil).rejections) == {"concept not said": 1}
    assert len(talk.write(plan, tmp_path / "right").items) == 1


def _colors(seed: int) -> set[str]:
    drawn = draw_mixture(AuthoringPlan("conceptmix", (3,), 1, seed, 1, choices=COLORS), POOLS, Slot(0, 3), 0)
    return {concept.value for concept in drawn.concepts if concept.category == "color"}


def test_a_size_needs_something_to_measure_it_by(talk: Talk, tmp_path: Path) -> None:
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, choices=ConceptChoices(only="size"))
    assert len(talk.write(plan, tmp_path / "right").items[0].spec.binding.objects) == 2

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        return {**answer, "objects": answer["objects"][:1]} if step == "binding" else answer

    assert dict(talk.write(plan, tmp_path / "spoilt", spoil).rejections) == {"binding left open": 1}


@pytest.mark.parametrize(
    ("repeated", "reason"), [("WRONG, it is odd.", "check: invalid"), ("A nice picture.", "concept not said")]
)
def test_what_is_repeated_has_to_pass_the_same_checks(talk: Talk, tmp_path: Path, repeated: str, reason: str) -> None:
    plan = AuthoringPlan("conceptmix", (1,), 1, attempts=1, choices=ConceptChoices(None, "official-code", "spatial"))
    written = talk.write(
        plan, tmp_path, lambda step, a, question: _changed(a, caption=repeated) if step == "repeat" else a
    )
    assert dict(written.rejections) == {reason: 1}


CAT_ON_ROBOT = Binding(
    (BoundObject("cat", {"color": "red", "size": "huge"}), BoundObject("robot", {"number": "2"})),
    "cartoon",
    (SpatialRelation("top", POOLS["spatial"].sentence("top"), 1, 2),),
)


def test_nobody_adds_to_a_given_number_of_objects() -> None:
    given = replace(CAT_ON_ROBOT, relations=(SpatialRelation("top", "…"),))
    for item, reason in (("robot", "binding changed"), ("lamp", None)):
        objects = (*given.objects, BoundObject(item))
        after = replace(given, objects=objects, relations=(SpatialRelation("top", "…", 1, 3),))
        found = complete_binding_from(given, BindingAnswer.model_validate(after.to_json()), POOLS)
        assert found == after if reason is None else isinstance(found, Rejection) and found.reason == reason


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.none(), st.integers(0, len(SPOILT) - 1)), max_size=20), st.integers(1, 4))
def test_any_mixture_adds_up_and_nothing_wrong_is_accepted(
    talk: Talk, tmp_path_factory: pytest.TempPathFactory, choices: list[int | None], hands: int
) -> None:
    """Right and wrong answers in any order, by as many hands as may be."""
    remaining = iter(choices)

    def spoil(step: str, answer: Answer, question: str) -> Answer:
        choice = next(remaining, None)
        if choice is None or SPOILT[choice][1] != step:
            return answer
        try:
            spoilt: Answer = SPOILT[choice][2](answer)
        except (IndexError, KeyError):  # made for a binding with a relation
            return answer
        return spoilt

    folder = tmp_path_factory.mktemp("mixed")
    written = talk.write(AuthoringPlan("conceptmix", (1, 4), 2, attempts=3), folder, spoil, hands=hands)
    assert_sound(written, folder)
    assert len(written.items) + sum(written.missing.values()) == 4
