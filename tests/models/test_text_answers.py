"""Answers that are read from the whole text, and Python literals in them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Self

import pytest

from formalimg.errors import FormalimgError
from formalimg.models import structured_output
from formalimg.models.base import Answered, Completion, Message, Unanswered
from formalimg.models.options import sampling_options
from formalimg.models.provider_models import build_chat_model
from formalimg.models.registry import open_chat_model
from formalimg.models.retry import RetryPolicy
from formalimg.models.structured_output import TextAnswer, json_or_literal
from formalimg.types import Setting
from tests.support.telling_chat import TellingProvider

pytestmark = pytest.mark.usefixtures("stand_alone")

ASKED = [Message("user", ("Say three letters.",))]


class Letters(TextAnswer):
    letters: str

    @classmethod
    def from_text(cls, text: str) -> Self:
        if len(text) != 3:
            raise ValueError(f"there are {len(text)} letters\nand not 3")
        return cls(letters=text)


class PlainServer(TellingProvider):
    supports_schema = False


def ask(provider: TellingProvider, answer_type: type[Letters] = Letters, **policy: object) -> object:
    model = build_chat_model(provider, retry_policy=RetryPolicy(**policy))  # type: ignore[arg-type]
    return asyncio.run(model.ask(ASKED, answer_type))


@pytest.mark.parametrize("kind", [TellingProvider, PlainServer])
def test_neither_schema_nor_words_about_one_are_sent(kind: type[TellingProvider]) -> None:
    provider = kind(["abc"])
    found = ask(provider)
    assert isinstance(found, Answered)
    assert (found.value, found.raw) == (Letters(letters="abc"), "abc")
    assert provider.asked == [(ASKED, None)]


def test_what_cannot_be_read_is_asked_again_and_then_unreadable() -> None:
    provider = TellingProvider(["a", "ab", "abc"])
    assert isinstance(ask(provider, parse_retries=2), Answered)
    found = ask(TellingProvider(["a", "ab"]), parse_retries=1, cache=False)
    assert isinstance(found, Unanswered)
    assert (found.kind, found.reason) == ("unreadable", "the answer cannot be read: there are 2 letters and not 3")


def test_an_answer_that_was_cut_off_counts_and_is_cached() -> None:
    provider = TellingProvider(["abc"], ended="length")
    first, second = ask(provider), ask(provider)
    assert isinstance(first, Answered)
    assert isinstance(second, Answered)
    assert (first.cached, second.cached, len(provider.asked)) == (False, True, 1)


def test_json_and_python_are_read_and_nothing_else() -> None:
    assert json_or_literal('{"a": true}') == {"a": True}
    assert json_or_literal("{'a': (True, None)}") == {"a": (True, None)}
    for text in ("open('x')", "[" * 100_000, "-" * 100_000 + "1", "{", "x", "1" * 10_000, "{[]: 1}"):
        with pytest.raises(ValueError, match="neither JSON nor a Python literal"):
            json_or_literal(text)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("openai/x", {"temperature": "0.1", "max_tokens": "5", "top_p": "0.9"}),
        ("anthropic/x", {"temperature": "0.1", "max_tokens": "5"}),
        ("transformers/x", {"temperature": "0.1", "max_new_tokens": "5", "generate.top_p": "0.9"}),
        ("mine/x", {}),
    ],
)
def test_sampling_has_the_names_of_each_provider(name: str, options: Mapping[str, str]) -> None:
    assert sampling_options(name, temperature=0.1, max_tokens=5, top_p=0.9) == options


def test_the_limit_of_an_answer_can_be_left_to_the_server() -> None:
    assert sampling_options("openai/x", temperature=1) == {"temperature": "1", "max_tokens": "default"}
    assert sampling_options("gemini/x", temperature=1) == {"temperature": "1"}
    settings: Mapping[str, Setting] = open_chat_model("openai/x", {"max_tokens": "default"}).settings
    assert "max_tokens" not in settings
    assert open_chat_model("openai/x").settings["max_tokens"] == 4096
    with pytest.raises(FormalimgError, match="max_tokens='0' of openai/x is out of range"):
        open_chat_model("openai/x", {"max_tokens": "0"})


class CompletingProvider(TellingProvider):
    async def complete(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> Completion:
        self.asked.append((messages, schema))
        return Completion(f"{len(self.asked):03}")


def test_readers_of_other_rules_share_the_cache_and_ask_anew_where_theirs_fail() -> None:
    class Odd(Letters):
        @classmethod
        def from_text(cls, text: str) -> Self:
            if int(text) % 2 == 1:
                raise ValueError("odd")
            return cls(letters=text)

    provider = CompletingProvider([])
    first, second = ask(provider), ask(provider, Odd)
    assert isinstance(first, Answered)
    assert isinstance(second, Answered)
    assert (first.raw, second.raw) == ("001", "002")


_ALIKE = 2**61 - 1


@pytest.mark.parametrize("entry", ["{}: 1", "{}", "({},)", "-{}", "{}.0: 1"])
def test_numbers_that_are_hashed_alike_take_no_long_time(entry: str) -> None:
    members = ", ".join(entry.format(number * _ALIKE) for number in range(1, 20_000))
    start = time.process_time()
    with pytest.raises(ValueError, match="neither JSON nor a Python literal"):
        json_or_literal(f"{{{members}}}")
    assert time.process_time() - start < 2


def test_literals_with_some_numbers_as_keys_are_read() -> None:
    assert json_or_literal("{1: 'a', 2: ['b', None]}") == {1: "a", 2: ["b", None]}
    assert json_or_literal(" {'holds': True, 'which': {1, 2}}") == {"holds": True, "which": {1, 2}}
    texts = {f"{number}": number for number in range(5 * structured_output.MAX_NUMERIC_KEYS)}
    assert json_or_literal(str(texts)) == texts
    numbers = dict.fromkeys(range(structured_output.MAX_NUMERIC_KEYS))
    assert json_or_literal(str(numbers)) == numbers
