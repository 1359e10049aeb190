"""Absurd numbers on the command line: one line that names the option and its limit, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg import FormalimgError
from formalimg.runs.config import MAX_SAMPLES, RunConfig
from tests.support.command import formalimg
from tests.support.models import Speckles, small_items

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
