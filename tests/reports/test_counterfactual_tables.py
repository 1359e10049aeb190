"""The tables of CF-World and its probes, worked out by hand, in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.testing import CliRunner

from formalimg.benchmarks.cfworld.spec import CounterfactualSpec
from formalimg.benchmarks.conceptmix.pools import PoolProfile
from formalimg.cli.report import report_command
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.comparison_model import Comparison
from formalimg.reports.formats import Format
from formalimg.reports.notes import main_caption, main_remarks
from formalimg.reports.page import main_table_html
from formalimg.reports.published import reference_rows
from formalimg.reports.report import render, terminal_text, write_html
from formalimg.reports.tables.model import Number, number_in
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun, open_run
from formalimg.stats.summary import PointEstimates
from formalimg.types import Item, Table
from tests.human_eval.counterfactual_runs import scored_item as planned_item
from tests.human_eval.counterfactual_runs import scored_run as run_with_blanks
from tests.reports.counterfactual_runs import Scores, groups_of, judge_by, scored_item, scored_run
from tests.reports.drawn_runs import DrawnRun, plain_run
from tests.reports.test_page import Page

ITEMS: list[Item[CounterfactualSpec]] = [
    *groups_of(8),
    *(scored_item("bio", level, ("integrity", "logic", "logic", "assessment"), tags=("biology",)) for level in (1, 2)),
    scored_item(
        "bare", 1, (), tags=("physics", "optics", "no-questions")
    ),  # an odd record is of its field all the same
    scored_item("bare", 2),
]
SCORES: dict[str, Scores] = {item.id: [1.0, 1.0, 1.0] for item in ITEMS}
SCORES |= {"g1-l1": [1.0, 1.0, 0.0], "g3-l2": [1.0, 0.0, 0.5], "g4-l3": "judge failed"}
SCORES |= {"bio-l1": [1.0, 1.0, 1.0, 0.0], "bio-l2": [1.0, 1.0, 0.0, 1.0], "bare-l1": []}
HARSH: dict[str, Scores] = {**SCORES, **{f"g{n}-l2": [0.0, 0.0, 0.0] for n in range(8)}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs") / "one"
    judges = [judge_by(HARSH, "test/harsh"), judge_by(SCORES, "test/kind")]
    return scored_run(place, ITEMS, *judges, model="lab/one_a", refused=["g2-l1"])


@pytest.fixture(scope="module")
def run(folder: Path) -> StoredRun:
    return open_run(folder)


@pytest.fixture(scope="module")
def comparison(run: StoredRun) -> Comparison:
    return compare([run], references=True)


def table(comparison: Comparison, name: str) -> Table:
    (found,) = [table for table in comparison.sections[0].tables if table.name == name]
    return found


def figures(found: Table, *words: str) -> list[Number]:
    for row in found.rows:
        if tuple(cell for cell in row.cells if isinstance(cell, str)) == words:
            numbers = [number_in(found, row, n) for n, _ in enumerate(found.columns)]
            return [number for number in numbers if number is not None]
    raise AssertionError(f"no row {words} in {[row.cells for row in found.rows]}")


# g1 and bio are closed, g2 and bare unknown, g4 has no L3.
L1 = [1, 11 / 26, 1, 1, 1, 1, 1, 11 / 26]
L2 = [1, 0, (3 + 7.5) / 26, 1, 1, 1, 1, 0]
L3 = [1, 0, 1, 1, 1, 1]


def level_value(level: int, values: PointEstimates) -> float | None:
    return values.levels.get(level)


def band_value(band: str, values: PointEstimates) -> float | None:
    return values.bands.get(band)


def test_bounds_of_means_count_what_is_missing_as_0_or_1(comparison: Comparison) -> None:
    (row,) = comparison.sections[0].rows
    bounds = [row.bounds_of(partial(level_value, level)) for level in (1, 2, 3)]
    scores: list[list[float]] = [[*L1], [*L2], [*L3]]
    expected = [(sum(those), len(those), many) for those, many in zip(scores, (10, 10, 8), strict=True)]
    worst, best = ([(total + add * (many - n)) / many for total, n, many in expected] for add in (0, 1))
    assert bounds == [pytest.approx(pair) for pair in zip(worst, best, strict=True)]
    prr, rrr = (row.bounds_of(partial(band_value, band)) for band in ("PRR", "RRR"))
    assert prr == pytest.approx((worst[1] / best[0] ** 0.5, best[1] / worst[0] ** 0.5))
    assert rrr == pytest.approx((worst[2] / best[1] ** 0.5, best[2] / worst[1] ** 0.5))
    raw = figures(table(comparison, "raw and gated"), "lab/one_a", "L1")[1]
    assert raw.bounds == pytest.approx((worst[0], best[0])), "detailed tables have bounds too"


def test_gated_means_and_rates(comparison: Comparison) -> None:
    (row,) = comparison.sections[0].rows
    means = [sum(those) / len(those) for those in (L1, L2, L3)]
    assert [rate.value for rate in row.summary.levels.values()] == pytest.approx(means)
    assert row.summary.bands["PRR"].value == pytest.approx(means[1] / means[0] ** 0.5)
    assert row.summary.bands["RRR"].value == pytest.approx(means[2] / means[1] ** 0.5)
    assert row.gated == {("g1-l2", 0), ("g1-l3", 0), ("bio-l2", 0)}
    assert row.unscored == {"gate unknown": 3, "judge failed": 1, "no questions": 1, "refused": 1}
    assert row.summary.generalizability is None
    text = " ".join([main_caption(comparison.sections[0], comparison), *main_remarks(comparison.sections[0])])
    assert "below the threshold of 0.5; where L1 has no score, they have none either" in text
    assert "left out of the means (missing: exclude)" in text
    assert "6 of 28 images unscored: 3 gate unknown (the factual image of the group has no score)" in text


def test_raw_means_stand_beside_gated_ones(comparison: Comparison) -> None:
    raw, gated, closed, share, unknown = figures(table(comparison, "raw and gated"), "lab/one_a", "L2")
    assert raw.value == pytest.approx((8 + 10.5 / 26 + 22 / 26) / 10)
    assert gated.value == pytest.approx(sum(L2) / 8)
    assert (closed.value, share.value, unknown.value) == (2, 2 / 8, 2)


def test_the_threshold_and_the_rules_for_what_is_missing_can_be_chosen(run: StoredRun) -> None:
    low = compare([run], threshold=0.4)
    assert low.sections[0].rows[0].gated == frozenset()
    assert "threshold of 0.4" in main_caption(low.sections[0], low)
    failed = compare([run], missing="fail").sections[0].rows[0].summary
    assert failed.levels[2].value == pytest.approx(sum(L2) / 10)


def test_the_published_code_weighs_each_question_and_closes_unknown_gates(run: StoredRun) -> None:
    (section,) = compare([run], profile="official-code").sections
    levels = section.rows[0].summary.levels
    # Two questions about logic let an image through that fails its assessment: 19 of 34.
    assert levels[1].value == pytest.approx((6 + 11 / 26 + 19 / 34) / 8)
    assert levels[2].value == pytest.approx((5 + 10.5 / 26 + 26 / 34) / 10)
    rounded = [round(levels[level].value or 0, 2) for level in (1, 2)]
    assert section.rows[0].summary.bands["PRR"].value == pytest.approx(rounded[1] / rounded[0] ** 0.5)
    assert levels[2].scored == 10
    assert "gate unknown" not in section.rows[0].unscored


def test_disciplines_and_dimensions(comparison: Comparison) -> None:
    fields = table(comparison, "disciplines")
    assert [row.cells[:2] for row in fields.rows] == [("biology", ""), ("physics", ""), ("physics", "optics")]
    groups, l1, l2, *_ = figures(fields, "biology", "")
    assert [groups.value, l1.value, l2.value] == pytest.approx([1, 11 / 26, 0])
    dimensions = table(comparison, "dimensions")
    assert [row.cells[0] for row in dimensions.rows] == ["integrity", "assessment", "logic"]
    l1, l2, l3 = figures(dimensions, "logic")
    assert [l1.value, l2.value, l3.value] == pytest.approx([1, 8.5 / 10, 1])
    assert (l1.scored, l1.expected) == (8, 9)  # an item without questions is not asked about logic
    assert [row.cells for row in table(comparison, "groups without scores").rows] == [
        ("g2", "L1: refused; L2, L3: gate unknown"),
        ("g4", "L3: judge failed"),
        ("bare", "L1: no questions; L2: gate unknown"),
    ]


def test_published_rows_are_as_printed_by_both_judges(comparison: Comparison) -> None:
    rows = comparison.sections[0].published
    assert len(rows) == 28
    assert (rows[0].name, dict(rows[0].rates), dict(rows[0].bands)) == (
        "SANA 1.5, by Qwen3-VL-235B",
        {1: 0.83, 2: 0.36, 3: 0.23},
        {"PRR": 0.40, "RRR": 0.38},
    )
    assert rows[27].name == "Seedream 5.0, by Gemini-3-Pro"
    explicit = {row.model: row.rates[2] for row in reference_rows("cf-world")[:14]}
    for row in reference_rows("cf-world-denominalised"):
        assert 0 < round(row.rates[2] - explicit[row.model], 2) <= 0.09
    assert [len(reference_rows(f"cf-world-{name}")) for name in ("rules", "attributes", "denominalised")] == [10] * 3


def test_each_format_writes_scores(comparison: Comparison, run: StoredRun, tmp_path: Path) -> None:
    text = render(comparison, "md")
    assert "| run | L1 | L2 | L3 | PRR | RRR | scored |" in text
    assert "| SANA 1.5, by Qwen3-VL-235B | 0.83 | 0.36 | 0.23 | 0.40 | 0.38 | published |" in text
    interval = r"\(0\.\d\d–\d\.\d\d\)"
    cells = rf"0\.86† {interval} ↓0\.68 ↑0\.88 \| 0\.68† {interval} ↓\S+ ↑\S+ \| 0\.83† {interval} ↓"
    assert re.search(rf"\| lab/one\\_a \| {cells}", text)
    assert r"L2/$\surd$L1" in render(comparison, "latex")
    rows = {
        (row["run"], row["figure"], row["name"]): row for row in csv.DictReader(io.StringIO(render(comparison, "csv")))
    }
    prr = rows["lab/one_a", "band", "PRR"]
    assert (prr["threshold"], prr["profile"]) == ("0.5", "paper")
    assert float(prr["low"]) < float(prr["value"]) < float(prr["high"])
    assert float(rows["lab/one_a", "raw and gated", "L2, closed"]["value"]) == 2
    assert rows["SANA 1.5, by Gemini-3-Pro", "band", "RRR"]["value"] == "0.32"
    data = json.loads(render(comparison, "json"))
    assert (data["threshold"], data["profile"], data["sections"][0]["runs"][0]["gated"]) == (0.5, "paper", 3)
    write_html([run], tmp_path / "report.html", gallery=40)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    for words in (
        "mean scores of images",
        "fail, 0.42",
        "Is assessment number 3 right? 0.00 it is 0.0",
        "by dimension",
    ):
        assert words in page.words
    assert page.words.count("counts as 0: the factual image of its group is below the threshold") == 3
    assert "1 other question has the full score" in page.words
    assert not re.search(r"0\.\d\d %", page.words)
    for width in (45, 80, 140):
        assert max(map(len, terminal_text(comparison, width, details=True).splitlines())) <= width


@pytest.mark.parametrize("format_", get_args(Format))
def test_nothing_is_told_in_the_words_of_other_suites(comparison: Comparison, format_: Format) -> None:
    ours = r"clauses_by_\w+|<(style|script)>.*?</\1>|class=\"[^\"]*\""
    text = re.sub(ours, "", render(comparison, format_), flags=re.DOTALL)
    assert not re.search(r"clause|predicate|concept|formula\b|G0|rates?\b(?!\s*=)", text)


def test_each_judge_of_a_run_has_a_row_if_asked(folder: Path) -> None:
    app = typer.Typer()
    app.command()(report_command)

    def said(*more: str) -> str:
        wanted = [str(folder), "--format", "json", *more]
        return CliRunner().invoke(app, wanted, catch_exceptions=False).output

    (last,) = json.loads(said())["sections"][0]["runs"]
    assert (last["name"], last["judge"]["name"]) == ("lab/one_a", "test/kind")
    harsh, kind = json.loads(said("--judges", "all", "--threshold", "0.3"))["sections"][0]["runs"]
    assert (harsh["name"], kind["name"]) == ("lab/one_a, by test/harsh", "lab/one_a, by test/kind")
    assert harsh["levels"]["2"]["value"] < kind["levels"]["2"]["value"]
    assert kind["gated"] == 0


def test_judges_of_one_name_are_told_apart_by_their_settings() -> None:
    run = plain_run("m", {1: [True]})
    other = replace(run, manifest=replace(run.manifest, judge=Identity("icons", {"judging_rules": 2})))
    unjudged = replace(run, manifest=replace(run.manifest, judge=None))
    names = [row.name for row in compare([run, other, unjudged]).sections[0].rows]
    assert names == ["m, by icons (judging_rules=1)", "m, by icons (judging_rules=2)", "m, not judged"]


def test_probes_compare_factual_with_counterfactual(tmp_path: Path) -> None:
    items: list[Item[CounterfactualSpec]] = []
    scores: dict[str, Scores] = {}
    for rule, answers in {"r0": ([1.0, 0.5], [0.0]), "r1": ([1.0], [1.0, 0.5]), "r2": ([1.0], [])}.items():
        for level, those in enumerate(answers, 1):
            for score in those:
                name = f"{rule}-{len(items)}"
                more = {"name": name, "suite": "cf-world-rules"}
                items.append(scored_item(rule, level, ("assessment",), tags=(), **more))
                scores[name] = [score]
    run = open_run(scored_run(tmp_path / "run", items, judge_by(scores)))
    comparison = compare([run], references=True)
    factual, other, difference, rules = figures(table(comparison, "differences"), "test/speckles")
    assert (factual.value, other.value, rules.value) == (3.5 / 4, 1.5 / 3, 2)
    assert difference.value == pytest.approx((-0.75 - 0.25) / 2)
    assert difference.interval is not None
    assert figures(table(comparison, "by rule"), "r1")[2].value == pytest.approx(-0.25)
    assert figures(table(comparison, "differences"), "Z-image, by Qwen3-VL-235B")[0].value == 0.61
    text = render(comparison, "terminal", details=True)
    assert "factual" in text
    assert "−0.75" in text
    assert "There is no gate" in text


def test_the_page_tells_the_same_intervals_as_all_other_tables(comparison: Comparison) -> None:
    (section,) = comparison.sections
    summary = section.rows[0].summary
    intervals = [one.interval for one in summary.levels.values()] + [one.interval for one in summary.bands.values()]
    assert len(intervals) == 5
    page = str(main_table_html(section, comparison))
    assert [f"{one.low:.2f}–{one.high:.2f}" for one in intervals if one] == re.findall(
        r"<small>(\d\.\d\d–\d\.\d\d)</small>", page
    )


def test_images_that_failed_by_rule_are_0_in_each_dimension(tmp_path: Path) -> None:
    items = [planned_item(f"g{n}-l1", dimensions=("integrity", "assessment")) for n in range(4)]
    scores = {item.id: [[1.0, 0.5]] for item in items}
    folder = run_with_blanks(tmp_path / "run", items, scores, blank=frozenset({"g0-l1"}))
    comparison = compare([open_run(folder)])
    (row,) = comparison.sections[0].rows
    assert sum(row.by_rule.values()) == 1
    dimensions = table(comparison, "dimensions")
    found = {name: figures(dimensions, name)[0] for name in ("integrity", "assessment")}
    assert {name: it.value for name, it in found.items()} == {"integrity": 0.75, "assessment": 1.5 / 4}
    mean = row.summary.levels[1]
    assert mean.value == pytest.approx(3 / 18 * 0.75 + 15 / 18 * 1.5 / 4)  # the mean of a level is made of dimensions
    assert {(it.scored, it.expected) for it in found.values()} == {(mean.scored, mean.expected)} == {(4, 4)}


@pytest.mark.parametrize("profile", ["paper", "official-code"])
def test_without_level_1_in_the_run_nothing_counts_and_nothing_is_0(profile: PoolProfile, tmp_path: Path) -> None:
    above = [item for item in groups_of(3) if item.level > 1]
    run = open_run(scored_run(tmp_path / "run", above, judge_by({item.id: [1.0, 1.0, 1.0] for item in above})))
    comparison = compare([run], profile=profile)
    (row,) = comparison.sections[0].rows
    assert row.unscored == {"level 1 is not part of the run": 6}
    assert [(rate.value, rate.scored, rate.expected) for rate in row.summary.levels.values()] == [(None, 0, 3)] * 2
    raw, gated, closed, _, unknown = figures(table(comparison, "raw and gated"), "test/speckles", "L3")
    assert (raw.value, gated.value, closed.value, unknown.value) == (1.0, None, 0, 3)
    assert "groups without scores" not in [table.name for table in comparison.sections[0].tables]
    assert "6 of 6 images unscored: 6 level 1 is not part of the run" in " ".join(main_remarks(comparison.sections[0]))


def test_tags_of_rules_are_no_disciplines(tmp_path: Path) -> None:
    items = [
        scored_item("r", level, ("assessment",), suite="cf-world-rules", tags=("to the left",)) for level in (1, 2)
    ]
    run = open_run(scored_run(tmp_path / "run", items, judge_by({item.id: [1.0] for item in items})))
    assert "disciplines" not in [table.name for table in compare([run]).sections[0].tables]


def test_a_score_that_is_none_is_told_with_its_item_and_judge(tmp_path: Path) -> None:
    items = groups_of(1)
    folder = scored_run(tmp_path / "run", items, judge_by({item.id: [1.0, 1.5, 0.0] for item in items}, "lab/odd"))
    with pytest.raises(FormalimgError, match=r"lab/odd gave item g0-l1 of .*run the score 1.5: scores are from 0 to 1"):
        compare([open_run(folder)])


def test_one_model_in_two_personas_is_called_by_them() -> None:
    run = plain_run("m", {1: [True]})

    def judged(persona: str, **more: str) -> DrawnRun:
        texts = {"prompt_factual": "factual, version 1", "prompt_counterfactual": f"{persona} text, version 1"}
        judge = Identity("openai/q", {"temperature": 0.0, "persona": persona, **texts, **more})
        return replace(run, manifest=replace(run.manifest, judge=judge))

    (section,) = compare([judged("strict"), judged("standard")]).sections
    assert [row.name for row in section.rows] == ["m, by openai/q (strict)", "m, by openai/q (standard)"]
    assert section.notes == ("The runs differ in their judges.",)
    own = judged("strict", prompt_factual="factual, the user's own, 1a2b")
    (section,) = compare([own, judged("standard")]).sections
    assert section.rows[0].name == "m, by openai/q (strict, prompt_factual=factual, the user's own, 1a2b)"
    twice = [judged("strict"), judged("strict", prompt_counterfactual="strict text, version 2"), judged("standard")]
    assert len({row.name for row in compare(twice).sections[0].rows}) == 3


def test_options_without_effect_are_told(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(report_command)
    groups = groups_of(1)
    folder = scored_run(tmp_path / "main", groups, judge_by({item.id: [1.0, 1.0, 1.0] for item in groups}))
    items = [scored_item("r", level, ("assessment",), suite="cf-world-rules", tags=()) for level in (1, 2)]
    probe = scored_run(tmp_path / "probe", items, judge_by({item.id: [1.0] for item in items}))

    def warnings(*arguments: object) -> list[str]:
        done = CliRunner().invoke(app, [*map(str, arguments), "--format", "json"], catch_exceptions=False)
        return done.stderr.splitlines()

    assert warnings(probe) == warnings(folder, "--threshold", 0.3) == warnings(folder, probe, "--threshold", 0.3) == []
    assert warnings(probe, "--threshold", 0.5) == [
        "--threshold has no effect on cf-world-rules: only cf-world has a gate"
    ]
    assert warnings(folder, "--epsilon", 0.7) == [
        "--epsilon has no effect on cf-world: it has mean scores instead of pass rates"
    ]
