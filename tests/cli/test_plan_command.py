"""`formalimg plan`: intervals and power."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from formalimg.judges.base import LoadedImage
from formalimg.models.base import Generated, ImageRequest, ImageResult
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.stats.planning import (
    Goal,
    images_for_width,
    items_for_difference,
    plan_judged_design,
    plan_labelled_design,
)
from formalimg.stats.variance_components import DEFAULT_SPREAD, majority_labels
from formalimg.types import Item, Unscored, Verdict
from tests.human_eval.rated_runs import image_in
from tests.support.command import formalimg
from tests.support.models import NumberJudge, Speckles, small_items


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


ITEMS = 80


def _rows(page: str, who: str) -> list[list[str]]:
    return [line.removeprefix(f" {who}").split() for line in page.splitlines() if line.startswith(f" {who}  ")]


def _chance(*names: object) -> float:
    return random.Random(" ".join(map(str, names))).random()


def _passes(run: str, item: str, sample: int) -> bool:
    """Whether an image is right: by its item in this run far more than by the image."""
    return _chance(run, item) + 0.2 * _chance(run, item, sample) < 0.6


def _accepts(rater: str, run: str, item: str, sample: int) -> bool:
    return _passes(run, item, sample) != (_chance(run, item, sample, rater) < 0.1)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two judged runs of two images per item, and a file of votes of three raters who mostly agree with the judge."""
    home = tmp_path_factory.mktemp("pilot")
    lines = ["model,item,sample,rater,vote"]
    for run in ("a", "b"):
        images = {image_in(run, item.id, sample): (item.id, sample) for item in small_items(ITEMS) for sample in (0, 1)}

        def answer(request: ImageRequest, run: str = run) -> ImageResult:
            return Generated(image_in(run, request.item, request.sample))

        def verdict(
            item: Item[object],
            image: LoadedImage,
            run: str = run,
            images: dict[bytes, tuple[str, int]] = images,
        ) -> Verdict | Unscored:
            return Verdict(_passes(run, *images[image.data]))

        model = Speckles(name=f"test/{run}", answer=answer)
        config = RunConfig(small_items(ITEMS), model, samples=2, size=16)
        execute(config, home / run, NumberJudge(verdict=verdict))
        lines += [
            f"{run},{item},{sample},{rater},{int(_accepts(rater, run, item, sample))}"
            for item, sample in images.values()
            for rater in "xyz"
        ]
    (home / "votes.csv").write_text("\n".join(lines) + "\n")
    return [home / "a", home / "b", home / "votes.csv"]


def test_it_says_which_designs_find_the_difference() -> None:
    page = formalimg("plan", "knolling", "--power", "0.8", "--difference", "5").out
    goal = Goal(0.05, 0.8)
    judged = [plan_judged_design(goal, DEFAULT_SPREAD, images).items for images in (1, 4)]
    assert [int(row[0].replace(",", "")) for row in _rows(page, "judge alone")] == [
        -(-each // 10) * 10 for each in judged
    ]
    people = {(row[1], row[2]): int(row[0].replace(",", "")) for row in _rows(page, "people alone")}
    for images, raters in ((1, 1), (1, 3), (1, 5), (4, 1)):
        items = plan_labelled_design(goal, DEFAULT_SPREAD, images, raters).items
        assert people[str(images), str(raters)] == -(-items // 10) * 10
    assert "Recommended: " in page


def test_it_says_that_more_images_beat_more_raters() -> None:
    page = " ".join(formalimg("plan", "knolling", "--power", "0.8").out.split())
    single, five = (majority_labels(DEFAULT_SPREAD.people, raters).relative_variance for raters in (1, 5))
    assert f"is {5 * five / single:.1f} times as large with 100" in page
    assert 3.5 < 5 * five / single < 4.1


def test_the_cheapest_comes_first_and_people_are_recommended() -> None:
    page = formalimg("plan", "knolling", "--difference", "8", "--price", "rater=0.5").out
    costs = [float(row.split("$")[1].replace(",", "")) for row in page.splitlines() if "$" in row and "alone" in row]
    assert len(costs) >= 6
    assert costs == sorted(costs)
    unpriced = formalimg("plan", "knolling", "--difference", "8").out
    assert "$" not in unpriced
    assert "Recommended: judge alone" not in page + unpriced


def test_a_model_without_ratings_price_names_the_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    priced = ("-m", "openai/painter", "--price", "model=0.04")
    page = formalimg("plan", "natural", "--power", "0.8", *priced).out
    assert "+: and the ratings" in page
    assert all(row[-1].endswith("+") for row in _rows(page, "people alone"))
    judged = _rows(page, "judge alone")[0]
    assert judged[-1] == f"${0.04 * int(judged[4].replace(',', '')):,.2f}"


def test_what_a_suite_is_too_small_for_has_its_power() -> None:
    page = formalimg("plan", "conceptmix", "--power", "0.9", "--difference", "2").out
    assert "has 2,100: power 0." in page
    assert "Recommended: none" in page


def test_a_pilot_shows_that_images_of_an_item_are_alike(pilot: list[Path]) -> None:
    plain = formalimg("plan", "knolling", "--power", "0.8").out
    runs = ("--pilot", str(pilot[0]), str(pilot[1]))
    page = formalimg("plan", "knolling", "--power", "0.8", *runs).out
    gains = []
    for text in (plain, page):
        one, four = (int(row[0].replace(",", "")) for row in sorted(_rows(text, "judge alone"), key=lambda row: row[1]))
        gains.append(one / four)
    assert gains[1] < 1.5 < gains[0]
    assert _rows(page, "people alone") == _rows(plain, "people alone")
    rated = formalimg("plan", "knolling", "--power", "0.8", *runs, "--pilot-study", str(pilot[2])).out
    by_people = {(row[1], row[2]): int(row[0].replace(",", "")) for row in _rows(rated, "people alone")}
    assert by_people["1", "5"] > 0.6 * by_people["1", "1"]  # raters agree
    assert "by the pilot runs and their ratings" in rated
    labelled = [int(row[3].replace(",", "")) for row in _rows(rated, "judge + labels") if row[1] == "1"]
    assert labelled
    assert labelled[0] < 0.9 * by_people["1", "1"]  # the judge mostly agrees, too


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--width", "5", "--power", "0.8"), "give one of them"),
        (("--labels", "--difference", "5"), "give one of them"),
        (("--power", "80"), "above 0.05 and below 1"),
        (("--power", "0"), "above 0.05 and below 1"),
        (("--pilot-study", "x.csv", "--power", "0.8"), "--pilot RUN RUN"),
        (("--pilot", "a", "b"), "--power 0.8"),
        (("--power", "0.8", "--price", "rater=much"), "rater=0.10"),
        (("--price", "rater=1"), "no 'rater'"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], message: str) -> None:
    done = formalimg("plan", "knolling", *options)
    assert done.code == 2
    assert message in done.err


def test_pilots_that_show_nothing_are_refused(pilot: list[Path], tmp_path: Path) -> None:
    single = tmp_path / "single"
    execute(RunConfig(small_items(20), Speckles(), size=16), single, NumberJudge())
    other = tmp_path / "other"
    execute(RunConfig(small_items(20), Speckles(), size=16), other, NumberJudge())
    power = ("plan", "knolling", "--power", "0.8", "--pilot")
    assert "--samples 2" in formalimg(*power, str(single), str(other)).err
    assert "is a run of knolling" in formalimg("plan", "natural", *power[2:], str(pilot[0]), str(pilot[1])).err
    unjudged = tmp_path / "unjudged"
    execute(RunConfig(small_items(20), Speckles(), size=16), unjudged)
    assert "nobody has judged" in formalimg(*power, str(single), str(unjudged)).err
    assert formalimg(*power, str(pilot[0]), str(pilot[0])).code == 2
    scores = tmp_path / "scores.csv"
    scores.write_text("model,item,sample,rater,score\na,000,0,x,0.5\n")
    runs = (str(pilot[0]), str(pilot[1]))
    assert formalimg(*power, *runs, "--pilot-study", str(scores)).code == 2
