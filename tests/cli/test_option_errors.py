"""Values of options that are wrong are told in words of ours, whichever library typer checks them with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field, TypeAdapter, ValidationError

from formalimg.cli.options import value_problem
from tests.support.command import formalimg


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--per-level", "0"),
        ("--per-level", "abc"),
        ("--budget", "-1"),
        ("--budget", "abc"),
        ("--min-coverage", "2"),
        ("--condition", "foo"),
        ("--samples", "0"),
        ("--size", "3"),
        ("--size", "big"),
    ],
)
def test_no_message_is_worded_by_a_library(option: str, value: str, tmp_path: Path) -> None:
    code, out, err = formalimg("run", "knolling", "--model", "builtin/reader", option, value, cwd=tmp_path)
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert f"'{option}'" in last
    assert value in last.partition(": ")[2]
    assert "Input should" not in err
    assert "Value error" not in err
    assert "validation error" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "abc", "'abc' is not a whole number: give one"),
        (float, "abc", "'abc' is not a number: give one"),
        (bool, "maybe", "'maybe' is not yes or no"),
        ((int, Field(ge=1)), "0", "0 is too small: give 1 or more"),
        ((float, Field(ge=0.0)), "-1", "-1 is too small: give 0 or more"),
        ((float, Field(gt=0.0)), "0", "0 is too small: give more than 0"),
        ((float, Field(le=1.0)), "2", "2 is too large: give 1 at most"),
        ((int, Field(lt=5)), "5", "5 is too large: give less than 5"),
    ],
)
def test_what_is_wrong_and_what_to_give(annotation: Any, value: str, message: str) -> None:
    kind: Any = Annotated[annotation] if isinstance(annotation, tuple) else annotation
    with pytest.raises(typer.BadParameter) as caught:  # noqa: PT012  # as typer does
        try:
            TypeAdapter(kind).validate_python(value)
        except ValidationError as error:
            raise typer.BadParameter(str(error)) from error
    assert value_problem(caught.value) == message


def test_other_errors_keep_their_words() -> None:
    assert value_problem(typer.BadParameter("3 is out of range")) is None
