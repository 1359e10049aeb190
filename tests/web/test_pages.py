"""What the pages tell, and where they lead: runs, images, marks, labels and observations."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from html import unescape
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from PIL import Image
from starlette.testclient import TestClient

from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.logic.parser import parse
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.report import render
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import open_run
from formalimg.web.viewer.app import create_viewer_app
from formalimg.web.viewer.site import Site
from tests.human_eval.counterfactual_runs import scored_item, scored_run
from tests.human_eval.labelled_runs import lenient_run, rate_truly
from tests.human_eval.rated_runs import opened
from tests.web.sites import Eye, change, concept_items, concept_run, image, visitor


def _links(page: str, path: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]+)"', page) if link.startswith(path)]


def test_all_runs_are_listed_and_what_cannot_be_read_says_why(runs: Path) -> None:
    page = unescape(visitor(runs).get("/").text)
    assert page.index("test/<i>other") < page.index("test/painter")  # the newest first
    assert "nested/<b>second&" in page
    assert "damaged" in page.split("Not readable")[1]
    assert "foreign is not a run" in page.split("Not readable")[1]


# What was read from damaged results is let go of when they are closed already.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE verdicts SET parts = '[{]'",
        "UPDATE verdicts SET parts = '[1]'",
        "UPDATE verdicts SET evidence = '3'",
        "UPDATE pictures SET served = 'no'",
        "DROP TABLE verdicts",
        "PRAGMA user_version = 99",
    ],
)
def test_a_run_with_damaged_results_hides_no_other(tmp_path: Path, harm: str) -> None:
    concept_run(tmp_path / "good", 5)
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    change(tmp_path / "bad", harm)
    guest = visitor(tmp_path)
    answer = guest.get("/")
    assert answer.status_code == 200
    assert "/run?run=good" in answer.text
    assert guest.get("/item?run=good&item=item-0").status_code == 200
    page = guest.get("/run?run=bad")
    assert page.status_code in (422, 500)
    assert "This cannot be shown" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_scores_are_summed_up_as_their_mean_and_not_as_a_ratio(tmp_path: Path) -> None:
    items = [scored_item("one-l1"), scored_item("one-l2", 2), scored_item("one-l3", 3)]
    scored_run(tmp_path / "scores", items, {"one-l1": [1.0], "one-l2": [0.8], "one-l3": [0.6]})
    page = visitor(tmp_path).get("/").text
    assert re.search(
        r'<span class="figure-cell">0.80</span><small>0.\d\d–\d.\d\d</small><small>of all its images<', page
    )
    assert "<dt>digest</dt>" in page  # the card of the run


def test_a_run_itself_can_be_looked_at(runs: Path) -> None:
    assert "/run?run=first" in visitor(runs / "first").get("/").text


def test_lines_of_failures_lead_to_as_many_images_as_they_count(runs: Path) -> None:
    """Each image has at most one part of a kind here, so failed parts are images."""
    guest = visitor(runs)
    with closing(open_run(runs / "first")) as run:
        (row,) = compare([run]).sections[0].rows
    links = [link for link in _links(guest.get("/run?run=first").text, "/gallery") if "kind=" in link]
    counts = {link: int(re.search(r'role="status">([\d,]+) image', guest.get(link).text)[1]) for link in links}  # type: ignore[index]
    expected = [tally.failed for tally in (*row.kinds.values(), *row.predicates.values()) if tally.failed]
    assert sorted(counts.values()) == sorted(expected)


def test_the_gallery_turns_all_pages_and_shows_each_image_once(runs: Path) -> None:
    guest, address, seen = visitor(runs), "/gallery?run=first", []
    for _ in range(3):
        page = guest.get(address).text
        seen += re.findall(r"item=(item-\d+)&amp;sample=0\"", page)
        address = next(iter(re.findall(r'href="([^"]+)" rel="next"', page)), "")
        address = unescape(address)
    assert address == ""
    assert seen == [f"item-{place}" for place in range(110)]


def test_the_filters_of_the_gallery_stay_with_its_images(runs: Path) -> None:
    guest = visitor(runs)
    wanted = ImageFilter(level=2, outcome="fail", kind="number", text="1")
    with closing(open_run(runs / "first")) as run:
        found = [image.outcome.item for image in run.page(wanted, 0, 48).images]
    address = "/gallery?run=first&level=2&outcome=fail&kind=number&text=1"
    seen = []
    page = guest.get(address).text
    first = _links(page, "/item")[0]
    while first:
        page = guest.get(first).text
        seen.append(re.search(r"item=([^&]+)", first)[1])  # type: ignore[index]
        first = unescape(next(iter(re.findall(r'href="([^"]+)" rel="next"', page)), ""))
    assert seen == found
    assert len(found) > 3


def test_the_way_back_leads_to_the_page_that_an_image_is_on(runs: Path) -> None:
    guest = visitor(runs)
    (back,) = _links(guest.get("/item?run=first&item=item-100&level=2").text, "/gallery")
    page = guest.get(back).text
    assert 'item=item-100&amp;sample=0" autofocus' in page
    assert len(_links(page, "/item")) == 37
    assert "page 2 of 3" in guest.get("/gallery?run=first&at=item-50").text
    assert guest.get("/gallery?run=first&at=nowhere").status_code == 200
    assert "autofocus" not in guest.get("/gallery?run=first").text


def test_an_image_is_explained_by_formula_clauses_and_witness(runs: Path) -> None:
    guest = visitor(runs)
    failed = _links(guest.get("/gallery?run=knolling&outcome=fail").text, "/item")[0]
    page = guest.get(failed).text
    assert 'class="f-fails"' in page
    assert 'class="f-holds"' in page
    assert "Why not" in page
    witness = guest.get(unescape(re.search(r'src="(/witness[^"]+)"', page)[1]))  # type: ignore[index]
    assert Image.open(BytesIO(witness.content)).size == (480, 480)
    (playground,) = _links(page, "/playground")
    asked = dict(parse_qsl(urlsplit(playground).query))
    with closing(open_run(runs / "knolling")) as run:
        item = run.item(dict(parse_qsl(failed))["item"])
    assert item is not None
    assert (asked["vocabulary"], parse(asked["formula"])) == ("knolling", parse(item.formula))


def test_judges_and_other_runs_stand_beside_an_image(runs: Path) -> None:
    page = unescape(visitor(runs).get("/item?run=nested/<b>second%26&item=item-1").text)
    judges = page.split("All judges")[1].split("The same item")[0]
    assert "test/eye" in judges
    assert "test/<u>later" in judges
    assert "test/painter (first)" in page.split("The same item in other runs")[1]
    assert visitor(runs).get("/item?run=nested/<b>second%26&item=item-1&judge=5").status_code == 422


def test_reasons_without_a_verdict_are_not_clamped_beside_an_image(runs: Path) -> None:
    """They may say what to do; a list of failed parts may be long and is cut after some lines."""
    page = visitor(runs).get("/item?run=nested/<b>second%26&item=item-6").text
    assert '<span class="beside-why whole">not understood' in page
    assert 'class="beside-why whole"' not in visitor(runs).get("/item?run=nested/<b>second%26&item=item-1").text


def test_images_come_whole_and_small_and_the_small_ones_are_made_once(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path))
    guest = visitor(runs)
    whole = guest.get("/image?run=knolling&item=0&sample=0")
    with closing(open_run(runs / "knolling")) as run:
        (judged,) = run.judged([("0", 0)])
    assert judged.image is not None
    assert whole.content == judged.image.read_bytes()
    small = guest.get("/thumbnail?run=knolling&item=0&sample=0")
    assert small.headers["content-type"] == "image/webp"
    (kept,) = tmp_path.rglob("*.webp")
    assert kept.read_bytes() == small.content
    kept.write_bytes(b"the one that was kept")
    assert guest.get("/thumbnail?run=knolling&item=0&sample=0").content == b"the one that was kept"


def test_runs_are_compared_item_by_item(runs: Path) -> None:
    page = visitor(runs).get("/compare", params={"run": ["first", "nested/<b>second&"]}).text
    pairs = page.split("Item by item")[1]
    # better, worse, compared, left out: the same judge rules last; 4 of 30 unscored, 80 more in one run only
    assert re.findall(r">(\d+)</td>", pairs)[:4] == ["0", "0", "26", "84"]
    assert ">0 items with verdicts" in page
    assert "No item matches" in page
    assert visitor(runs).get("/compare", params={"run": ["first", "knolling"]}).status_code == 200


def test_a_run_that_goes_on_is_summed_up_again(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 4)
    guest = visitor(tmp_path)
    assert "4 images" in guest.get("/run?run=one").text
    concept_run(tmp_path / "two", 4)
    assert "/run?run=two" in guest.get("/").text


def test_scores_of_two_runs_are_compared_group_by_group(tmp_path: Path) -> None:
    items = [scored_item(f"law{n}-l1", 1) for n in range(4)]
    scored_run(tmp_path / "one", items, {item.id: [[1.0]] for item in items})
    scored_run(tmp_path / "two", items, {item.id: [[0.5]] for item in items})
    page = visitor(tmp_path).get("/compare", params={"run": ["one", "two"]}).text
    assert "Group by group" in page
    pairs = page.split("Group by group")[1].split("</section>")[0]
    assert "+0.50<small>−0.51 to +1.00</small>" in pairs, "four groups that all say the same are few"
    assert pairs.count(">0.125</td>") == 2, "four heads in a row, or four tails; and one comparison needs no adjustment"
    assert re.findall(r">(\d+)</td>", pairs)[:4] == ["4", "0", "4", "0"]


def test_where_runs_differ_stands_before_more_tables_and_says_what_failed(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 6)
    concept_run(tmp_path / "two", 6, judge=Eye(turned=True))
    page = visitor(tmp_path).get("/compare", params={"run": ["one", "two"]}).text
    assert page.index('id="items"') < page.index('id="tables"')
    assert {"#items", "#tables"} <= {*_links(page, "#")}
    (row,) = re.findall(r'(?s)<article class="compared" aria-label="Item item-3">.*?</article>', page)
    here, there = row.split('<p class="compared-run">')[1:]  # of it one run shows both concepts
    assert "✓</span> pass" in here
    assert 'class="said"' not in here
    assert re.findall(r"<li>([^<]+)</li>", there) == ["Is it red? No", "Is it 3? No"]


def test_differences_are_told_in_points_and_with_a_true_minus(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 4, judge=Eye(turned=True))
    concept_run(tmp_path / "two", 4)
    page = visitor(tmp_path).get("/compare", params={"run": ["one", "two"]}).text
    pairs = page.split("Item by item")[1].split("</section>")[0]
    assert re.search(r"<td>0\.0<small>−\d+\.\d to \+\d+\.\d</small></td>", pairs)
    assert "percentage points" in pairs
    assert pairs.count(">1.000</td>") == 2, "one win and one loss tell nothing"
    assert re.findall(r">(\d+)</td>", pairs)[:3] == ["1", "1", "4"]


def test_the_numbers_of_the_viewer_are_those_of_the_report(tmp_path: Path) -> None:
    concept_run(tmp_path / "one", 9, judge=Eye(turned=True))
    concept_run(tmp_path / "two", 9)
    page = visitor(tmp_path).get("/compare", params={"run": ["one", "two"]}).text
    with closing(open_run(tmp_path / "one")) as one, closing(open_run(tmp_path / "two")) as two:
        report = render(compare([one, two]), "html")
    for name in ("Paired differences", "Paired differences in detail"):
        shown, told = (text.split(f'<table aria-label="{name}">')[1].split("</table>")[0] for text in (page, report))
        assert shown == told


def test_a_run_without_verdicts_has_no_empty_figure_and_no_failures_to_show(tmp_path: Path) -> None:
    execute(RunConfig(concept_items(1), CallableModel(image, name="test/mute"), size=64), tmp_path / "mute")
    guest = visitor(tmp_path)
    page = guest.get("/run?run=mute").text
    assert "ConceptMix, unversioned items: 1 image, 0 scored" in page
    assert "No image has a verdict yet." in page
    assert 'class="curve"' not in page
    assert not [link for link in _links(page, "/gallery") if "outcome=fail" in link]
    assert ">1 image without a verdict</a>" in page
    assert "of all its images" not in guest.get("/").text  # where there is no figure


def test_an_image_behind_a_closed_gate_leads_to_the_image_that_closes_it(tmp_path: Path) -> None:
    items = [scored_item(f"{law}-l{level}", level) for law in ("tides", "gears") for level in (1, 2)]
    scored_run(tmp_path / "one", items, {"tides-l1": [0.2], "tides-l2": [0.9], "gears-l1": [1.0], "gears-l2": [1.0]})
    guest = visitor(tmp_path)
    (gate,) = re.findall(r'counts as 0: <a href="([^"]+)"', guest.get("/item?run=one&item=tides-l2").text)
    assert "item tides-l1" in guest.get(unescape(gate)).text
    assert "counts as 0" not in guest.get("/item?run=one&item=gears-l2").text


@pytest.mark.parametrize("path", ["/image", "/thumbnail"])
def test_browsers_keep_for_good_only_what_the_address_names_by_its_digest(path: str, runs: Path) -> None:
    with closing(open_run(runs / "first")) as run:
        found = run.image_file("item-0", 0)
    assert found is not None
    asked = {"run": "first", "item": "item-0", "sample": "0"}

    def kept(digest: str) -> bool:
        answer = visitor(runs).get(path, params={**asked, "sha256": digest})
        assert answer.status_code == 200
        return "immutable" in answer.headers.get("Cache-Control", "")

    assert kept(found.sha256[:16])
    assert not kept("0" * 16), "the image may have been made anew since"
    assert not kept("")


def test_a_given_study_corrects_its_run_alone(tmp_path: Path) -> None:
    for name in ("rated", "other"):
        lenient_run(tmp_path / "runs" / name, 40)
    with opened(tmp_path / "runs" / "rated") as runs:
        made = create_study(tmp_path / "elsewhere", runs, "likert", raters=1, per_image=1, per_level=5)
    with open_study(made.folder) as study:
        rate_truly(study, "rater-1")
    site = Site(tmp_path / "runs", [made.folder])
    with TestClient(create_viewer_app(site, token=None), base_url="http://127.0.0.1:8421") as visitor:
        pages = {name: visitor.get(f"/run?run={name}").text for name in ("rated", "other")}
    assert "<h2>Corrected by human labels</h2>" in pages["rated"]
    assert re.search(r"all images</th>(?:<td[^>]*>.*?</td>){2}<td[^>]*>20<", pages["rated"], re.DOTALL)
    assert "Corrected by human labels" not in pages["other"]
    assert "without human labels: `formalimg report --human` corrects them" in pages["other"]
