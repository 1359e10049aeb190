"""The tables of ConceptMix: figures worked out by hand, from run folders."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.benchmarks.conceptmix.pools import PoolProfile
from formalimg.errors import FormalimgError
from formalimg.reports.comparison import compare
from formalimg.reports.published import reference_rows
from formalimg.reports.tables.format import cell_text, notes_of
from formalimg.reports.tables.model import Column, Number
from formalimg.runs.database import PlannedItem
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.stats.intervals import clopper_pearson, fraction_interval
from formalimg.stats.observations import MissingPolicy
from formalimg.types import Part, Table, Verdict
from tests.reports.concept_runs import Answers, concept_item, concept_run
from tests.reports.drawn_runs import DrawnRun, card_of, outcome_of

ITEMS = [
    concept_item("a", ("object", "cat"), ("color", "red"), prompt="a red cat"),
    concept_item("b", ("object", "cat"), ("color", "black"), prompt="one cat that is black"),
    concept_item("c", ("object", "dog"), ("object", "cat"), prompt="a dog, a cat"),
    concept_item("d", ("object", "dog"), ("style", "ink"), prompt="dog in ink"),
    concept_item("e", ("object", "cat"), ("object", "orange"), ("color", "orange")),
    concept_item("f", ("object", "dog"), ("number", "2"), ("spatial", "left")),
]
ANSWERS: dict[str, Answers] = {
    "a": [True, True],
    "b": [True, False],
    "c": [False, True],
    "d": "not understood",
    "e": [True, False, True],
    "f": [True, True, True],
}
COSTS = {"a": 0.01, "b": 0.02, "c": None, "d": 0.03}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return concept_run(tmp_path_factory.mktemp("runs") / "one", "lab/one", ITEMS, ANSWERS, COSTS)


def tables(
    *runs: StoredRun | DrawnRun, missing: MissingPolicy = "exclude", profile: PoolProfile = "paper"
) -> dict[str, Table]:
    (section,) = compare(runs, missing=missing, profile=profile).sections
    return {table.name: table for table in section.tables}


def texts(table: Table) -> list[list[str]]:
    return [[cell_text(*pair) for pair in zip(row.cells, table.columns, strict=True)] for row in table.rows]


def heads(table: Table) -> tuple[str, ...]:
    return tuple(column.head for column in table.columns)


def test_full_marks_and_fractions_are_written_as_the_paper_does(run: StoredRun) -> None:
    found = tables(run)
    # 1 of 3: Clopper and Pearson give .0084 to .9057. By their spread, 1, 1/2, 1/2 are worth 5.1 trials: .193 to .967.
    assert texts(found["full mark"]) == [["lab/one", ".33 ± .57† ↓.25 ↑.50", ".50 ± .49", "5/6"]]
    assert texts(found["concept fraction"]) == [["lab/one", ".67 ± .47† ↓.50 ↑.75", ".83 ± .69", "5/6"]]
    assert "mean over images" in found["concept fraction"].notes[0]


def test_missing_verdicts_may_count_as_failures_of_all_concepts(run: StoredRun) -> None:
    found = tables(run, missing="fail")
    assert texts(found["concept fraction"])[0][1:] == [".50 ± .38† ↓.50 ↑.75", ".83 ± .69", "5/6"]
    asked = {tuple(line[:1]): line[1:] for line in texts(found["categories"])}
    assert asked["object",][:3] == ["8", "7†", "5"]
    assert asked["object",][3].startswith("62.5")
    assert asked["style",][:3] == ["1", "0†", "0"]
    assert "rate: shown of asked," in found["values"].notes[0]
    assert all("(missing: fail)" in found[name].notes[0] for name in ("full mark", "concept fraction", "values"))


def test_one_more_concept_by_category(run: StoredRun) -> None:
    table = tables(run)["categories at k = 1"]
    assert heads(table) == ("category", "images", "scored", "shown", "full mark")
    assert texts(table) == [
        ["object", "1", "1", "100.0 (2.5–100.0)", "0.0 (0.0–97.5)"],  # the second object
        ["color", "2", "2", "50.0 (1.3–98.7)", "50.0 (1.3–98.7)"],
        ["style", "1", "0†", "–", "–"],
        ["averaged", "3", "2†", "–", "–"],  # without objects; nobody knows the style
    ]
    assert notes_of(table)[0].endswith("† not all images were scored.")


def test_one_more_concept_by_value_adds_up_to_its_category(run: StoredRun) -> None:
    """What Figures 5 and 13 of the paper show: k = 1 alone, value by value."""
    found = tables(run)
    table = found["values at k = 1"]
    assert heads(table) == ("category", "value", "band", "images", "scored", "shown", "full mark")
    lines = {(line[0], line[1]): line[2:5] for line in texts(table)}
    assert lines["style", "ink"] == ["easy", "1", "0†"]
    assert lines["color", "black"] == ["hard", "1", "1"]
    by_category = {line[0]: int(line[1]) for line in texts(found["categories at k = 1"]) if line[0] != "averaged"}
    summed = {name: sum(int(line[1]) for (of, _), line in lines.items() if of == name) for name in by_category}
    assert summed == by_category


def test_concepts_by_category_and_by_value(run: StoredRun) -> None:
    found = tables(run)
    assert heads(found["categories"]) == ("category", "asked", "answered", "shown", "rate")
    assert [line[:4] for line in texts(found["categories"])] == [
        ["object", "8", "7†", "5"],
        ["color", "3", "3", "2"],
        ["number", "1", "1", "1"],
        ["spatial", "1", "1", "1"],
        ["style", "1", "0†", "0"],
    ]
    assert "rate: shown of answered," in found["values"].notes[0]
    rate = found["categories"].rows[1].cells[-1]
    assert isinstance(rate, Number)
    assert rate.interval == clopper_pearson(2, 3)
    values = {(line[0], line[1]): line[2:6] for line in texts(found["values"])}
    assert values["object", "orange"] == ["", "1", "1", "0"]
    assert values["color", "orange"] == ["", "1", "1", "1"]
    assert values["color", "black"] == ["hard", "1", "1", "0"]
    assert values["object", "cat"] == ["", "4", "4", "4"]
    assert values["style", "ink"] == ["easy", "1", "0†", "0"]  # asked for, and nobody could tell
    assert [line[:5] for line in texts(found["easy and hard values"])] == [
        ["color", "easy", "1", "1", "1"],
        ["color", "hard", "1", "1", "0"],
        ["number", "easy", "1", "1", "1"],
        ["spatial", "hard", "1", "1", "1"],
        ["style", "easy", "1", "0†", "0"],
    ]


def test_prompts_are_measured_in_words_and_characters(run: StoredRun) -> None:
    lines = {(line[0], line[1]): line[2:] for line in texts(tables(run)["prompt length"])}
    # 3, 5, 4 and 3 words; 9, 21, 12 and 10 characters
    assert lines["words", "1"] == ["4", "3.8", "1.0", "3.0", "3.5", "4.2"]
    assert lines["characters", "1"] == ["4", "13.0", "5.5", "9.8", "11.0", "14.2"]


def test_the_cost_of_grading_names_unknown_prices(run: StoredRun, tmp_path: Path) -> None:
    # a, b, d, e and f cost 0.06 in all; what c cost nobody knows
    assert texts(tables(run)["cost of grading"]) == [["lab/one", "6", "$0.0120", "$0.0600", "1"]]
    assert "cost of grading" not in tables(concept_run(tmp_path / "free", "lab/free", ITEMS, ANSWERS))


def test_categories_are_averaged_over_runs_and_over_categories(tmp_path: Path) -> None:
    items = [*ITEMS[:2], concept_item("s", ("object", "dog"), ("size", "tiny")), ITEMS[2]]
    red: dict[str, Answers] = {"a": [True, True], "b": [True, False]}
    none: dict[str, Answers] = {"a": [True, False], "b": [True, False]}
    first = concept_run(tmp_path / "1", "lab/one", items, {**red, "s": [True, True], "c": [False, False]})
    second = concept_run(tmp_path / "2", "lab/two", items, {**none, "s": [False, True], "c": [False, True]})
    rows = {tuple(line[:2]): line[2:] for line in texts(tables(first, second)["categories at k = 1"])}
    # colours: 1 of 2 and 0 of 2; sizes: both; full marks of sizes: 1 of 1 and 0 of 1; objects are no category there
    assert rows["object", "averaged"] == ["2", "2", "50.0", "0.0"]
    assert rows["color", "averaged"] == ["4", "4", "25.0", "25.0"]
    assert rows["size", "averaged"] == ["2", "2", "100.0", "50.0"]
    assert rows["averaged", "lab/one"] == ["3", "3", "75.0", "75.0"]
    assert rows["averaged", "lab/two"] == ["3", "3", "50.0", "0.0"]
    assert rows["averaged", "averaged"] == ["6", "6", "62.5", "37.5"]
    assert not any("averaged" in line for line in texts(tables(first, second)["values at k = 1"]))
    alone = texts(tables(first)["categories at k = 1"])
    assert alone[-1] == ["averaged", "3", "3", "75.0", "75.0"]
    part = concept_run(tmp_path / "3", "lab/part", items[:2], {"a": [True, True], "b": [True, True]})
    labels = {tuple(line[:2]) for line in texts(tables(first, part)["categories at k = 1"]) if "averaged" in line[:2]}
    assert labels == {("color", "averaged"), ("averaged", "lab/one")}, "others have not the same categories or runs"


def test_seconds_per_image_are_those_that_were_recorded(tmp_path: Path) -> None:
    runs = []
    for name, seconds in (("lab/slow", 3.0), ("lab/quick", 0.25), ("folder/premade", 1.0)):
        folder = tmp_path / name.replace("/", "-")
        concept_run(folder, name, ITEMS[:3], ANSWERS).close()
        with closing(sqlite3.connect(folder / "results.sqlite")) as database, database:
            database.execute("UPDATE pictures SET seconds = ? * (item = 'a' OR item = 'b')", (seconds,))
            database.execute("UPDATE pictures SET seconds = NULL WHERE item = 'c'")
        runs.append(open_run(folder))
    with closing(sqlite3.connect(tmp_path / "lab-quick" / "results.sqlite")) as database, database:
        database.execute("UPDATE pictures SET status = 'refused', seconds = 99 WHERE item = 'b'")
    runs[1] = open_run(tmp_path / "lab-quick")
    assert texts(tables(*runs)["seconds per image"]) == [
        ["lab/slow", "2", "3.00", "3.00", "6.0"],
        ["lab/quick", "1", "0.25", "0.25", "0.2"],
    ]
    (section,) = compare(runs, references=True).sections
    beside = next(table for table in section.tables if table.name == "seconds per image")
    assert ["SDXL Turbo (published)", "–", "0.34", "–", "–"] in texts(beside)
    assert len(beside.rows) == 2 + 8


def test_an_object_alone_is_level_0(tmp_path: Path) -> None:
    items = [concept_item("a", ("object", "cat")), concept_item("b", ("object", "dog")), *ITEMS[2:4]]
    answers: dict[str, Answers] = {"a": [True], "b": [False], "c": [True, True], "d": [True, True]}
    found = tables(concept_run(tmp_path / "run", "lab/one", items, answers))
    assert heads(found["full mark"]) == ("run", "k 0", "k 1", "scored")
    assert texts(found["full mark"])[0][1].startswith(".50")
    assert texts(found["concept fraction"])[0][1].startswith(".50")


def test_the_published_code_weighs_questions_and_the_paper_images() -> None:
    run = in_memory({"a": (1, [True]), "b": (1, [True, False, False, False])})
    assert texts(tables(run)["concept fraction"])[0][1].startswith(".62 ±")  # (1 + 1/4) / 2
    assert texts(tables(run, profile="official-code")["concept fraction"])[0][1].startswith(".40 ±")  # 2 of 5
    assert "published code" in tables(run, profile="official-code")["concept fraction"].notes[0]


def test_verdicts_that_do_not_go_into_concepts_are_no_answers(tmp_path: Path) -> None:
    """An image that passes shows everything; of one that just fails, nobody knows what it lacks."""
    complete: dict[str, Answers] = {**ANSWERS, "d": [True, True]}
    some = concept_run(tmp_path / "some", "lab/some", ITEMS, complete, silent=["a", "b"])
    assert texts(tables(some)["concept fraction"])[0][1:] == [".83 ± .59† ↓.62 ↑.88", ".83 ± .69", "5/6"]
    with pytest.raises(FormalimgError, match="on 1 image of lab/some do not say which concepts are shown"):
        tables(some, missing="error")
    none = concept_run(tmp_path / "none", "lab/none", ITEMS, complete, silent=list(complete))
    assert set(tables(none, missing="error")) == {"full mark", "prompt length", "seconds per image"}


def test_images_that_fail_by_rule_show_none_of_their_concepts(tmp_path: Path) -> None:
    """Else a model could raise its concept fraction by empty images."""
    complete: dict[str, Answers] = {**ANSWERS, "d": [True, True]}
    empty = {name: [False] * len(answers) for name, answers in complete.items()}
    without_parts = concept_run(
        tmp_path / "plain", "lab/one", ITEMS, {**complete, "a": empty["a"], "f": empty["f"]}, COSTS
    )
    flat = concept_run(tmp_path / "flat", "lab/one", ITEMS, complete, COSTS, flat=["a", "f"])
    with_flat, without = tables(flat, missing="error"), tables(without_parts, missing="error")
    for name in ("full mark", "concept fraction", "categories", "values"):
        assert texts(with_flat[name]) == texts(without[name])
    assert texts(with_flat["cost of grading"])[0][1] == "4", "nobody was asked about the others"
    all_flat = tables(concept_run(tmp_path / "all", "lab/one", ITEMS, complete, flat=[item.id for item in ITEMS]))
    assert texts(all_flat["concept fraction"]) == [["lab/one", ".00 ± .60", ".00 ± .84", "6/6"]]


def test_several_images_of_an_item_are_taken_together(tmp_path: Path) -> None:
    run = concept_run(tmp_path / "two", "lab/two", ITEMS, ANSWERS, samples=2)
    found = tables(run)
    assert texts(found["concept fraction"])[0][1:] == [
        ".67 ± .47† ↓.50 ↑.75",
        ".83 ± .69",
        "10/12",
    ]  # no surer than with one


def test_runs_stand_below_each_other_and_prompts_are_told_once(run: StoredRun, tmp_path: Path) -> None:
    better = concept_run(tmp_path / "b", "lab/better", ITEMS, {item.id: [True] * (item.level + 1) for item in ITEMS})
    found = tables(run, better)
    assert [line[:2] for line in texts(found["categories"])][:2] == [["object", "lab/one"], ["object", "lab/better"]]
    assert texts(found["concept fraction"])[1] == ["lab/better", "1.00 ± .60", "1.00 ± .84", "6/6"]  # as 4 of 4, 2 of 2
    assert len(found["prompt length"].rows) == 4
    assert "run" not in heads(found["prompt length"])


def test_nothing_judged_yet_leaves_the_prompts_to_be_told(tmp_path: Path) -> None:
    run = concept_run(tmp_path / "none", "lab/none", ITEMS, {item.id: "judge failed" for item in ITEMS})
    assert set(tables(run)) == {"prompt length", "seconds per image"}
    assert texts(tables(run, missing="fail")["concept fraction"]) == [
        ["lab/none", ".00 ± .60† ↓.00 ↑1.00", ".00 ± .84† ↓.00 ↑1.00", "0/6"]
    ]


def test_suites_of_formulas_have_no_such_tables() -> None:
    run = in_memory({"a": (1, [True, False])})
    knolling = replace(run, manifest=card_of("m"))
    assert compare([knolling]).sections[0].tables == ()


def test_published_figures_stand_in_the_tables_they_belong_to(run: StoredRun) -> None:
    (section,) = compare([run], references=True).sections
    found = {table.name: table for table in section.tables}
    full = {line[0]: line[1:] for line in texts(found["full mark"])}
    assert full["DALL-E 3, by GPT-4o"][:2] == [".83 ± .05", ".61 ± .06"]
    assert full["DALL-E 3, by Deepseek-vl-7b-chat"][6:] == [".18 ± .05", "published"]
    assert full["lab/one"][2:] == ["–"] * 5 + ["5/6"]
    fractions = {line[0]: line[1:] for line in texts(found["concept fraction"])}
    assert fractions["SD v1.4, by GPT-4o"][6] == ".36 ± .02"
    assert len(fractions) == 9
    assert "ConceptMix, Table 9" in found["concept fraction"].notes[0]
    assert [row.name for row in section.published] == [row.name for row in reference_rows("conceptmix")]
    assert section.published[7].rates[3] == 0.5


@pytest.mark.parametrize("figure", ["rate", "concept fraction"])
def test_published_figures_are_whole_and_fall_with_k(figure: str) -> None:
    rows = reference_rows("conceptmix", figure)  # type: ignore[arg-type]
    assert len(rows) == (16 if figure == "rate" else 8)
    for row in rows:
        assert list(row.rates) == list(row.margins) == list(range(1, 8))
        assert list(row.rates.values()) == sorted(row.rates.values(), reverse=True)
        assert all(0 < margin < 0.07 for margin in row.margins.values())


@pytest.mark.parametrize("row", reference_rows("conceptmix"), ids=lambda row: row.name)
def test_our_margin_of_a_published_rate_is_the_printed_one(row: object) -> None:
    """The paper has 300 images for each k, and prints the larger side of the exact interval."""
    assert isinstance(row, type(reference_rows("conceptmix")[0]))
    for level, rate in row.rates.items():
        ours = Number(rate, clopper_pearson(round(300 * rate), 300))
        share = Column("", "share")
        assert cell_text(ours, share) == cell_text(Number(rate, margin=row.margins[level]), share)


@given(st.dictionaries(st.text("abc", min_size=1), st.tuples(st.integers(1, 3), st.lists(st.booleans(), min_size=1))))
def test_counts_are_those_of_the_answers(plan: dict[str, tuple[int, list[bool]]]) -> None:
    if not plan:
        return
    found = tables(in_memory(plan))
    ((_, asked, answered, shown, _),) = texts(found["categories"])
    assert int(asked) == int(answered) == sum(len(answers) for _, answers in plan.values())
    assert int(shown) == sum(sum(answers) for _, answers in plan.values())
    fractions = [cell for cell in found["concept fraction"].rows[0].cells if isinstance(cell, Number)]
    for level, figure in zip(sorted({level for level, _ in plan.values()}), fractions, strict=True):
        shares = [sum(answers) / len(answers) for at, answers in plan.values() if at == level]
        assert figure.value == pytest.approx(sum(shares) / len(shares))
        expected = fraction_interval(shares)
        assert expected is not None
        assert figure.interval == pytest.approx(expected)
        mean = sum(shares) / len(shares)
        assert figure.margin == pytest.approx(max(mean - expected.low, expected.high - mean))


def in_memory(plan: dict[str, tuple[int, list[bool]]]) -> DrawnRun:
    """A run that is over what items ask, with colours alone: for each item its level and answers."""
    judged = []
    for name, (level, answers) in plan.items():
        parts = tuple(Part("Is it red?", "color", float(answer), about=("red",)) for answer in answers)
        verdict = Verdict(all(answers), parts)
        judged.append(Judged(outcome_of(name, level, verdict), 0, None, {}, verdict))
    items = {name: PlannedItem(name, level, "a red object", "", ()) for name, (level, _) in plan.items()}
    return DrawnRun(Path("runs/memory"), card_of("m", suite="conceptmix"), items, tuple(judged))
