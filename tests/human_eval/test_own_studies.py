"""Studies that few benchmarks have are found by asking the benchmarks."""

from __future__ import annotations

import pytest

from formalimg.benchmarks import registry
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import StudyName, find_study


@pytest.mark.parametrize(
    ("name", "having"),
    [
        ("calibrate", "cf-world"),
        ("diagnose", "cf-world"),
        ("human scores", "cf-world"),
        ("judge scores", "cf-world"),
        ("captions", "conceptmix"),
    ],
)
def test_a_study_is_that_of_the_benchmark_that_has_it(name: StudyName, having: str) -> None:
    own = suite(having).study(name)
    assert own is not None
    assert find_study(name).make is own.make
    assert find_study(name, ["knolling", having]).make is own.make
    with_it = {suite(each).source for each in suite_names() if suite(each).study(name) is not None}
    assert with_it == {suite(having).source}


def test_without_a_benchmark_there_is_no_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FOLDERS", {"formal": ("knolling",)})
    with pytest.raises(FormalimgError, match="no benchmark has a study of this kind: captions"):
        find_study("captions")
