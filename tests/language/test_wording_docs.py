"""The examples in the documentation are what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from formalimg.language.realization import realize
from formalimg.logic.parser import parse
from formalimg.logic.prenex import complexity

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "wording.md"
_EXAMPLE = re.compile(r"^(\w+), K = (\d+), seed (\d+)\n\n```text\n(.+)\n```\n\n> (.+)$", re.MULTILINE)


def test_the_examples_of_the_documentation_are_up_to_date() -> None:
    examples = _EXAMPLE.findall(DOCS.read_text(encoding="utf-8"))
    assert len(examples) == 4
    for suite, level, seed, formula, words in examples:
        assert complexity(parse(formula)) == int(level)
        assert realize(parse(formula), suite, seed=int(seed)) == words
