"""Rewards for text in images: 1 minus the distance of what is read, in process and over HTTP."""

from __future__ import annotations

import pytest

from formalimg.errors import FormalimgError
from formalimg.rewards.scorer import Scorer
from tests.support.drawn_text import draw_text

pytest.importorskip("rapidocr", reason="rapidocr is not installed: pip install 'formalimg[ocr]'")

WANTED = {"texts": ["FOUND SEED"]}


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer()


def test_the_reward_is_dense(scorer: Scorer) -> None:
    images = [draw_text(*lines).pil for lines in (("FOUND", "SEED"), ("FOUNN", "SDEMD"), ("BLUE", "WHALES"))]
    right, near, other = scorer.score_all([(image, WANTED) for image in images])
    assert (right.score, right.passed) == (1, True)
    assert near.score == pytest.approx(0.7)
    assert near.passed is False
    assert near.reason.endswith("reads FOUNN SDEMD, asked FOUND SEED")
    assert other.score is not None
    assert other.score < 0.5


def test_a_prompt_that_is_no_items_has_its_quoted_text_read(scorer: Scorer) -> None:
    image = draw_text("Hello", "World").pil
    (found,) = scorer.score_all([(image, {"prompt": "A sign that says 'Hello World' in the rain"})])
    assert (found.score, found.passed) == (1, True)
    with pytest.raises(FormalimgError, match="has the prompt"):
        scorer.score_all([(image, {"prompt": "A sign in the rain"})])


@pytest.mark.parametrize("texts", [[], "Hello", ["Hello", 7], ["!?"], ["a" * 300], ["a"] * 65])
def test_what_is_no_text_is_refused(scorer: Scorer, texts: object) -> None:
    with pytest.raises(FormalimgError, match="texts"):
        scorer.score_all([(draw_text("Hello").pil, {"texts": texts})])
