"""The released data of DSG through the command line: answers of two VQA models, ratings by people, published numbers.

Nothing here is fitted to one file: both judges go the same way.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from formalimg.benchmarks.loader import load
from formalimg.stats.corrected import corrected_rate
from tests.support.command import formalimg
from tests.support.published import FOLDER
from tests.support.sizes import only_in_full

DSG = FOLDER.parents[1] / "dsg"
IMAGES, SCORED, PEOPLE, BY_MEAN = 800, 795, 527, 428
"""Five of the images have no answers; most people pass 527 of the others, and 428 have a mean rating of 4 or more."""


class Published(NamedTuple):
    passes: int
    both_pass: int
    both_fail: int
    scored: tuple[str, str]
    all: tuple[str, str]


JUDGES = {
    "mplug": Published(590, 388, 165, ("0.457", "0.375"), ("0.463", "0.380")),
    "instructblip": Published(636, 404, 135, ("0.435", "0.358"), ("0.442", "0.364")),
}

pytestmark = pytest.mark.skipif(not (DSG / "mplug_dsg.csv").is_file(), reason=f"the data of DSG is not at {DSG}")


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The annotations of the 160 rated prompts, and of a few others."""
    table = (DSG / "dsg-1k-anns.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path_factory.mktemp("items") / "anns.csv"
    path.write_text("".join(line for place, line in enumerate(table) if place < 20 or line.startswith("tifa160")))
    return path


@pytest.fixture(scope="module", params=JUDGES)
def judge(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(judge: str, items: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(judge)
    given = ("import", "answers", str(DSG / f"{judge}_dsg.csv"), "--items", str(items), "--judge", judge)
    done = formalimg(*given, "--only", "tifa160", "--together", "--out", ".", cwd=place)
    assert done.code == 0, done.err
    (place / "questions-all-models").rename(place / "run")
    done = formalimg("import", "ratings", str(DSG / "tifa160-likert-anns.csv"), "run", "--out", "study", cwd=place)
    assert done.code == 0, done.err
    return place


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    done = formalimg("agree", "run", "--ratings", "study", "--rule", "mean", "--format", "json", cwd=folder)
    (study,) = json.loads(done.out)["people"]
    return study


def test_all_of_dsg_loads() -> None:
    items = load("questions", DSG / "dsg-1k-anns.csv")
    assert len(items) == 1060
    assert sum(len(item.spec.questions) for item in items) == 8182
    assert {item.spec.zeroing for item in items} == {"direct"}


def test_agreement_with_people_is_what_is_known(found: Any, judge: str) -> None:
    known = JUDGES[judge]
    assert found["whole"]["classified"]["confusion"] == {
        "true_positives": known.both_pass,
        "false_positives": known.passes - known.both_pass,
        "false_negatives": BY_MEAN - known.both_pass,
        "true_negatives": known.both_fail,
    }
    assert found["whole"]["classified"]["left_out"] == IMAGES - SCORED
    for ranks, expected in ((found["points"]["ranks"], known.scored), (found["points"]["ranks_of_all"], known.all)):
        assert (f"{ranks['spearman']['value']:.3f}", f"{ranks['kendall']['value']:.3f}") == expected


def test_the_majority_passes_more_images_than_the_mean(folder: Path, judge: str) -> None:
    done = formalimg("agree", "run", "--ratings", "study", "--format", "json", cwd=folder)
    counts = json.loads(done.out)["people"][0]["whole"]["classified"]["confusion"]
    assert counts["true_positives"] + counts["false_negatives"] == PEOPLE
    assert sum(counts.values()) == SCORED


@only_in_full
def test_a_run_for_each_model_gives_the_same(items: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # tables in one piece
    judge, known = "mplug", JUDGES["mplug"]
    given = ("import", "answers", str(DSG / f"{judge}_dsg.csv"), "--items", str(items))
    assert formalimg(*given, "--out", "runs", cwd=tmp_path).code == 0
    runs = [str(one) for one in sorted((tmp_path / "runs").iterdir())]
    assert len(runs) == 5
    done = formalimg("import", "ratings", str(DSG / "tifa160-likert-anns.csv"), *runs, "--out", "study", cwd=tmp_path)
    assert f"{IMAGES} images" in done.out
    shown = formalimg("agree", *runs, "--ratings", "study", cwd=tmp_path).out
    assert all(number in shown for number in (*known.scored, *known.all))
    pooled = [line for line in shown.splitlines() if line.startswith(" all runs")]
    assert f"{100 * known.passes / SCORED:.1f}" in pooled[0]
    assert f"{100 * PEOPLE / SCORED:.1f}" in pooled[1]


@only_in_full
def test_a_report_corrects_the_raw_rate_by_a_hundred_labels(folder: Path, judge: str) -> None:
    draw = ("--images", "100", "--seed", "4", "--out", "labels.csv")
    assert formalimg("import", "ratings", str(DSG / "tifa160-likert-anns.csv"), "run", *draw, cwd=folder).code == 0
    done = formalimg("report", "run", "--human", "labels.csv", cwd=folder)
    assert done.code == 0, done.err
    assert f"{100 * JUDGES[judge].passes / SCORED:.1f}" in done.out
    assert f"{SCORED}/{IMAGES}" in done.out
    assert re.search(
        r"^By people \(9\d labels\), 5 models together passes \d\d\.\d % \(\d\d–\d\d\) of all images", done.out
    )
    (row,) = (line for line in done.out.splitlines() if re.search(r"\(\d\d\.\d–\d\d\.\d\).* 9\d +$", line))
    assert f" {100 * JUDGES[judge].passes / SCORED:.1f} " in row  # the judge alone, beside the corrected rate
    detailed = formalimg("report", "run", "--human", "labels.csv", "--details", cwd=folder).out
    assert "Corrected by human labels" in detailed
    assert f"imported from {judge}_dsg.csv" in " ".join(done.out.split())


def test_corrected_intervals_cover_what_people_say(found: Any, judge: str) -> None:
    pairs = [(one["judge"], one["passed"]) for one in found["points"]["pictures"] if one["judge"] is not None]
    assert len(pairs) == SCORED
    passes, draw = JUDGES[judge].passes, random.Random(20)
    estimates = [corrected_rate(passes, SCORED, draw.sample(pairs, 100)) for _ in range(100)]
    assert sum(one.low <= BY_MEAN / SCORED <= one.high for one in estimates) >= 93
    assert {round(one.raw, 3) for one in estimates} == {round(passes / SCORED, 3)}
