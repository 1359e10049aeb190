"""Figures of items tell what can be counted in the items by other means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.loader import load
from formalimg.cli.captions import captions_command
from formalimg.cli.census import census_command
from formalimg.errors import FormalimgError
from formalimg.reports.figures.charts import item_figures
from formalimg.reports.figures.svg import Figure
from formalimg.types import Item
from tests.reports.figures_read import figures


@cache
def some(suite: str) -> Sequence[Item[Any]]:
    """Every fifth item of a default suite."""
    return load(suite)[::5]


def drawn(*suites: str) -> dict[str, Figure]:
    return {each.name: each for each in item_figures([item for suite in suites for item in some(suite)])}


def test_predicates_of_two_suites_stand_side_by_side() -> None:
    found = drawn("knolling", "natural")
    labels = figures(found["knolling-natural-predicates"])
    for suite, title in (("knolling", "FormalImg Knolling"), ("natural", "FormalImg Natural")):
        used = Counter(name for item in some(suite) for name in re.findall(r"\(([A-Z]\w+)", str(item.spec.formula)))
        del used["Is"], used["IsStyle"]
        shares = {what: figure for what, figure in labels.items() if what.startswith(title)}
        assert shares == {f"{title}, {name}": f"{count / used.total():.3f}" for name, count in used.items()}


def test_predicates_by_level_and_classes() -> None:
    found = drawn("knolling")
    assert set(found) == {"knolling-predicates", "knolling-predicates-by-level", "knolling-classes"}
    items = some("knolling")
    by_level = figures(found["knolling-predicates-by-level"])
    at_four = [item for item in items if item.level == 4]
    using = sum("(LeftOf " in str(item.spec.formula) for item in at_four)
    assert by_level["LeftOf, 4"] == f"{100 * using / len(at_four):.0f}"
    assert by_level["Is, 1"] == "100"
    named = Counter(name for item in items for name in re.findall(r"\(Is \?\w+ '(.+?)'\)", str(item.spec.formula)))
    labels = figures(found["knolling-classes"])
    assert {name: figure for name, figure in labels.items() if named[name]} == {
        name: f"{100 * count / named.total():.2f} %" for name, count in named.items()
    }


def test_prompts_of_conceptmix_by_length() -> None:
    labels = figures(drawn("conceptmix")["conceptmix-prompt-length"])
    assert set(labels) == {f"k {level}" for level in range(1, 8)}
    for level in (1, 7):
        lengths = [len(item.prompt.split()) for item in some("conceptmix") if item.level == level]
        numbers = [float(part) for part in labels[f"k {level}"].split(", ")]
        assert (numbers[0], numbers[2], numbers[4]) == (min(lengths), median(lengths), max(lengths))


def test_fields_of_cf_world_count_groups_and_not_images() -> None:
    labels = figures(drawn("cf-world")["cf-world-fields"])
    groups = {item.spec.group: ", ".join(item.tags) for item in some("cf-world")}
    counts = Counter(groups.values())
    assert labels == {f"{name}: {count}": f"{count / len(groups):.3f}" for name, count in counts.items()}


def test_no_items_have_no_figures() -> None:
    assert item_figures([]) == ()


def test_commands_write_figures_besides_what_they_print(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command("census")(census_command)
    app.command("captions")(captions_command)
    (tmp_path / "captions.txt").write_text("a red car\n")
    (tmp_path / "nothing.txt").write_text("Sale!\n")

    def output(*wanted: str) -> str:
        return CliRunner().invoke(app, [*wanted], catch_exceptions=False).stdout

    census = output("census", "cf-world")
    assert output("census", "cf-world", "--figures", str(tmp_path / "c"), "--figures-as", "svg") == census
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["cf-world-fields.svg", "cf-world-questions.svg"]
    for path in (tmp_path / "c").iterdir():
        ElementTree.fromstring(path.read_bytes())
    assert "captions" in output("captions", str(tmp_path / "captions.txt"), "--figures", str(tmp_path / "d"))
    assert len(list((tmp_path / "d").iterdir())) == 4
    with pytest.raises(FormalimgError, match="nothing to draw: no caption names an object"):
        output("captions", str(tmp_path / "nothing.txt"), "--figures", str(tmp_path / "e"))
    with pytest.raises(FormalimgError, match="svg, png, pdf"):
        output("census", "cf-world", "--figures", str(tmp_path / "e"), "--figures-as", "gif")
    assert not (tmp_path / "e").exists()
