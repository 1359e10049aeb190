"""Adaptive runs in reports: what was not run is said to be so, and nothing incomplete looks complete."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from formalimg import Evaluation
from formalimg.errors import FormalimgError
from formalimg.judges.base import LoadedImage
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Section
from formalimg.reports.formats import Format
from formalimg.reports.report import render, terminal_text, write_html
from formalimg.reports.tables.format import cell_text
from formalimg.reports.tables.model import number_in
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun, open_run
from formalimg.stats.comparison import adjust_for_all, compare_paired, group_means, pair_items
from formalimg.stats.observations import Observation, ScoreObservation
from formalimg.stats.permutation import holm
from formalimg.types import Item, Part, Table, Verdict
from tests.reports.counterfactual_runs import Scores, groups_of, judge_by, scored_run
from tests.reports.drawn_runs import DrawnRun, Fates, plain_run
from tests.support.ladders import climb, ladder, ladder_judge
from tests.support.models import NumberJudge, Speckles
from tests.support.values import not_none

LOST_AT_2 = {1: 100, 2: 0, 3: 0}


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adaptive run that ended at the second of three levels."""
    folder = tmp_path_factory.mktemp("runs") / "adaptive"
    climb(ladder(), folder, ladder_judge(LOST_AT_2))
    return folder


def test_only_what_was_run_in_full_has_means(adaptive: Path) -> None:
    summary = Evaluation(adaptive).summary()
    assert summary.generalizability == (0.7, 1, 1, 1)
    assert set(summary.levels) == {1, 2}
    assert {band.value for band in summary.bands.values()} == {None}
    assert (summary.overall.value, summary.overall.scored) == (None, 30)
    # Twenty of twenty, looked at twice, with twenty more to come: wider than the interval of one look.
    interval = summary.levels[1].interval
    assert 0.6 < not_none(interval).low < 0.83


def test_another_rate_to_hold_was_not_tested(adaptive: Path) -> None:
    assert Evaluation(adaptive).summary(epsilon=0.5).generalizability == (0.5, None, None, None)


def test_failures_by_rule_have_no_interval_of_the_looks(adaptive: Path) -> None:
    assert {rate.interval for rate in Evaluation(adaptive).summary(missing="fail").levels.values()} == {None}


@pytest.mark.parametrize("form", ["md", "latex", "json", "terminal"])
def test_every_format_says_what_was_not_run(adaptive: Path, form: str) -> None:
    text = render(compare([open_run(adaptive)]), form, details=True)  # type: ignore[arg-type]
    flat = " ".join(text.split())
    assert "30 images of 120, 90 saved" in flat
    assert "not run (adaptive)" in flat
    assert "Adaptive: decisions" in flat


def test_tables_of_numbers_have_none_for_what_was_not_run(adaptive: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(render(compare([open_run(adaptive)]), "csv"))))
    assert [row["name"] for row in rows if row["figure"] == "level"] == ["1", "2"]
    assert {row["value"] for row in rows if row["figure"] in ("band", "overall")} == {""}
    (held,) = [row for row in rows if row["figure"] == "generalizability"]
    assert (held["value"], held["low"], held["high"]) == ("1", "1", "1")


def test_pages_are_written(adaptive: Path, tmp_path: Path) -> None:
    write_html([open_run(adaptive)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not run (adaptive)" in page
    assert "30 images of 120, 90 saved" in page
    assert "30 images of 120, 90 saved" in str(Evaluation(adaptive))


def test_a_whole_run_stands_beside_it(adaptive: Path, tmp_path: Path) -> None:
    execute(ladder(Speckles(name="test/whole")), tmp_path / "whole", ladder_judge({1: 90, 2: 80, 3: 30}))
    comparison = compare([open_run(adaptive), open_run(tmp_path / "whole")])
    section = comparison.sections[0]
    assert "there are no paired differences" in render(comparison, "md")
    assert section.tables[0].name == "adaptive"
    whole = section.rows[1]
    assert whole.looks is None
    assert whole.summary.bands["Easy"].value is not None
    assert section.levels == (1, 2, 3)


def test_other_judges_have_rates_and_no_g(adaptive: Path, tmp_path: Path) -> None:
    def yes(item: Item[object], image: LoadedImage) -> Verdict:
        return Verdict(True, (Part("shown", "object", 1.0),))

    climb(ladder(), tmp_path / "run", ladder_judge(LOST_AT_2))
    other = NumberJudge(name="test/yes", verdict=yes)
    judge_run(tmp_path / "run", other)
    comparison = compare([open_run(tmp_path / "run")])
    (row,) = comparison.sections[0].rows
    assert row.summary.generalizability == (0.7, None, None, None)
    assert row.summary.levels[2].value == 1
    assert "by the verdicts of another judge" in render(comparison, "md")


def test_a_comparison_says_the_difference(tmp_path: Path) -> None:
    execute(ladder(), tmp_path / "other", ladder_judge({1: 30, 2: 20, 3: 10}))
    judge = ladder_judge({1: 95, 2: 95, 3: 95})
    climb(ladder(Speckles(name="test/new")), tmp_path / "run", judge, tmp_path / "other")
    text = render(compare([open_run(tmp_path / "run")]), "md")
    assert "adaptive, against test/speckles, begun" in text
    assert "points (95 %: +" in text
    by = "by test/number, better"
    assert f"{by}; 20 images of 120, 100 saved" in text or f"{by}; 30 images of 120, 90 saved" in text
    summary = Evaluation(tmp_path / "run").summary()
    assert {band.value for band in summary.bands.values()} == {None}
    assert summary.generalizability == (0.7, None, None, None)


def test_failures_without_a_verdict_make_no_better_model(tmp_path: Path) -> None:
    """The models are equal; the failures of the new one have no verdict."""
    rates = {1: 60, 2: 40, 3: 30}
    execute(ladder(), tmp_path / "other", ladder_judge({1: 0, 2: 0, 3: 0}))
    seeing = ladder_judge(rates)

    def is_lost(item: Item[object]) -> bool:
        return int(hashlib.sha256(item.id.encode()).hexdigest(), 16) % 100 >= rates[item.level]

    config = ladder(Speckles(name="test/new"))
    climb(config, tmp_path / "run", ladder_judge(rates, is_lost), tmp_path / "other")
    (line,) = [one for one in render(compare([open_run(tmp_path / "run")]), "md").splitlines() if "against" in one]
    assert "better on what has a verdict, but" in line
    assert "missing verdicts could overturn this" in line
    climb(config, tmp_path / "seen", seeing, tmp_path / "other")
    assert "better;" in render(compare([open_run(tmp_path / "seen")]), "md")


def test_a_run_that_has_lost_its_looks_is_refused(tmp_path: Path) -> None:
    climb(ladder(), tmp_path / "run", ladder_judge(LOST_AT_2))
    (tmp_path / "run" / "looks.jsonl").unlink()
    with pytest.raises(FormalimgError, match=r"is missing looks.jsonl"):
        compare([open_run(tmp_path / "run")])


LEVELS = range(1, 11)


def _run(model: str, passing: int, *, refused: int = 0) -> DrawnRun:
    """Ten levels of eight items, so many of which pass; the last ones are refused."""
    ends: Fates = {
        level: [*(n < passing for n in range(8 - refused)), *(["refused"] * refused)]  # type: ignore[list-item]
        for level in LEVELS
    }
    return plain_run(model, ends)


def _observed(run: DrawnRun) -> list[Observation]:
    return [Observation(one.outcome.item, one.outcome.level, one.outcome.passed) for one in run.judged()]


@pytest.fixture(scope="module")
def runs() -> list[DrawnRun]:
    return [_run("good", 6), _run("fair", 5, refused=1), _run("bad", 1)]


@pytest.fixture(scope="module")
def section(runs: list[DrawnRun]) -> Section:
    (section,) = compare(runs).sections
    return section


def _table(section: Section, name: str = "paired differences") -> Table:
    (found,) = [table for table in section.tables if table.name == name]
    return found


def _texts(table: Table, row: int) -> list[str]:
    return [cell_text(*pair) for pair in zip(table.rows[row].cells, table.columns, strict=True)]


def test_every_pair_is_compared_on_the_items_that_both_have_verdicts_for(
    runs: list[DrawnRun], section: Section
) -> None:
    table = _table(section)
    assert [row.cells[:3] for row in table.rows] == [
        ("good", "fair", "Overall"),
        ("good", "bad", "Overall"),
        ("fair", "bad", "Overall"),
    ]
    pairs = [(0, 1), (0, 2), (1, 2)]
    found = adjust_for_all([compare_paired(_observed(runs[a]), _observed(runs[b]), levels=LEVELS) for a, b in pairs])
    for row, one in zip(table.rows, found, strict=True):
        number = number_in(table, row, 3)
        assert not_none(number).value == one.estimate
        assert row.cells[6:10] == (one.wins, one.losses, one.items, len(one.left_out))
    whole = number_in(table, table.rows[1], 3)
    assert not_none(whole).interval == found[1].interval, "nothing is missing"
    assert table.rows[1].cells[4:6] == (found[1].p, found[1].adjusted_p)
    low, high = (number_in(table, table.rows[0], column) for column in (10, 11))
    assert (not_none(low).value, not_none(high).value) == (0.0, 0.125), "all refused images pass, or none"
    assert _texts(table, 0)[6:10] == ["10", "0", "70", "10"], "ten items were refused in one of the runs"
    assert "+14.3 (" in _texts(table, 0)[3]


def test_details_are_adjusted_number_by_number(section: Section) -> None:
    table = _table(section, "paired differences in detail")
    numbers = [row.cells[2] for row in table.rows if row.cells[:2] == ("good", "bad")]
    assert numbers == ["Easy", "Medium", "Hard", *(f"K {level}" for level in LEVELS)]
    of_level = [row.cells for row in table.rows if row.cells[2] == "K 1"]
    assert [cells[5] for cells in of_level] == list(holm([cells[4] for cells in of_level]))  # type: ignore[misc]
    assert "for 3 comparisons of the same number" in table.notes[0]


def test_ranks_are_those_of_overall_with_ties_as_ties(section: Section) -> None:
    assert section.ranks == ((1, 2), (1, 2), (3, 3)), "refused images could make them equal"
    close = [_run("one", 4), _run("two", 4), _run("three", 0)]
    (tied,) = compare(close).sections
    assert tied.ranks == ((1, 2), (1, 2), (3, 3))
    text = render(compare(close), "md")
    assert "| 1–2 | 80/80 |" in text
    assert "rank: Overall by icons, from" in text
    assert compare(close[:1]).sections[0].ranks == (), "one run has no rank"
    alone = compare([close[0], plain_run("far", {1: [True]}, digest="other")]).sections[0]
    assert alone.ranked_by == "all items", "one of them has no Overall"


def test_the_others_are_compared_with_the_baseline_alone(runs: list[DrawnRun]) -> None:
    (section,) = compare(runs, baseline=runs[2].folder).sections
    table = _table(section)
    assert [row.cells[:2] for row in table.rows] == [("good", "bad"), ("fair", "bad")]
    assert "for 2 comparisons" in table.notes[0]
    assert section.ranks == ((1, 2), (1, 2), (3, 3)), "by all pairs all the same"
    with pytest.raises(FormalimgError, match="the baseline elsewhere is not among the runs"):
        compare(runs, baseline=Path("elsewhere"))


def test_with_several_judges_a_run_is_compared_with_the_verdicts_of_its_own() -> None:
    def by(run: DrawnRun, judge: str) -> DrawnRun:
        return replace(run, manifest=replace(run.manifest, judge=Identity(judge, {})))

    both = [by(run, judge) for run in (_run("base", 3), _run("new", 5)) for judge in ("strict", "mild")]
    (section,) = compare(both, baseline=both[0].folder).sections
    assert [row.cells[:2] for row in _table(section).rows] == [
        ("new, by strict", "base, by strict"),
        ("new, by mild", "base, by mild"),
    ]


def test_items_that_only_share_their_id_are_left_out(runs: list[DrawnRun]) -> None:
    items = {
        name: item._replace(formula="(exists ?d (Is ?d 'dish'))") if item.level > 5 else item
        for name, item in runs[2].items.items()
    }
    other = replace(runs[2], items=items, manifest=replace(runs[2].manifest, items_digest="other"))
    (section,) = compare([runs[0], other]).sections
    details = _table(section, "paired differences in detail")
    assert [row.cells[2] for row in details.rows] == ["Easy", *(f"K {level}" for level in range(1, 6))]
    assert [row.cells[8:10] for row in details.rows[1:]] == [(8, 0)] * 5
    (row,) = _table(section).rows
    assert (row.cells[2], *row.cells[8:10]) == ("all items", 40, 40), "an Overall would need items at all levels"


def test_missing_verdicts_count_as_failures_where_the_report_says_so(runs: list[DrawnRun]) -> None:
    (section,) = compare(runs, missing="fail").sections
    assert _texts(_table(section), 0)[6:10] == ["10", "0", "80", "0"]
    assert _texts(_table(section), 0)[3].startswith("+12.5 (")


@pytest.mark.parametrize("form", get_args(Format))
def test_every_format_has_the_differences(runs: list[DrawnRun], form: Format) -> None:
    text = " ".join(render(compare(runs), form, details=True).split())
    if form == "csv":
        lines = {
            (line["run"], line["figure"], line["name"]): line
            for line in csv.DictReader(io.StringIO(render(compare(runs), form)))
        }
        line = lines["good", "paired differences", "bad, Overall, difference"]
        assert float(line["value"]) == pytest.approx(5 / 8)
        assert float(line["low"]) < 5 / 8 < float(line["high"])
        assert float(lines["good", "paired differences", "bad, Overall, adjusted p"]["value"]) < 1e-6
        assert float(lines["fair", "rank", "Overall"]["high"]) == 2
    elif form == "json":
        data = json.loads(render(compare(runs), form))["sections"][0]
        assert data["tables"][0]["rows"][1]["cells"][3]["value"] == pytest.approx(5 / 8)
        assert data["runs"][1]["rank"]["Overall"]["interval"] == [1, 2]
    else:
        assert "+62.5" in text
        assert "rank" in text
        assert "Paired differences in detail" in text


def test_a_terminal_says_differences_in_words_and_shows_the_tables_if_asked(runs: list[DrawnRun]) -> None:
    brief, whole = (terminal_text(compare(runs), 160, details=details) for details in (False, True))
    for text in ("Paired differences\n", "good minus bad: +62.5 points (95 % interval "):
        assert text not in brief
        assert text in whole


def test_of_many_runs_bands_and_levels_are_in_files_alone() -> None:
    many = compare([_run(f"model {n}", n) for n in range(7)])
    assert "Paired differences in detail" not in render(many, "md") + render(many, "latex") + render(many, "html")
    assert "Bands and levels are in CSV and JSON reports" in render(many, "md")
    assert '"paired differences in detail"' in render(many, "json")
    assert "paired differences in detail" in render(many, "csv")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> list[StoredRun]:
    """Eight groups of CF-World; in the second run the factual image of one closes its gate, and one is not scored."""
    folder, items = tmp_path_factory.mktemp("scored"), groups_of(8)
    good: dict[str, Scores] = {item.id: [1.0, 1.0, 1.0] for item in items}
    worse: dict[str, Scores] = {
        **good,
        **{f"g{n}-l3": [1.0, 1.0, 0.5] for n in range(1, 7)},
        "g0-l1": [0.0, 0.0, 0.0],
        "g7-l2": "judge failed",
    }
    return [
        open_run(scored_run(folder / name, items, judge_by(scores, "test/judge"), model=f"lab/{name}"))
        for name, scores in (("good", good), ("worse", worse))
    ]


def test_scores_are_compared_group_by_group_as_they_count(scored: list[StoredRun]) -> None:
    (section,) = compare(scored).sections
    table, details = _table(section), _table(section, "paired differences in detail")
    (row,) = table.rows
    assert row.cells[2] == "all levels"
    here = [ScoreObservation(f"g{n}", level, 0, 1.0) for n in range(8) for level in (1, 2, 3)]
    half = {(f"g{n}", 3): (3 + 8 + 15 / 2) / 26 for n in range(1, 7)}
    there = [one._replace(score=0.0 if one.group == "g0" else half.get((one.group, one.level), 1.0)) for one in here]
    there = [one._replace(score=None) if (one.group, one.level) == ("g7", 2) else one for one in there]
    found = pair_items(group_means(here), group_means(there)).group_difference()
    number = number_in(table, row, 3)
    assert number is not None
    assert number.value == found.estimate
    assert not_none(number.interval).high > not_none(found.interval).high, "what is not scored could be better"
    assert isinstance(row.cells[4], float)
    assert row.cells[4] >= not_none(found.p), "what is not scored could be as good"
    assert [column.head for column in table.columns[6:]] == [
        "better",
        "worse",
        "groups",
        "left out",
        "lowest",
        "highest",
    ]
    assert [row.cells[2] for row in details.rows] == ["L1", "L2", "L3"]
    l1 = number_in(details, details.rows[0], 3)
    assert not_none(l1).value == pytest.approx(1 / 8)
    assert details.rows[1].cells[6:10] == (1, 0, 7, 1), "a closed gate counts as it does in the means"
    assert "each group counts once, by its mean score over the levels that both have" in table.notes[0]
