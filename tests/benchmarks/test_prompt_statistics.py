"""What the tool for maintainers measures of prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.prompt_statistics import (
    Prompt,
    count_distinct_words,
    format_table,
    measure_prompts,
    read_default_items,
    read_published,
)

from formalimg.logic.parser import parse

CUP = parse("(exists ?c (and (Is ?c 'cup') (Has ?c 'red')))")
RULE = parse("(forall ?c (implies (Is ?c 'cup') (Has ?c 'red')))")
PROMPTS = [
    Prompt(1, "There is a red cup.", CUP),
    Prompt(1, "Every cup is red; all are. They are arranged in this order.", RULE),
]


def test_prompts_are_measured() -> None:
    measures = measure_prompts(PROMPTS)
    assert (measures.prompts, measures.words, measures.sentences) == (2, (5 + 12) / 2, 1.5)
    assert measures.words_per_sentence == pytest.approx(17 / 3)
    assert measures.words_per_atom == pytest.approx(17 / 4)
    assert (measures.semicolons, measures.orders, measures.universal) == (0.5, 0.5, 0.5)


def test_distinct_words_are_counted_in_as_many_prompts_as_asked_for() -> None:
    assert count_distinct_words(PROMPTS[:1], {1: 1}) == 5
    assert count_distinct_words(PROMPTS, {1: 2}) == 13


def test_tables_have_a_line_for_each_level_and_one_for_all(tmp_path: Path) -> None:
    record = {"k": 1, "prompt": "A cup is red.", "dsl": str(CUP)}
    (tmp_path / "1.json").write_text(json.dumps(record), encoding="utf-8")
    lines = list(format_table(PROMPTS, read_published(tmp_path)))
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| 1", "| all"]
    assert lines[2].split(" | ")[1] == "8.5 / 4"


@pytest.mark.parametrize("reworded", [False, True])
def test_default_items_are_read(reworded: bool) -> None:
    prompts = list(read_default_items("natural", reworded=reworded, step=400))
    assert [prompt.level for prompt in prompts] == [1, 3, 5, 7, 9]
