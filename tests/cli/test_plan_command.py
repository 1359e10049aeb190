"""`formalimg plan`: images, labels and costs for a wanted precision, without calling anybody."""

from __future__ import annotations

import re

import pytest

from formalimg.stats.planning import images_for_width, items_for_difference
from formalimg.stats.variance_components import DEFAULT_SPREAD
from tests.support.command import formalimg


def _row(page: str, what: str) -> list[str]:
    (line,) = [line for line in page.splitlines() if line.startswith(f" {what}")]
    return line.removeprefix(f" {what}").split()


def test_it_says_how_many_images_and_labels_it_takes() -> None:
    page = formalimg("plan", "knolling", "--width", "5", "--labels").out
    single = images_for_width(0.05)
    assert _row(page, "rate of one K")[:2] == [str(single), f"{10 * single:,}"]
    assert "only 200 items" in page
    assert _row(page, "Overall  ")[:2] == [str(-(-single // 10)), str(10 * -(-single // 10))]
    discordant = DEFAULT_SPREAD.judge.difference_variance()
    pairs = -(-items_for_difference(0.05, discordant=discordant) // 10)
    assert _row(page, "difference of two models")[0] == str(pairs)
    assert "with power 0.4" in page  # of a difference as large as the half width
    labels = int(_row(page, "Overall, corrected by labels")[2])
    assert 200 < labels < 350


def test_fewer_levels_and_wider_intervals_take_fewer_images() -> None:
    wide = formalimg("plan", "conceptmix", "--width", "20", "--levels", "1-2").out
    assert "2 levels of 300 items" in wide
    assert "only 300 items" not in wide
    assert "labels" not in wide


def test_it_prices_model_and_judge_without_calling_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    priced = ("--price", "model=0.04", "--price", "judge=1/10")
    page = formalimg("plan", "natural", "-m", "openai/painter", "-j", "openai/looker", *priced).out
    found = re.search(r"^ Overall .*\$([\d.,]+)", page, re.MULTILINE)
    assert found
    # 410 images at $0.04, and a question each of 2,000 tokens in and 400 out.
    assert float(found[1]) == pytest.approx(410 * (0.04 + 0.002 + 0.004))
    unknown = formalimg("plan", "natural", "-m", "openai/painter").out
    assert "give the price with --price" in unknown


@pytest.mark.parametrize(
    ("options", "message"),
    [(("cf-world",), "gives scores"), (("knoling",), "knolling"), (("knolling", "--levels", "11"), "no level 11")],
)
def test_what_cannot_be_planned_is_refused(options: tuple[str, ...], message: str) -> None:
    done = formalimg("plan", *options)
    assert done.code == 2
    assert message in done.err
