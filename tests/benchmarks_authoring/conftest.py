"""One server for all tests that write items of ConceptMix or CF-World; what its model says is up to each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.benchmarks_authoring.counterfactual_author import Author, serving
from tests.benchmarks_authoring.mixer import Talk


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    found = Talk()
    with pytest.MonkeyPatch.context() as patch, found.server:
        patch.setenv("OPENAI_API_KEY", "sk-planted-1")
        yield found


@pytest.fixture(scope="module")
def author() -> Iterator[Author]:
    with serving() as found:
        yield found
