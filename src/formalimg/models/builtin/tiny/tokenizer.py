"""Tokenizer of the tiny baseline: words and punctuation marks, each one token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

PADDING, UNKNOWN = 0, 1
"""Tokens that stand for no word, and for a word that was never seen in training."""

MAX_TOKENS = 256
"""What follows the first so many tokens is not read; no prompt of the default suite is as long."""

_TOKEN = re.compile(r"[a-z]+|[^\sa-z]")
_STYLE = re.compile(r"[^.]*\bknolling\b[^.]*\.")
"""A sentence that names the only style there is."""


def split_words(prompt: str) -> list[str]:
    """Split a prompt into lower-case words and single other characters, without its sentence about the style."""
    return _TOKEN.findall(_STYLE.sub("", prompt.lower(), count=1))


class Tokenizer:
    """Maps words to numbers; `words` are those of the training prompts, in the order of their numbers from 2 on."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._numbers = {word: number for number, word in enumerate(self.words, start=2)}

    @classmethod
    def of_prompts(cls, prompts: Iterable[str]) -> Tokenizer:
        """Make a tokenizer of all words in these prompts."""
        return cls(sorted({word for prompt in prompts for word in split_words(prompt)}))

    def __len__(self) -> int:
        return len(self.words) + 2

    def encode(self, prompt: str) -> NDArray[np.int64]:
        """Return the tokens of a prompt, at most `MAX_TOKENS`."""
        numbers = [self._numbers.get(word, UNKNOWN) for word in split_words(prompt)]
        return np.array(numbers[:MAX_TOKENS], dtype=np.int64)

    def number(self, word: str) -> int:
        """Return the token of a word."""
        return self._numbers.get(word, UNKNOWN)
