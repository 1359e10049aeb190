"""Whose rules sum up a run: those of its judge's protocol, unless `--profile` says another."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg.benchmarks.items_file import write_items
from tests.reports.counterfactual_runs import scored_item
from tests.support.command import formalimg
from tests.support.loopback import Loopback
from tests.support.models import speckled

pytestmark = pytest.mark.usefixtures("stand_alone")

ITEM = scored_item("optics-004", 1, ["integrity", "logic", "logic", "assessment"])
ANSWER = (
    '{"1": {"reasoning": "a", "score": 1}, "2": {"reasoning": "b", "score": 1}, "3": {"reasoning": "c", "score": 1}, '
    '"4": {"reasoning": "d", "score": 0}}'
)
PAPER, CODE = " 0.42 ", " 0.56 "
"""(3 + 8)/26 with one weight for each dimension, (3 + 8 + 8)/34 with one for each question."""


def _run(home: Path, *more: str, judge: str = "openai/gemini") -> str:
    (home / "images").mkdir(parents=True, exist_ok=True)
    (home / "images" / f"{ITEM.id}.png").write_bytes(speckled("x"))
    write_items([ITEM], home / "items")
    with Loopback(reply=lambda question: ANSWER) as server:
        code, out, err = formalimg(
            *("run", "cf-world", "--items", str(home / "items"), "--model", f"folder/{home / 'images'}"),
            *("--judge", judge, "-J", f"base_url={server.url}/v1", "--out", str(home / "run"), "--no-preflight"),
            *more,
        )
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    ("options", "here", "implied"),
    [
        (("published",), CODE, CODE),
        (("paper",), PAPER, PAPER),
        (("published", "--profile", "paper"), PAPER, CODE),
        (("paper", "--profile", "official-code"), CODE, PAPER),
    ],
)
def test_a_run_is_summed_up_as_its_protocol_implies_or_as_is_chosen(
    tmp_path: Path, options: tuple[str, ...], here: str, implied: str
) -> None:
    said = _run(tmp_path, "--protocol", *options)
    assert here in said
    assert ("profile: official-code" in " ".join(said.split())) == (here == CODE)
    assert implied in formalimg("report", str(tmp_path / "run")).out
    assert PAPER in formalimg("report", str(tmp_path / "run"), "--profile", "paper").out


def test_judges_of_several_protocols_are_summed_up_by_the_paper(tmp_path: Path) -> None:
    _run(tmp_path, "--protocol", "published")
    _run(tmp_path, "--protocol", "paper")
    said = formalimg("report", str(tmp_path / "run"), "--judges", "all").out
    assert CODE not in said
    assert said.count(PAPER) == 2
