from __future__ import annotations

import pytest

from formalimg.language.quoted_text import find_quoted_texts, find_wanted_texts, remove_quoted_texts


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ("A sign that says 'Hello World'.", ["Hello World"]),
        ('A sign that says "Hello, World," in red', ["Hello, World"]),
        ("a menu 'ROSIE'S DINER' of the 1950's and the dogs' bowl 'Rex'", ["ROSIE'S DINER", "Rex"]),
        ("“Open” and ‘closed’, 「开门」 and „zu“", ["Open", "closed", "开门", "zu"]),
        ("Sarah's '80s diner with a sign 'OPEN' and 'OPEN'", ["OPEN"]),
        ("the text \"Rock 'n' Roll\"", ["Rock 'n' Roll"]),
        ("a '!' and a \"\" and 'an unclosed quote", []),
        ("a dog's bowl", []),
    ],
)
def test_quoted_text_is_found(prompt: str, texts: list[str]) -> None:
    assert list(find_quoted_texts(prompt)) == texts


def test_the_rest_of_a_prompt() -> None:
    assert remove_quoted_texts("A sign that says 'Hello World' in red.") == "A sign that says … in red."


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Is the text 'ROSIE'S DINER' present?", ["ROSIE'S DINER"]),
        ('Does the image show the text "Hello World"?', ["Hello World"]),
        ("Are the words 'OPEN' and 'SALE' legible?", ["OPEN", "SALE"]),
        ("Is the text 'OPEN' in red?", []),
        ("Is the text 'A' positioned below 'B'?", []),
        ("Is there no text 'OPEN'?", []),
        ("Does the sign say 'OPEN'?", []),
        ("Is there any text?", []),
    ],
)
def test_a_question_for_text_alone_is_told_from_one_that_asks_for_more(question: str, texts: list[str]) -> None:
    assert list(find_wanted_texts(question)) == texts
