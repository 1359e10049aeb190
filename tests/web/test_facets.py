"""The numbers beside the choices of the gallery are those of the images that one gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from formalimg.runs.image_counts import FacetIndex
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import StoredRun, open_run
from tests.web.sites import visitor
from tests.web.test_paging import WANTED


@pytest.fixture(scope="module", params=["first", "knolling"])
def run(runs: Path, request: pytest.FixtureRequest) -> Iterator[StoredRun]:
    with closing(open_run(runs / request.param)) as opened:
        yield opened


@pytest.fixture(scope="module")
def index(run: StoredRun) -> FacetIndex:
    return run.facets()


@given(wanted=WANTED, choice=some.data())
def test_each_choice_has_as_many_images_as_it_says(
    run: StoredRun, index: FacetIndex, wanted: ImageFilter, choice: some.DataObject
) -> None:
    for name, counts in run.count_facets(index, wanted)._asdict().items():
        if counts:
            value = choice.draw(some.sampled_from(sorted(counts)), label=name)
            assert run.page(wanted._replace(**{name: value}), 0, 1).total == counts[value]


def test_what_is_no_choice_has_no_images(run: StoredRun, index: FacetIndex) -> None:
    counts = run.count_facets(index, ImageFilter())
    assert sum(counts.level.values()) == sum(counts.outcome.values()) == run.page(ImageFilter(), 0, 1).total
    assert run.count_facets(index, ImageFilter(outcome="pass", kind="number")).outcome.get("pass", 0) == 0
    assert run.page(ImageFilter(about="nothing"), 0, 1).total == 0


def test_choices_are_links_that_keep_the_others_and_can_be_taken_back(runs: Path) -> None:
    guest = visitor(runs)
    page = guest.get("/gallery?run=first&outcome=fail&level=2").text
    links = {
        (unescape(label), unescape(link)): int(number.replace(",", ""))
        for link, label, number in re.findall(
            r'<a href="([^"]+)"[^>]*><span>([^<]+)</span> <small>([\d,]+)</small>', page
        )
    }
    assert links["fail", "/gallery?run=first&level=2"] == links["k 2", "/gallery?run=first&outcome=fail"]
    for (_, link), number in [*links.items()][:8]:
        if "outcome=fail" in link and "level=2" in link:
            assert re.search(rf">{number} images?<", guest.get(link).text.replace(", <a", "<a")), link


def test_cards_say_what_failed_with_the_formula_one_click_away(runs: Path) -> None:
    page = unescape(visitor(runs).get("/gallery?run=knolling&outcome=fail").text)
    cards = re.findall(r'(?s)<li class="tile fail">.*?</details>\s*</li>', page)
    assert cards
    for card in cards:
        said, details = card.split("<details")
        assert re.search(r"<li>(the|no|not|only|\d+) [^<?()]+</li>", said)
        assert "(Is ?" not in said
        assert re.search(r"<code>\([A-Za-z]+ ", details)
