"""The viewer shows what the judge's observations are worth: dropped boxes, disagreements, and P(yes)."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tests.support.observed_runs import mislabelled_run, soft_run, wavering_run
from tests.web.sites import visitor

pytestmark = pytest.mark.usefixtures("stand_alone")


def test_the_page_of_an_image_lists_what_was_dropped_and_the_run_leads_there(tmp_path: Path) -> None:
    mislabelled_run(tmp_path / "runs" / "mine")
    guest = visitor(tmp_path / "runs")
    page = unescape(guest.get("/run?run=mine").text)
    assert "have labels that were not asked for" in page
    found = re.search(r'href="([^"]+mark=dropped)">boxes dropped for their labels \(6\)', page)
    assert found
    gallery = unescape(guest.get(found[1]).text)
    images = re.findall(r'href="(/item[^"]+)"', gallery)
    assert len(images) == 6
    assert all("mark=dropped" in image for image in images)
    texts = [unescape(guest.get(image).text) for image in images]
    assert all(
        re.search(r"1 of [12] boxes dropped for their labels: <b>gadget</b>, asked for \w+", one) for one in texts
    )
    assert any(
        "1 of 1 boxes" in one and "not understood: no box has a label that was asked for" in one for one in texts
    )
    assert guest.get("/gallery?run=mine&mark=nothing").status_code == 400


def test_a_disagreement_is_marked_and_an_observation_is_no_proof(tmp_path: Path) -> None:
    wavering_run(tmp_path / "runs" / "mine")
    guest = visitor(tmp_path / "runs")
    agreed, whole, clauses = (unescape(guest.get(f"/item?run=mine&item={number}").text) for number in range(3))
    assert "disagreement" not in agreed
    assert "the whole is fulfilled, but a clause does not hold" in whole
    assert "the whole is not fulfilled, but that every clause holds" in clauses
    for page in (agreed, whole, clauses):
        assert "<h2>Judge's observation</h2>" in page
        assert "with the judge's observation</small>" in page
        assert "judge's observation, as stored" in page
        assert "proof" not in page.lower()
    gallery = guest.get("/gallery?run=mine&mark=disagreement").text
    assert len(re.findall(r'href="/item', gallery)) == 2
    assert "<span>whole and clauses disagree</span> <small>2</small>" in gallery


def test_p_yes_stands_beside_each_question(tmp_path: Path) -> None:
    soft_run(tmp_path / "runs" / "soft")
    soft_run(tmp_path / "runs" / "mute", "mute-looker")
    guest = visitor(tmp_path / "runs")
    page = guest.get("/item?run=soft&item=2").text
    assert "P(yes)</th>" in page
    assert sorted(re.findall(r"<td>(0\.\d{3})</td>", page)) == ["0.222", "0.778", "0.778"]
    assert "mean P(yes) 0.593" in page
    assert "P(yes)</th>" not in guest.get("/item?run=mute&item=2").text
