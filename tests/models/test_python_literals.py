"""Answers that are read as Python literals: what they may hold, and how long that takes."""

from __future__ import annotations

import time

import pytest

from formalimg.models import text_answer
from formalimg.models.text_answer import json_or_literal

_ALIKE = 2**61 - 1
"""All multiples of it have the same hash."""


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
    texts = {f"{number}": number for number in range(5 * text_answer.MAX_NUMERIC_KEYS)}
    assert json_or_literal(str(texts)) == texts
    numbers = dict.fromkeys(range(text_answer.MAX_NUMERIC_KEYS))
    assert json_or_literal(str(numbers)) == numbers
