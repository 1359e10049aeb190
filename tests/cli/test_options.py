"""Options: messages about values, limits, and names of options in messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field, TypeAdapter, ValidationError

from formalimg import FormalimgError
from formalimg.cli.options import value_problem
from formalimg.runs.config import MAX_SAMPLES, MAX_SIZE, MIN_SIZE, RunConfig
from tests.support.command import formalimg
from tests.support.models import Speckles, small_items


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


HUGE = "99999999999999999999999"
READER = ("run", "knolling", "-m", "builtin/reader")
SYNTH = ("items", "synth", "knolling", "--out", "made")
CUP = ("formula", "solve", "--formula", "(exists ?x (Is ?x 'cup'))")


@pytest.mark.parametrize(
    ("command", "option", "value", "limit"),
    [
        (READER, "--samples", "1001", "1000"),
        (READER, "--samples", "0", "give 1 to 1000"),
        (READER, "--samples", HUGE, "1000"),
        (READER, "--size", str(MIN_SIZE - 1), f"{MIN_SIZE - 1} is out of range: give {MIN_SIZE} to {MAX_SIZE}"),
        (READER, "--size", str(MAX_SIZE + 1), f"{MAX_SIZE + 1} is out of range: give {MIN_SIZE} to {MAX_SIZE}"),
        (READER, "--seed", HUGE, "9223372036854775807"),
        (READER, "--seed", f"-{HUGE}", "-9223372036854775807"),
        (READER, "--per-level", HUGE, "1000000"),
        ((*READER, "--engine", "ray"), "--workers", HUGE, "1024"),
        (SYNTH, "--per-level", HUGE, "1000000"),
        (SYNTH, "--seed", HUGE, "9223372036854775807"),
        (SYNTH, "--jobs", HUGE, "1024"),
        (CUP, "--seed", HUGE, "9223372036854775807"),
        (CUP, "--margin", HUGE, "1000"),
        (("certify",), "--scenes", HUGE, "1000000"),
        (("certify",), "--others", HUGE, "1000000"),
        (("certify",), "--seed", HUGE, "9223372036854775807"),
        (("report", "nowhere"), "--gallery", HUGE, "1000000"),
        (("items", "write", "knolling", "-m", "openai/x", "--out", "made"), "--attempts", HUGE, "1000"),
    ],
)
def test_a_number_out_of_its_limits(
    command: tuple[str, ...], option: str, value: str, limit: str, tmp_path: Path
) -> None:
    code, out, err = formalimg(*command, f"{option}={value}", cwd=tmp_path)
    assert (code, out) == (2, "")
    message = err.splitlines()[-1]
    assert option in message
    assert limit in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("samples", [0, MAX_SAMPLES + 1, 10**30])
def test_a_run_config_has_the_same_limit(samples: int) -> None:
    with pytest.raises(FormalimgError, match="samples cannot be made: ask for 1 to 1,000"):
        RunConfig(small_items(1), Speckles(), samples=samples)


def test_the_largest_seed_is_stored(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="cannot be stored"):
        RunConfig(small_items(1), Speckles(), seed=2**63)
    few = ("--levels", "1", "--per-level", "1", "--size", "512", "--out", "run")
    code, _, err = formalimg(*READER, *few, f"--seed={2**63 - 1}", cwd=tmp_path)
    assert code == 0, err
