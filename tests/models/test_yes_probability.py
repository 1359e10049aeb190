"""P(yes): asked for only if wanted, read at the token that answers, kept with the answer, and never in its way."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.judges.question_judge import NumberedAnswers, YesNoAnswer
from formalimg.models.base import Answered
from formalimg.models.providers.openai import open_openai_chat
from formalimg.models.structured_output import TextAnswer, answer_schema
from formalimg.models.yes_probability import TokenLogprobs, first_token_chances, read_logprobs, yes_probability
from tests.support.loopback import Fault, Loopback, scripted
from tests.support.remote_models import CONVERSATION, wait_for

pytestmark = pytest.mark.usefixtures("stand_alone")

SCHEMA = answer_schema(YesNoAnswer)
SEES = '{"observation": "it says \\"answer\\": \\"no\\", and no cat", "answer": "yes"}'


class OneWord(TextAnswer):
    text: str

    @classmethod
    def from_text(cls, text: str) -> OneWord:
        return cls(text=text)


def tokens(*texts: str, at: int, **chances: float) -> list[TokenLogprobs]:
    doubted = [(text.replace("_", " "), math.log(chance)) for text, chance in chances.items()]
    return [TokenLogprobs(text, doubted if n == at else [(text, -0.0), ("?", -9.0)]) for n, text in enumerate(texts)]


# --- where it is read


def test_all_ways_to_write_yes_and_no_are_weighed() -> None:
    found = tokens("Yes", at=0, Yes=0.4, yes=0.1, _YES=0.1, no=0.15, _No=0.05, Maybe=0.2)
    assert yes_probability(found, None) == pytest.approx(0.6 / 0.8)


def test_in_json_it_is_the_token_of_the_answer_and_no_quotation_of_it() -> None:
    texts = ('{"observation": "', 'he says \\"answer\\": \\"', "no", '\\"", "', "answer", '": "', "yes", '"}')
    assert yes_probability(tokens(*texts, at=6, yes=0.3, no=0.1), SCHEMA) == pytest.approx(0.75)
    assert yes_probability(tokens(*texts, at=2, yes=0.3, no=0.1), SCHEMA) == 1
    glued = ('{"observation": "x", "answer":', ' "yes"', "}")
    found = [*tokens(glued[0], at=9), TokenLogprobs(glued[1], [(' "yes"', -0.5), (' "no"', -1.5)])]
    assert yes_probability(found, SCHEMA) == pytest.approx(1 / (1 + math.exp(-1)), abs=1e-6)


def test_what_a_model_thinks_first_does_not_answer() -> None:
    found = tokens("<think>", "no", "</think>", "\n\n", "Yes", at=4, Yes=0.8, No=0.2)
    assert yes_probability(found, None) == pytest.approx(0.8)


def test_without_alternatives_or_without_either_word_there_is_none() -> None:
    assert yes_probability(tokens("Yes", at=0, Yes=1.0), None) is None
    assert yes_probability(tokens("Cat", at=0, Cat=0.9, Dog=0.1), None) is None
    assert yes_probability([], None) is None
    assert yes_probability(tokens("yes", at=0, yes=0.9, no=0.1), answer_schema(NumberedAnswers)) is None


def test_first_tokens_are_those_of_the_first_word_without_blanks() -> None:
    found = tokens("<think>", "two", "</think>", "\n", " Three", at=4, Three=0.5, _Three=0.25, _3=0.125)
    assert first_token_chances(found) == {"Three": 0.75, "3": 0.125}
    assert first_token_chances(tokens("Yes", at=0, Yes=1.0)) == {}
    assert first_token_chances([]) == {}


def test_a_token_that_was_drawn_counts_though_it_is_not_among_the_likeliest() -> None:
    listed = [{"token": "no", "logprob": math.log(0.5)}, {"token": "perhaps", "logprob": math.log(0.4)}]
    entry = {"token": "yes", "logprob": math.log(0.1), "top_logprobs": listed}
    assert yes_probability(read_logprobs({"logprobs": {"content": [entry]}}), None) == pytest.approx(1 / 6, abs=1e-6)


_ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.sampled_from(["yes", "no", "{", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "token", "logprob", "top_logprobs"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_ODD)
def test_whatever_a_server_sends_it_is_a_probability_or_nothing(sent: Any) -> None:
    for logprobs in (sent, {"content": [{"token": "yes", "logprob": sent, "top_logprobs": [sent, sent]}]}):
        found = yes_probability(read_logprobs({"logprobs": logprobs}), None)
        assert found is None or 0 <= found <= 1


# --- through the library


def _model(server: Loopback, model: str = "looker", **options: str) -> Any:
    return open_openai_chat(model, {"base_url": f"{server.url}/v1", **options})


def test_it_is_asked_for_only_if_wanted_and_kept_in_the_cache() -> None:
    with Loopback(reply=lambda asked: SEES) as server:
        plain = wait_for(_model(server).ask(CONVERSATION, YesNoAnswer))
        first = wait_for(_model(server, logprobs="true").ask(CONVERSATION, YesNoAnswer))
        again = wait_for(_model(server, logprobs="true").ask(CONVERSATION, YesNoAnswer))
        word = wait_for(_model(server, logprobs="true", schema="none").ask(CONVERSATION, YesNoAnswer))
    assert [isinstance(one, Answered) for one in (plain, first, again, word)] == [True] * 4
    assert (plain.p_yes, again.cached, again.value) == (None, True, first.value)
    assert first.p_yes == again.p_yes == word.p_yes == pytest.approx(0.7 / 0.9, abs=1e-6)
    assert first.served.keys() == again.served.keys() == plain.served.keys()
    sent = [came.json for came in server.requests]
    assert [(one.get("logprobs"), one.get("top_logprobs")) for one in sent] == [(None, None), (True, 20), (True, 20)]


@pytest.mark.parametrize("said", ["No", "yes.", " Yes, it is"])
def test_a_plain_word_is_read_too(said: str) -> None:
    with Loopback(reply=lambda asked: said) as server:
        answer = wait_for(_model(server, logprobs="true").ask(CONVERSATION, OneWord))
    assert answer.p_yes == pytest.approx((0.2 if said == "No" else 0.7) / 0.9, abs=1e-6)


@pytest.mark.parametrize(
    "refusal",
    [
        Fault("400", message="logprobs are not supported with this model"),
        Fault("422", message="top_logprobs: must be at most 5"),
        Fault("403", message="You are not allowed to request logprobs from this model"),
    ],
)
def test_a_server_that_refuses_is_asked_without_from_then_on(refusal: Fault, caplog: pytest.LogCaptureFixture) -> None:
    with (
        Loopback(reply=lambda asked: SEES, faults=scripted([refusal])) as server,
        caplog.at_level(logging.INFO, "formalimg"),
    ):
        model = _model(server, logprobs="true", cache="off")
        answers = [wait_for(model.ask(CONVERSATION, YesNoAnswer)) for _ in range(3)]
    assert [(one.value.answer, one.p_yes) for one in answers] == [("yes", None)] * 3
    assert ["logprobs" in came.json for came in server.requests] == [True, False, False, False]
    assert [text for text in caplog.messages if "log-prob" in text] == [
        "openai/looker: the server allows no log-probabilities: answers count, without P(yes)"
    ]


def test_a_server_that_ignores_it_still_answers_and_it_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with Loopback(reply=lambda asked: SEES) as server, caplog.at_level(logging.INFO, "formalimg"):
        model = _model(server, "mute-looker", logprobs="true", cache="off")
        answers = [wait_for(model.ask(CONVERSATION, YesNoAnswer)) for _ in range(2)]
    assert [(one.value.answer, one.p_yes) for one in answers] == [("yes", None)] * 2
    assert len([text for text in caplog.messages if "sends no log-probabilities" in text]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_logprobs": "5"}, "top_logprobs of openai/x has no effect without logprobs=true: give both, or neither"),
        ({"logprobs": "true", "top_logprobs": "1"}, "top_logprobs"),
        ({"logprobs": "maybe"}, "logprobs='maybe' of openai/x cannot be read: give on or off"),
    ],
)
def test_wrong_options_are_told(options: dict[str, str], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        open_openai_chat("x", options)


def test_a_value_that_is_no_probability_is_not_taken_from_a_cache(tmp_path: Path) -> None:
    from formalimg.models.base import Completion
    from formalimg.models.cache import AnswerCache

    cache = AnswerCache(tmp_path)
    cache.put("good", Completion("yes", p_yes=0.25, served={"model": "m"}))
    cache.put("bad", Completion("yes", p_yes=7.0))
    found = cache.get("good")
    assert found is not None
    assert (found.p_yes, json.dumps(dict(found.served))) == (0.25, '{"model": "m"}')
    assert cache.get("bad") is None


def test_first_tokens_of_plain_answers_are_kept_in_the_cache() -> None:
    with Loopback(reply=lambda asked: "Three") as server:
        first = wait_for(_model(server, logprobs="true").ask(CONVERSATION, OneWord))
        again = wait_for(_model(server, logprobs="true").ask(CONVERSATION, OneWord))
    assert first.first_tokens == again.first_tokens == pytest.approx({"Three": 0.9, "Threes": 0.1})
    assert again.cached
    assert first.served.keys() == again.served.keys()
