"""Errors of workers arrive whole: their end says what to do."""

from __future__ import annotations

from formalimg.errors import FormalimgError
from formalimg.runs.ray.worker import failure_of


def test_what_to_do_is_not_cut_off_on_the_way() -> None:
    listed = "".join(f"\n  --judge provider/model-{number}" for number in range(40))
    failure = failure_of(FormalimgError(f"there is no judge for these images:{listed}\nadd one of them"))
    assert failure.ends_run
    assert all(f"provider/model-{number} " in failure.message for number in range(40))
    assert failure.message.endswith("add one of them")
    assert "\n" not in failure.message
