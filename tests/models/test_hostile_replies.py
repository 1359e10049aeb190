"""No text that a model may send takes long to read, whoever reads it."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from formalimg._util.strict_json import loads_strict
from formalimg.benchmarks.cfworld.result_files import _score_or_reason
from formalimg.models.base import Answered, Completion, Failed, ImageRequest, Message, Unanswered
from formalimg.models.builtin.baselines import compose_layout
from formalimg.models.provider_models import build_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.models.structured_output import (
    MAX_REPLY,
    MAX_VALUES,
    SMALL_REPLY,
    ParseFailure,
    find_json,
    parse_answer,
    strip_thoughts,
)
from formalimg.types import Setting
from tests.support.hostile_replies import FAMILIES, LONG_ANSWERS, READERS
from tests.support.sizes import tries

ALL = {**FAMILIES, **LONG_ANSWERS}


def seconds(text: str) -> float:
    start = time.thread_time()
    for read in READERS.values():
        read(text)
    return time.thread_time() - start


@pytest.mark.parametrize("family", list(ALL)[:: tries(12, 1)])
def test_all_readers_together_take_little_time_that_grows_with_the_text(family: str) -> None:
    seconds("warm up")
    short, long = seconds(ALL[family](40_000)), seconds(ALL[family](80_000))
    assert long < 3
    assert long < 3.5 * max(short, 0.2), "twice the text, twice the time"


# --- thoughts and JSON in prose

_PAIR = re.compile(r"<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END = re.compile(r"^.*</(?:think|thinking)>", re.DOTALL | re.IGNORECASE)


@given(
    st.lists(
        st.sampled_from(
            ["<think>", "</think>", "<thinking>", "</thinking>", "<THINK>", "</Think>", "a", " ", "{", "é"]
        ),
        max_size=12,
    )
)
@settings(max_examples=tries(150, 500))
def test_thoughts_end_where_the_plain_rule_says(pieces: list[str]) -> None:
    text = "".join(pieces).strip()
    if not text.startswith("{"):
        assert strip_thoughts(text) == _END.sub("", _PAIR.sub("", text)).strip()


def test_a_list_in_prose_is_skipped_and_a_list_with_objects_is_a_value() -> None:
    assert [one.value for one in find_json('See [1], ["a"] and [x]: {"a": 1}', lists=False)] == [{"a": 1}]
    assert [one.value for one in find_json('["no", {"a": 1}]', lists=False)] == [["no", {"a": 1}]]
    for broken in ('["no", {"a": 1}', '["no", {"a": 1}, oops]', '[[1, {"a"'):
        with pytest.raises(ValueError, match=r"line 1|Expecting"):
            find_json(broken, lists=False)


def test_more_values_than_an_answer_has_are_none() -> None:
    assert len(find_json("{} " * MAX_VALUES, lists=False)) == MAX_VALUES
    with pytest.raises(ValueError, match="more than 100 JSON values"):
        find_json("{} " * (MAX_VALUES + 1), lists=False)
    with pytest.raises(ValueError, match="too many brackets"):
        find_json("[] " * 5000, lists=False)


def test_a_key_that_occurs_twice_is_found_among_very_many() -> None:
    many = ",".join(f'"{number}": 1' for number in range(100_000))
    with pytest.raises(ValueError, match="the key 'x' occurs twice"):
        loads_strict(f'{{{many}, "x": 1, "x": 2}}')


def test_nested_brackets_in_a_prompt_are_no_layout() -> None:
    assert isinstance(compose_layout(ImageRequest("1", 0, '[{"a":' * 50_000, 0)), Failed)


def test_a_note_of_the_published_scores_is_found_after_any_number_of_blanks() -> None:
    blanks = " " * 300_000
    note = "[System: Zeroed because L1 image score 0.2 < 0.5]"
    assert "set to 0" in str(_score_or_reason(0, f"fine{blanks}{note}"))
    assert _score_or_reason(1, f"fine{blanks}") == 1.0
    assert _score_or_reason(0, f"API Failed{blanks}{note}") == "no answer from the judge"


# --- long replies


class Told(BaseModel):
    text: str
    thread: int = 0

    @field_validator("text")
    @classmethod
    def _note_thread(cls, text: str) -> str:
        THREADS.append(threading.get_ident())
        return text


THREADS: list[int] = []


class Server:
    name = "test/same"
    settings: Mapping[str, Setting] = {}

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        return Completion(self.text)


def ask(text: str) -> Answered[Told] | Unanswered:
    model = build_chat_model(Server(text), retry_policy=RetryPolicy(cache=False, parse_retries=0))
    return asyncio.run(model.ask([Message("user", ("?",))], Told))


@pytest.mark.parametrize(("length", "aside"), [(10, False), (SMALL_REPLY + 1, True)])
def test_a_long_reply_is_read_in_a_thread(length: int, aside: bool) -> None:
    THREADS.clear()
    reply = ask(f'{{"text": "{"a" * length}", "thread": 1}}')
    assert isinstance(reply, Answered)
    assert (threading.get_ident() not in THREADS) is aside


def test_there_is_a_limit_on_the_length_of_a_reply() -> None:
    fits = f'{{"text": "{"a" * (MAX_REPLY - 100)}", "thread": 1}}'
    assert isinstance(parse_answer(fits, Told), Told)
    reply = ask(f'{{"text": "{"a" * MAX_REPLY}", "thread": 1}}')
    assert isinstance(reply, Unanswered)
    assert (reply.kind, reply.reason) == ("unreadable", "the answer has 1,000,025 characters, the limit is 1,000,000")


def test_very_many_problems_are_counted_only() -> None:
    class Numbers(BaseModel):
        numbers: list[int]

    found = parse_answer(f'{{"numbers": [{",".join(["true"] * 50_000)}]}}', Numbers)
    assert found == ParseFailure("the answer has not the wanted form: it has 50,000 problems")
