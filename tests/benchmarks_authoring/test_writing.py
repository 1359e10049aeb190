"""Whole writings with a scripted chat model: nothing invalid is accepted, everything is counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.authoring.engine import AuthoringResult, author_suite
from formalimg.benchmarks.authoring.task import AuthoringPlan, Slot
from formalimg.benchmarks.formal.authoring.templates import Assignment, draw_assignment
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.logic.checks import check
from formalimg.logic.prenex import complexity
from formalimg.logic.verification import verify
from formalimg.logic.vocabulary import vocabulary
from formalimg.models.base import Unanswered
from formalimg.types import Item
from tests.benchmarks_authoring.scripted import Scripted, draft, good_review, level_asked, made, review


@cache
def right(level: int) -> list[Item[FormulaSpec]]:
    """Right instructions of a level."""
    return made("knolling", level, 12, seed=3)


RED_CUP = "(exists ?a (and (Is ?a 'cup') (Has ?a 'red')))"
CUP_BY_KNIFE = "(exists ?a (exists ?b (and (Is ?a 'cup') (Is ?b 'knife') (RightOf ?a ?b) (SmallerThan ?a ?b))))"
ONE = AuthoringPlan("knolling", (1,), 1, attempts=1)


@pytest.fixture(autouse=True)
def everything_on_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted answers were not written for the assignments that are drawn: offer whatever they use."""

    def offering_all(plan: AuthoringPlan, slot: Slot, attempt: int) -> Assignment:
        known = vocabulary(plan.suite)
        return replace(
            draw_assignment(plan, slot, attempt),
            classes=known.words["class"],
            words={kind: listed for kind, listed in known.words.items() if kind not in ("class", "style")},
            predicates=tuple(known.predicates),
            style=None,
        )

    monkeypatch.setattr("formalimg.benchmarks.formal.authoring.attempts.draw_assignment", offering_all)


def right_answers() -> Scripted:
    """Gives each level's right instructions one after the other."""
    supply: dict[int, Iterator[Any]] = {level: iter(right(level)) for level in (1, 2, 3)}

    def write(question: str) -> dict[str, Any]:
        item = next(supply[level_asked(question)])
        return draft(item.prompt, str(item.spec.formula))

    return Scripted(write)


def assert_adds_up(written: AuthoringResult, folder: Path) -> None:
    assert written.tried == len(written.items) + sum(written.rejections.values()) + written.unsettled
    manifest = json.loads((folder / "writing.json").read_text())
    assert manifest["tried"] == written.tried
    assert manifest["rejections"] == {reason: count for reason, count in written.rejections.items() if count}
    assert manifest["items"] == len(written.items)


def assert_valid(written: AuthoringResult, suite: str) -> None:
    """Checked again, from the outside."""
    prompts, formulas = set(), set()
    for item in written.items:
        assert check(item.spec.formula, suite, k=item.level, single_component=True) == []
        assert complexity(item.spec.formula) == item.level
        if suite == "knolling":
            assert item.spec.witness is not None
            assert verify(item.spec.formula, item.spec.witness)
        prompts.add(item.prompt)
        formulas.add(str(item.spec.formula))
    assert len(prompts) == len(formulas) == len(written.items)


def only(answer: dict[str, Any] | Unanswered, review_: dict[str, Any] | Unanswered | None = None) -> Scripted:
    """The same answer, whatever is asked."""
    return Scripted(lambda question: answer, good_review if review_ is None else lambda question: review_)


def test_right_answers_become_items(tmp_path: Path) -> None:
    model = right_answers()
    plan = AuthoringPlan("knolling", (1, 2, 3), 4, version="mine-1")
    written = author_suite(plan, model, tmp_path)
    assert [item.level for item in written.items] == [1] * 4 + [2] * 4 + [3] * 4
    assert not written.rejections
    assert not written.missing
    assert_adds_up(written, tmp_path)
    assert_valid(written, "knolling")
    assert load("knolling", tmp_path) == list(written.items)
    assert {item.tags for item in written.items} == {("written-by:scripted/model",)}
    assert {item.version for item in written.items} == {"mine-1"}
    manifest = json.loads((tmp_path / "writing.json").read_text())
    assert manifest["words_read_by_us"] == {"same": 12}
    assert manifest["usage"] == {"input_tokens": 2400, "output_tokens": 480}
    assert manifest["cost"] == pytest.approx(0.24)
    assert manifest["served"] == {"checker": [{"model": "scripted-1"}], "writer": [{"model": "scripted-1"}]}
    assert manifest["prompts"] == {"check-knolling": "version 1", "write-knolling": "version 1"}
    assert model.most_at_once <= model.concurrency


WRONG: list[tuple[str, dict[str, Any] | Unanswered, dict[str, Any] | Unanswered | None]] = [
    ("refused", Unanswered("refused", "I would rather not"), None),
    ("unreadable", Unanswered("unreadable", "no JSON", "blah"), None),
    ("unfit words", draft("  \n ", RED_CUP), None),
    ("unfit words", draft("cup " * 2000, RED_CUP), None),
    ("unfit words", draft("A red cup\x00", RED_CUP), None),
    ("no formula", draft("A red cup", "red cup"), None),
    ("wrong level", draft("A", CUP_BY_KNIFE), None),
    ("unknown word", draft("A mauve cup", RED_CUP.replace("red", "mauve")), None),
    ("contradiction", draft("A cup", "(exists ?a (and (Is ?a 'cup') (OnLeftSide ?a) (OnRightSide ?a)))"), None),
    ("words say otherwise", draft("Every knife is in the bottom half of the image.", RED_CUP), None),
    ("words say otherwise", draft("A blue cup", RED_CUP), None),
    ("check refused", draft("A red cup", RED_CUP), Unanswered("refused", "no")),
    ("check unreadable", draft("A red cup", RED_CUP), Unanswered("unreadable", "no")),
    ("check: implausible", draft("A red cup", RED_CUP), review(plausible=False, reason="cups fly")),
    ("check: implausible", draft("A red cup", RED_CUP), review(plausible=False, better_prompt="A cup, red")),
    ("check: not aligned", draft("A blue cup, please", RED_CUP), review(aligned=False, reason="blue")),
    ("check: not aligned", draft("A blue cup, please", RED_CUP), review(aligned=False, better_prompt="A red cup")),
    ("check: not aligned", draft("A blue cup, please", RED_CUP), review(aligned=False, better_prompt=" ")),
]


@pytest.mark.parametrize(("reason", "answer", "said"), WRONG)
def test_wrong_answers_are_counted_by_their_reason(
    tmp_path: Path, reason: str, answer: dict[str, Any] | Unanswered, said: dict[str, Any] | Unanswered | None
) -> None:
    written = author_suite(ONE, only(answer, said), tmp_path)
    assert dict(written.rejections) == {reason: 1}
    assert written.items == ()
    assert written.path is None
    assert written.missing == {1: 1}
    assert not (tmp_path / "items.jsonl").exists()
    assert_adds_up(written, tmp_path)


def test_mended_words_are_checked_again_and_taken(tmp_path: Path) -> None:
    def check_words(question: str) -> dict[str, Any]:
        mended = "English: A cup, bright red" in question
        return review() if mended else review(aligned=False, better_prompt="A cup,\nbright red", reason="no colour")

    model = Scripted(lambda question: draft("A cup, please", RED_CUP), check_words)
    written = author_suite(ONE, model, tmp_path)
    assert [item.prompt for item in written.items] == ["A cup, bright red"]
    assert len(model.asked) == 3
    assert json.loads((tmp_path / "writing.json").read_text())["polished"] == 1


def test_duplicates_are_rejected_in_logic_in_words_and_nearly(tmp_path: Path) -> None:
    long = "A red cup lies in the middle of a wide white table in the warm light of the afternoon, seen from above"
    answers = iter(
        [
            draft(long, RED_CUP),
            draft("Another way to say it", RED_CUP.replace("?a", "?thing")),
            draft(long.upper(), RED_CUP.replace("red", "blue")),
            draft(long.replace("red", "blue"), RED_CUP.replace("red", "blue")),
            draft("Quite another thing", RED_CUP.replace("red", "green")),
        ]
    )
    model = Scripted(lambda question: next(answers), concurrency=1)
    written = author_suite(AuthoringPlan("knolling", (1,), 2, attempts=4), model, tmp_path)
    assert [item.prompt for item in written.items] == [long, "Quite another thing"]
    assert dict(written.rejections) == {"duplicate formula": 1, "duplicate words": 1, "near duplicate": 1}
    assert_adds_up(written, tmp_path)


def test_duplicates_of_earlier_rounds_are_not_shown_to_the_checker(tmp_path: Path) -> None:
    answers = iter([draft("A red cup", RED_CUP), draft("no", "no"), draft("A cup of red", RED_CUP)])
    model = Scripted(lambda question: next(answers), concurrency=1)
    author_suite(AuthoringPlan("knolling", (1,), 2, attempts=2), model, tmp_path)
    assert len(model.asked) == 4


def test_a_model_that_can_never_answer_is_an_error_and_nothing_is_lost(tmp_path: Path) -> None:
    calls = iter(right(1)[:2])

    def write(question: str) -> dict[str, Any]:
        item = next(calls, None)
        if item is None:
            raise FormalimgError("the key is wrong: set OPENAI_API_KEY")
        return draft(item.prompt, str(item.spec.formula))

    plan = AuthoringPlan("knolling", (1,), 4)
    with pytest.raises(FormalimgError, match="the key is wrong"):
        author_suite(plan, Scripted(write, concurrency=1), tmp_path)
    supply = iter(right(1)[2:])

    def go_on(question: str) -> dict[str, Any]:
        item = next(supply)
        return draft(item.prompt, str(item.spec.formula))

    written = author_suite(plan, Scripted(go_on, concurrency=1), tmp_path)
    assert [item.prompt for item in written.items] == [item.prompt for item in right(1)[:4]]


def test_other_options_do_not_go_on_with_a_folder(tmp_path: Path) -> None:
    author_suite(ONE, only(draft("A red cup", RED_CUP)), tmp_path)
    with pytest.raises(FormalimgError, match="seed 1, not 2"):
        author_suite(AuthoringPlan("knolling", (1,), 1, seed=2, attempts=1), only(draft("no", "no")), tmp_path)
    other = only(draft("no", "no"))
    other.name = "scripted/other"
    with pytest.raises(FormalimgError, match="writer"):
        author_suite(ONE, other, tmp_path)


def test_a_folder_with_other_items_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("mine")
    with pytest.raises(FormalimgError, match="holds items already"):
        author_suite(ONE, only(draft("no", "no")), tmp_path)
    assert (tmp_path / "items.jsonl").read_text() == "mine"


def test_texts_of_the_users_own_are_sent_and_noted(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "write-knolling.txt").write_text("- Level: {level}\nSay {classes} {words} {predicates} my way.")
    model = only(draft("A red cup", RED_CUP))
    author_suite(ONE, model, tmp_path / "out", prompts=own)
    assert model.asked[0].endswith("my way.")
    manifest = json.loads((tmp_path / "out" / "writing.json").read_text())
    assert manifest["prompts"]["write-knolling"].startswith("the user's own")
    (own / "write-knolling.txt").write_text("Say {class} my way.")
    with pytest.raises(FormalimgError, match="class"):
        author_suite(ONE, model, tmp_path / "out", prompts=own)


def test_two_models_write_and_check(tmp_path: Path) -> None:
    writer, checker = only(draft("A red cup", RED_CUP)), Scripted(lambda question: draft("", ""), name="scripted/check")
    assert len(author_suite(ONE, writer, tmp_path, checker=checker).items) == 1
    assert (len(writer.asked), len(checker.asked)) == (1, 1)
    assert json.loads((tmp_path / "writing.json").read_text())["checker"][0] == "scripted/check"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(WRONG) + 11), min_size=12, max_size=12), st.integers(1, 5))
def test_any_mixture_adds_up_and_nothing_invalid_is_accepted(
    tmp_path_factory: pytest.TempPathFactory, choices: list[int], concurrency: int
) -> None:
    """Right and wrong answers in any order, by as many hands as may be."""
    quick = [entry for entry in WRONG if entry[0] != "contradiction"]
    remaining = iter(choices)

    def write(question: str) -> dict[str, Any] | Unanswered:
        choice = next(remaining)
        if choice < len(quick):
            return quick[choice][1]
        item = right(1)[choice % 12]
        return draft(item.prompt, str(item.spec.formula))

    def check_words(question: str) -> dict[str, Any]:
        return review(aligned=any(f"English: {item.prompt}\n" in question for item in right(1)))

    folder = tmp_path_factory.mktemp("mixed")
    plan = AuthoringPlan("knolling", (1,), 4, attempts=3)
    written = author_suite(plan, Scripted(write, check_words, concurrency=concurrency), folder)
    assert_valid(written, "knolling")
    assert_adds_up(written, folder)
    assert len(written.items) + sum(written.missing.values()) == 4
    assert written.tried <= 12
    assert Counter(item.prompt for item in written.items) <= Counter(item.prompt for item in right(1))
