"""`formalimg formula vocabulary` knows all suites that have words of their own, and says so."""

from __future__ import annotations

import pytest

from tests.support.command import formalimg


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ConceptMix", "unknown suite 'ConceptMix': did you mean conceptmix?"),
        ("Knoling", "unknown suite 'Knoling': did you mean knolling?"),
        ("zzz", "unknown suite 'zzz': known are knolling, natural, conceptmix, or a .toml file"),
        ("cf-world", "cf-world are free text and have no vocabulary: known are knolling, natural, conceptmix"),
        ("none.toml", "none.toml"),
    ],
)
def test_names_without_a_vocabulary_are_refused(name: str, message: str) -> None:
    done = formalimg("formula", "vocabulary", name)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""
