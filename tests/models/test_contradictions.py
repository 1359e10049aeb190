"""An answer that the same reply contradicts is unreadable, and never a yes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from formalimg.benchmarks.cfworld.judge import NumberedScores, score_answer_type
from formalimg.judges.clause_judge import ClauseAnswer, PublishedAnswer
from formalimg.judges.grounders.vlm import SeenThings
from formalimg.judges.question_judge import NumberedAnswers, YesNoAnswer, parse_yes_no
from formalimg.models.structured_output import ParseFailure, parse_answer
from tests.support.reply_forms import denied_yeses, empty_replies, honest_replies
from tests.support.sizes import tries

YES: dict[str, Any] = {"observation": "a cat on a mat", "answer": "yes"}
NO: dict[str, Any] = {"observation": "an empty mat", "answer": "no"}
CLAUSE: dict[str, Any] = {"clause": "a", "because": "", "holds": True}
SAID = json.dumps(YES)


@pytest.mark.parametrize(
    "text",
    [
        f"{SAID} {json.dumps(NO)}",
        f'{SAID} {{"answer": "no"}}',
        f'{SAID}\n```json\n{{"final_answer": "No."}}\n```',
        f'{SAID} {{"verdict": "fail"}}',
        f'{SAID} [{{"answer": "no"}}]',
        f"[{json.dumps(NO)}, {SAID}]",
        f"[{SAID}, {json.dumps(NO)}]",
        f'["no", {SAID}]',
        f"[false, {SAID}]",
        f'["no", {SAID}',
        f"[[1], {SAID}, oops]",
        f"{SAID} Correction: no",
        f"{SAID} Wait, no.",
        f"{SAID}\nActually, there is no cat.",
        f"{SAID}\n\nOn second thought, I see a dog.",
        f"{SAID}\nNo.",
        f"{SAID}\n**No**",
        f"{SAID}\nFinal answer: no",
        f"{SAID}\nSo the answer is no",
        f'{SAID} ["no"]',
        f'{SAID} {{"observation": "x", "answer": "no',
        f"```json\n{SAID}\n```\nI should have been more careful: it should be no.",
    ],
)
def test_a_yes_that_is_taken_back_is_unreadable(text: str) -> None:
    found = parse_answer(text, YesNoAnswer)
    assert isinstance(found, ParseFailure), found
    assert "\n" not in found.reason


@pytest.mark.parametrize(
    "fields",
    [
        {"final": "no"},
        {"final": "No."},
        {"final": "No, there is none."},
        {"present": False},
        {"present": 0},
        {"verdict": "fail"},
        {"Answer": "no"},
        {"final_answer": "no"},
        {"finalAnswer": False},
        {"result": {"answer": "no"}},
        {"result": ["no"]},
        {"correction": "The answer is no"},
        {"missing": True},
        {"uncertain": True},
        {"conclusion": "not present"},
    ],
)
def test_a_field_that_nobody_asked_for_may_not_contradict(fields: dict[str, Any]) -> None:
    for raw in ({**YES, **fields}, {**fields, **YES}):
        found = parse_answer(json.dumps(raw), YesNoAnswer)
        assert isinstance(found, ParseFailure), found
        assert f'the field "{next(iter(fields))}" was not asked for and contradicts' in found.reason


@pytest.mark.parametrize(
    ("answer_type", "raw"),
    [
        (NumberedAnswers, {"answers": [{"number": 1, **YES, "final": "no"}]}),
        (NumberedAnswers, {"answers": [{"number": 1, **YES}], "final": "no"}),
        (
            ClauseAnswer,
            {
                "observations": [],
                "clauses": [{"clause": "a", "because": "", "holds": True, "ok": False}],
                "fulfilled": True,
            },
        ),
        (ClauseAnswer, {"observations": [], "clauses": [], "fulfilled": True, "verdict": "fail"}),
        (PublishedAnswer, {"satisfies_constraint": True, "satisfied_clauses": [], "passed": False}),
        (NumberedScores, {"answers": [{"number": 1, "reasoning": "", "score": 1, "final_score": 0}]}),
        (score_answer_type(1), {"1": {"reasoning": "", "score": 1, "corrected score": 0.2}}),
        (
            SeenThings,
            {"objects": [{"label": "cup", "color": "red", "box_2d": [0, 0, 9, 9], "new_box_2d": [5, 5, 9, 9]}]},
        ),
    ],
)
def test_all_forms_of_answers_are_held_to_that(answer_type: type[BaseModel], raw: Any) -> None:
    found = parse_answer(json.dumps(raw), answer_type)
    assert isinstance(found, ParseFailure)
    assert "was not asked for and contradicts" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        f"{SAID}\nI hope this helps!",
        f"{SAID}\nYes, a cat is there.",
        f"{SAID}\nThe answer is yes.",
        f"{SAID}\nNote that no dog is there, and nothing else.",
        f"No idea at first. Wait, I see it now: {SAID}",
        f"{SAID}\nWait, let me check once more.\n{SAID}",
        f'As in [1] and ["a"], here it is:\n{SAID}',
        json.dumps({**YES, "final": "Yes."}),
        json.dumps({**YES, "confidence": 0.9, "id": 0}),
        json.dumps({**YES, "uncertain": False, "reasoning": "Is it a dog? Wait, no. It is a cat."}),
        json.dumps({**YES, "seen": {"cat": True, "dog": False}}),
        f'{SAID} {{"answer": "Yes"}}',
    ],
)
def test_what_does_not_contradict_does_no_harm(text: str) -> None:
    assert parse_answer(text, YesNoAnswer) == YesNoAnswer(**YES)


# --- properties

_words = st.text(st.characters(codec="utf-8", exclude_characters='"\\{}[]'), max_size=30)
_yes_no = st.sampled_from(["yes", "no"])
_around = st.sampled_from(
    ["{}", "```json\n{}\n```", "Here it is:\n{}", "<think>No? Yes!</think>{}", "\n {}\n", "{}\nDone."]
)
_yes_no_answers = st.builds(lambda seen, word: {"observation": seen, "answer": word}, _words, _yes_no)
_clause = st.builds(lambda a, b, c: {"clause": a, "because": b, "holds": c}, _words, _words, st.booleans())
_numbers = st.floats(0, 1) | st.integers(0, 1)
_entries: dict[str, st.SearchStrategy[Any]] = {
    "yes or no": st.tuples(st.just(YesNoAnswer), _yes_no_answers),
    "numbered": st.tuples(
        st.just(NumberedAnswers),
        st.lists(_yes_no_answers, max_size=5).map(
            lambda found: {"answers": [{"number": number, **one} for number, one in enumerate(found, 1)]}
        ),
    ),
    "clauses": st.tuples(
        st.just(ClauseAnswer),
        st.builds(
            lambda seen, clauses, whole: {"observations": seen, "clauses": clauses, "fulfilled": whole},
            st.lists(_words, max_size=3),
            st.lists(_clause, max_size=4),
            st.booleans(),
        ),
    ),
    "satisfied": st.tuples(
        st.just(PublishedAnswer),
        st.builds(
            lambda whole, clauses: {"satisfies_constraint": whole, "satisfied_clauses": clauses},
            st.booleans(),
            st.lists(_words, max_size=4),
        ),
    ),
    "scores": st.tuples(
        st.just(NumberedScores),
        st.lists(st.tuples(_words, _numbers), max_size=4).map(
            lambda found: {
                "answers": [{"number": n, "reasoning": why, "score": score} for n, (why, score) in enumerate(found, 1)]
            }
        ),
    ),
    "published scores": st.tuples(
        st.just(score_answer_type(2)),
        st.lists(st.tuples(_words, _numbers), min_size=2, max_size=2).map(
            lambda found: {str(n): {"reasoning": why, "score": score} for n, (why, score) in enumerate(found, 1)}
        ),
    ),
    "boxes": st.tuples(
        st.just(SeenThings),
        st.lists(st.tuples(_words, _words, st.lists(st.integers(0, 1000), min_size=4, max_size=4)), max_size=5).map(
            lambda found: {"objects": [{"label": a, "color": b, "box_2d": box} for a, b, box in found]}
        ),
    ),
}


@pytest.mark.parametrize("form", _entries)
@given(data=st.data())
@settings(max_examples=60)
def test_every_valid_answer_is_read_as_it_is_whatever_stands_around_it(form: str, data: st.DataObject) -> None:
    answer_type, raw = data.draw(_entries[form])
    text = data.draw(_around).replace("{}", json.dumps(raw, ensure_ascii=data.draw(st.booleans())))
    found = parse_answer(text, answer_type)
    assert found == answer_type.model_validate_json(json.dumps(raw), strict=True)


_denials = st.sampled_from(["no", "No", "NO.", "false", "fail", "failed", "not present", '"no"', "no!"])
_names = st.sampled_from(
    ["final", "verdict", "answer_2", "result", "Answer", "final_answer", "present", "decision", "x"]
)
_links = st.sampled_from(["\n", "\nAnswer: ", " Final answer: ", "\n\nThe answer is ", "\n- ", "\n**", " => "])


@given(_words, _denials, _names, _links, st.integers(0, 6))
@settings(max_examples=tries(100, 400))
def test_no_contradiction_is_ever_a_yes(seen: str, denial: str, name: str, link: str, kind: int) -> None:
    yes = {"observation": seen, "answer": "yes"}
    denied = {"observation": seen, "answer": "no"}
    said = json.dumps(yes)
    text = [
        f"{said}{link}{denial}",
        json.dumps({**yes, name: denial}),
        json.dumps({name: {"inner": [denial]}, **yes}),
        f"{said}\n{json.dumps({name: denial})}",
        f"{said} {json.dumps(denied)}",
        json.dumps([denial, yes]),
        json.dumps({**yes, "answer": f"yes{link}{denial}"}),
    ][kind]
    found = parse_answer(text, YesNoAnswer)
    assert isinstance(found, ParseFailure) or parse_yes_no(found.answer) is None


# --- many forms


def read_yes_no(text: str) -> bool | None:
    answer = parse_answer(text, YesNoAnswer)
    return None if isinstance(answer, ParseFailure) else parse_yes_no(answer.answer)


def test_honest_replies_are_read_as_what_they_say() -> None:
    replies = list(honest_replies())
    assert len(set(replies)) > 240
    assert [text for text, verdict in replies if read_yes_no(text) is not verdict] == []


def test_a_yes_object_beside_words_that_say_no_is_unreadable() -> None:
    replies = set(denied_yeses())
    assert len(replies) > 260
    assert [text for text in replies if read_yes_no(text) is not None] == []


def test_refusals_and_examples_are_neither_yes_nor_no() -> None:
    replies = set(empty_replies())
    assert len(replies) > 500
    assert [text for text in replies if read_yes_no(text) is not None] == []


@pytest.mark.parametrize(
    ("answer_type", "denied", "answer"),
    [
        (PublishedAnswer, "{'satisfies_constraint': False}", {"satisfies_constraint": True, "satisfied_clauses": []}),
        (
            NumberedScores,
            "{'answers': [{'number': 1, 'score': 0}]}",
            {"answers": [{"number": 1, "reasoning": "", "score": 1}]},
        ),
        (NumberedScores, "I cannot see the image.", {"answers": [{"number": 1, "reasoning": "", "score": 1}]}),
        (ClauseAnswer, "Verdict: fail.", {"observations": [], "clauses": [CLAUSE], "fulfilled": True}),
        (SeenThings, "I cannot view images.", {"objects": []}),
    ],
)
def test_words_around_other_forms_count_too(answer_type: type[BaseModel], denied: str, answer: Any) -> None:
    assert isinstance(parse_answer(f"{denied} {json.dumps(answer)}", answer_type), ParseFailure)
