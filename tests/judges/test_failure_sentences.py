"""What failed, in English: every sentence is true of the scene, by a reader that does not know how it was written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from formalimg import Box, Scene, SceneObject, parse
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite
from formalimg.judges.base import Grounding
from formalimg.judges.failures import failure_sentences, failure_text
from formalimg.judges.scene_judge import judge_grounding
from formalimg.language.lexicon import lexicon
from formalimg.types import Item, Part, Unscored, Verdict
from tests.support.brute_force import atom_truth

KNOLLING = suite("knolling")
WORDS = lexicon("knolling")
COLORS = [word for _, word in WORDS.adjectives]
FORMS = {form: noun for noun in WORDS.nouns.values() for form in (noun.text, noun.plural)}
PHRASES = {phrase: name for name, places in WORDS.places.items() for phrase in places}
RELATIONS = {phrase: name for name, relation in WORDS.relations.items() for phrase in relation.phrases}

_THING = (
    rf"(?:(?:pairs?|bunch(?:es)?) of )?((?:{'|'.join(COLORS)}) )?({'|'.join(sorted(FORMS, key=len, reverse=True))})"
)
_IS = "(?:is|are)"
_WHAT = "|".join(sorted([*PHRASES, *COLORS], key=len, reverse=True))
_HOW = "|".join(sorted(RELATIONS, key=len, reverse=True))


def matching(color: str | None, noun: str, scene: Scene) -> list[SceneObject]:
    """The objects that a phrase such as "red cup" fits."""
    known = [obj for obj in scene.objects if obj.label == FORMS[noun].word]
    return [obj for obj in known if color is None or obj.color == color.strip()]


def has(obj: SceneObject, what: str) -> bool:
    return obj.color == what if what in COLORS else atom_truth(PHRASES[what], [obj])


def related(one: SceneObject, how: str, other: SceneObject) -> bool:
    return one is not other and atom_truth(RELATIONS[how], [one, other])


def truth(text: str, scene: Scene) -> bool | None:
    """Whether a sentence is true of a scene; None if it only repeats what was asked."""

    def the(found: Sequence[SceneObject]) -> SceneObject:
        assert len(found) == 1, f"{text!r} does not say which"
        return found[0]

    def objects(groups: Sequence[str | None], start: int) -> list[SceneObject]:
        return matching(groups[start], str(groups[start + 1]), scene)

    if text.startswith("not shown: ") or text == "not all that is asked of the objects holds at once":
        return None
    if found := re.fullmatch(rf"no {_THING} found", text):
        return not objects(found.groups(), 0)
    if found := re.fullmatch(rf"only one {_THING} found", text):
        return len(objects(found.groups(), 0)) == 1
    if found := re.fullmatch(
        rf"(no|\d+) {_THING} found(?: (.+))?, ((?:at least )?\d+ needed|at most \d+ allowed)", text
    ):
        counted = objects(found.groups(), 1)
        for what in found[4].split(" and ") if found[4] else ():
            if what in PHRASES:
                counted = [obj for obj in counted if has(obj, what)]
                continue
            place = re.fullmatch(rf"({_HOW}) the {_THING}", what)
            assert place, text
            other = the(objects(place.groups(), 1))
            counted = [obj for obj in counted if related(obj, place[1], other)]
        number, limit = len(counted), int(re.findall(r"\d+", found[5])[0])
        wrong = number > limit if "allowed" in found[5] else number < limit or "at least" not in found[5]
        return number == (0 if found[1] == "no" else int(found[1])) and wrong and number != limit
    if found := re.fullmatch(rf"the {_THING} {_IS} (\w+), not (\w+)", text):
        return the(objects(found.groups(), 0)).color == found[3] != found[4]
    if found := re.fullmatch(rf"the {_THING} {_IS} not ({_WHAT})", text):
        return not has(the(objects(found.groups(), 0)), found[3])
    if found := re.fullmatch(rf"(no|not every) {_THING} is ({_WHAT})", text):
        shown = [has(obj, found[4]) for obj in objects(found.groups(), 1)]
        return not any(shown) if found[1] == "no" else not all(shown)
    if found := re.fullmatch(rf"no {_THING} is (?:both )?((?:{_WHAT})(?:, (?:{_WHAT}))*) and ({_WHAT})", text):
        asked = [*found[3].split(", "), found[4]]
        return not any(all(has(obj, what) for what in asked) for obj in objects(found.groups(), 0))
    if found := re.fullmatch(rf"the {_THING} {_IS} not ({_HOW}) (the|any|every) {_THING}", text):
        one, others = the(objects(found.groups(), 0)), objects(found.groups(), 4)
        shown = [related(one, found[3], other) for other in ([the(others)] if found[4] == "the" else others)]
        return not all(shown) if found[4] == "every" else not any(shown)
    if found := re.fullmatch(rf"(no|not every) {_THING} is ({_HOW}) (the|any|another) {_THING}", text):
        others = objects(found.groups(), 5)
        others = [the(others)] if found[5] == "the" else others
        shown = [any(related(obj, found[4], other) for other in others) for obj in objects(found.groups(), 1)]
        return not any(shown) if found[1] == "no" else not all(shown)
    raise AssertionError(f"a sentence that nobody can read: {text!r}")


def judged(formula: str, scene: Scene) -> Verdict:
    verdict = judge_grounding(parse(formula), Grounding(scene))
    assert isinstance(verdict, Verdict)
    return verdict


def removed(scene: Scene, number: int, rng: random.Random) -> Scene:
    return Scene.of(obj for place, obj in enumerate(scene.objects) if place != number)


def exchanged(scene: Scene, number: int, obj: SceneObject) -> Scene:
    return Scene.of([*scene.objects[:number], obj, *scene.objects[number + 1 :]])


def recolored(scene: Scene, number: int, rng: random.Random) -> Scene:
    obj = scene.objects[number]
    return exchanged(scene, number, replace(obj, color=rng.choice([one for one in COLORS if one != obj.color])))


def moved(scene: Scene, number: int, rng: random.Random) -> Scene:
    box = scene.objects[number].box
    x, y = rng.uniform(0, 1000 - (box.xmax - box.xmin)), rng.uniform(0, 1000 - (box.ymax - box.ymin))
    there = Box(x, y, x + box.xmax - box.xmin, y + box.ymax - box.ymin)
    return exchanged(scene, number, replace(scene.objects[number], box=there))


def doubled(scene: Scene, number: int, rng: random.Random) -> Scene:
    copy = moved(recolored(scene, number, rng), number, rng).objects[number]
    return Scene.of([*scene.objects, copy])


EDITS: list[Callable[[Scene, int, random.Random], Scene]] = [removed, recolored, moved, doubled]


def witnessed(name: str, step: int) -> Iterator[tuple[Item[FormulaSpec], Scene]]:
    for item in load(name)[::step]:
        assert isinstance(item.spec, FormulaSpec)
        assert item.spec.witness is not None
        yield item, item.spec.witness


@pytest.mark.parametrize("name", ["knolling", "knolling-counts"])
def test_every_sentence_is_true_of_the_scene(name: str) -> None:
    """Scenes that satisfy a formula are edited at random, up to four times; whatever is then said must be true."""
    rng, specific, total = random.Random(name), 0, 0
    for item, witness in witnessed(name, 6):
        scene = witness
        for _ in range(rng.randint(1, 4)):
            scene = rng.choice(EDITS)(scene, rng.randrange(len(scene)), rng) if len(scene) else scene
        verdict = judged(item.spec.text, scene)
        said = failure_sentences(verdict, suite(name), item.spec.text)
        assert bool(said) is not verdict.passed
        assert {number for one in said for number in one.parts} == {
            number for number, part in enumerate(verdict.parts) if part.score < 1
        }
        for one in said:
            is_true = truth(one.text, scene)
            assert is_true in (True, None), f"{item.id}: {one.text!r} is not true of {scene.objects}"
            specific, total = specific + bool(is_true), total + 1
    assert total > 100
    assert specific >= 0.9 * total, f"only {specific} of {total} sentences say what the scene shows"


def lone(scene: Scene) -> list[int]:
    labels = [obj.label for obj in scene.objects]
    return [number for number, label in enumerate(labels) if labels.count(label) == 1]


def test_an_object_that_was_removed_is_not_found_and_nothing_is_framed_in_its_place() -> None:
    seen = 0
    for item, witness in witnessed("knolling", 25):
        for number in lone(witness)[:2]:
            scene = removed(witness, number, random.Random(0))
            said = failure_sentences(judged(item.spec.text, scene), KNOLLING, item.spec.text)
            noun = WORDS.nouns[witness.objects[number].label].text
            (absent,) = [one for one in said if one.text == f"no {noun} found"]
            assert absent.objects == frozenset()
            assert len(said) == 1, "what holds of the others is not called wrong because one is missing"
            seen += 1
    assert seen > 50


def test_an_object_of_another_colour_is_said_to_have_it() -> None:
    seen = 0
    for item, witness in witnessed("knolling", 7):
        for number in lone(witness):
            obj = witness.objects[number]
            if f"(Has ?{obj.label} '{obj.color}')" not in item.spec.text:
                continue
            scene = recolored(witness, number, random.Random(number))
            said = failure_sentences(judged(item.spec.text, scene), KNOLLING, item.spec.text)
            noun = WORDS.nouns[obj.label]
            text = f"the {noun.text} {'are' if noun.many else 'is'} {scene.objects[number].color}, not {obj.color}"
            assert [(one.text, one.objects) for one in said] == [(text, frozenset([number]))]
            seen += 1
    assert seen > 20


def test_an_object_that_was_moved_is_in_every_sentence() -> None:
    seen = 0
    for item, witness in witnessed("knolling", 11):
        if len(lone(witness)) < len(witness):
            continue
        rng = random.Random(item.id)
        number = rng.randrange(len(witness))
        said = failure_sentences(judged(item.spec.text, moved(witness, number, rng)), KNOLLING, item.spec.text)
        assert all(number in one.objects for one in said), item.id
        seen += bool(said)
    assert seen > 10


CUP_AND_FORK = (
    "(exists ?cup (exists ?fork (and (Is ?cup 'cup') (Has ?cup 'red') (Is ?fork 'fork') (LeftOf ?cup ?fork))))"
)
CUP, FORK = SceneObject("cup", Box(100, 100, 200, 200), "red"), SceneObject("fork", Box(600, 100, 700, 200), "gray")


@pytest.mark.parametrize(
    ("objects", "sentences"),
    [
        ([], ["no cup found", "no fork found"]),
        ([FORK], ["no cup found"]),
        ([replace(CUP, color="blue"), FORK], ["the cup is blue, not red"]),
        ([replace(CUP, color=None), FORK], ["the cup is not red"]),
        ([replace(CUP, color="blue"), replace(CUP, color="green"), FORK], ["no cup is red"]),
        ([replace(CUP, box=Box(800, 0, 900, 90)), FORK], ["the cup is not to the left of the fork"]),
        (
            [replace(CUP, box=Box(800, 0, 900, 90)), replace(CUP, color="blue"), FORK],
            ["the red cup is not to the left of the fork"],
        ),
    ],
)
def test_what_the_scene_shows_in_place_of_a_red_cup_left_of_a_fork(
    objects: list[SceneObject], sentences: list[str]
) -> None:
    said = failure_sentences(judged(CUP_AND_FORK, Scene.of(objects)), KNOLLING, CUP_AND_FORK)
    assert [one.text for one in said] == sentences


@pytest.mark.parametrize(
    ("found", "sentence"),
    [(2, "2 cups found, 3 needed"), (1, "1 cup found, 3 needed"), (0, "no cup found, 3 needed")],
)
def test_counts_say_how_many_were_found_and_needed(found: int, sentence: str) -> None:
    formula = "(exactly 3 ?cup (Is ?cup 'cup'))"
    assert failure_text(judged(formula, Scene.of([FORK, *[CUP] * found])), KNOLLING, formula) == sentence


def test_without_a_scene_the_clause_is_given_in_its_own_words() -> None:
    parts = (
        Part("(Is ?cup 'cup')", "object", 0.0),
        Part("(LeftOf ?cup ?fork)", "relation", 0.0),
        Part("(Is ?fork 'fork')", "object", 1.0),
    )
    said = failure_sentences(Verdict(False, parts), KNOLLING, CUP_AND_FORK)
    assert [(one.text, one.parts) for one in said] == [
        ("not shown: a cup", (0,)),
        ("not shown: a cup is to the left of a fork", (1,)),
    ]


@pytest.mark.parametrize(
    ("name", "part", "sentence"),
    [
        ("conceptmix", Part("Does the image contain a dog?", "object", 0.0, about=("dog",)), "no dog found"),
        ("conceptmix", Part("Is the dog blue?", "color", 0.0, about=("blue",)), "Is the dog blue? No"),
        ("cf-world", Part("Does the ice sink?", "target", 0.25), "target 0.25 of 1: Does the ice sink?"),
        (
            "geneval",
            Part("2 cup", "count", 0.0, about=("cup",), reason="2 cup wanted, 3 found"),
            "3 cups found, 2 needed",
        ),
        (
            "geneval",
            Part("1 bench", "object", 0.0, about=("bench",), reason="1 bench wanted, 0 found"),
            "no bench found",
        ),
        (
            "geneval",
            Part("exactly 2 cup", "count", 0.0, about=("cup",), reason="2 cups needed, 3 found: #0 #1 #2"),
            "3 found, 2 cups needed",
        ),
    ],
)
def test_other_suites_say_which_question_object_or_dimension(name: str, part: Part, sentence: str) -> None:
    assert failure_text(Verdict(False, (part,)), suite(name)) == sentence


def test_a_colour_by_the_rule_of_geneval_is_said_of_the_only_object() -> None:
    part = Part("red cup", "attribute", 0.0, about=("red", "cup"), reason="1 red cup wanted, 0 found: 1 blue")
    blue = replace(CUP, color="blue")
    for cups, sentence in ((1, "the cup is blue, not red"), (2, "no red cup found")):
        verdict = Verdict(False, (part,), {"scene": Scene.of([blue] * cups).to_json()})
        assert failure_text(verdict, suite("geneval")) == sentence


def test_what_no_judge_decided_is_said_as_such() -> None:
    assert failure_text(Unscored("refused", "unsafe"), KNOLLING) == "refused: unsafe"
    assert failure_text(Verdict(False, (), {"rule": "blank image"}), KNOLLING) == "failed by rule: blank image"
    assert failure_text(Verdict(False), KNOLLING) == "the judge says no"
    assert failure_text(Verdict(True, (Part("(Is ?cup 'cup')", "object", 1.0),)), KNOLLING, CUP_AND_FORK) == ""
    damaged = {"scene": {"objects": 3}, "bindings": {"cup": 7}}
    part = Part("(Is ?cup 'cup')", "object", 0.0)
    assert failure_text(Verdict(False, (part,), damaged), KNOLLING, CUP_AND_FORK) == "not shown: a cup"
