"""Runs of the built-in models on suites with a drawn world: what is said, what is stored, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from formalimg import load
from formalimg.benchmarks.formal.spec import undrawable_because
from formalimg.drawing.signed_png import read_signed_png
from formalimg.runs.reader import open_run
from tests.support.command import formalimg

FEW = ("--levels", "1-2", "--per-level", "4", "--size", "128")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of oracle and scatter on Natural, and what was printed."""
    place = tmp_path_factory.mktemp("drawn")
    done = formalimg("run", "natural", "-m", "builtin/oracle", "-m", "builtin/scatter", *FEW, "--runs", str(place))
    assert done.code == 0, done.err
    (place / "out").write_text(done.out)
    (place / "err").write_text(done.err)
    return place


def test_the_share_that_can_be_drawn_is_printed_before_the_run(drawn: Path) -> None:
    items = [item for level in (1, 2) for item in [one for one in load("natural") if one.level == level][:4]]
    count = sum(undrawable_because(item.spec) is None for item in items)
    assert 0 < count < len(items)
    line = f"{count} of 8 items ({100 * count / 8:.1f} %) can be drawn: builtin/oracle declines the others"
    assert line in (drawn / "err").read_text()


def test_the_oracle_passes_all_that_it_draws_and_the_rest_is_coverage(drawn: Path) -> None:
    run = open_run(drawn / "natural-builtin-oracle")
    outcomes = run.outcomes()
    made = [one for one in outcomes if not one.reason]
    assert made
    assert all(one.passed for one in made)
    declined = [one for one in outcomes if one.reason]
    assert {one.reason for one in declined} == {"refused"}
    out = (drawn / "out").read_text()
    assert f"{len(made)}/8" in out


def test_tables_say_that_nobody_looked(drawn: Path) -> None:
    said = "it measures the pipeline and the models, not an eye"
    assert "goes by the scene that each drawing carries" in " ".join((drawn / "out").read_text().split())
    runs = [str(drawn / f"natural-builtin-{name}") for name in ("oracle", "scatter")]
    for form in ("md", "latex", "json"):
        assert said in " ".join(formalimg("report", *runs, "--format", form).out.split()), form
    page = drawn / "page.html"
    assert formalimg("report", *runs, "--out", str(page)).code == 0
    assert said in " ".join(page.read_text().split())


def test_stored_images_keep_the_scene_and_nothing_else(drawn: Path) -> None:
    files = sorted((drawn / "natural-builtin-oracle" / "images").glob("*.png"))
    assert files
    for file in files:
        assert read_signed_png(file.read_bytes()).scene.objects
        with Image.open(file) as image:
            assert set(image.info) == {"formalimg-drawn"}
