"""What a report says in words: from the numbers of its tables, and no more than they carry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.agreement.rated_images import ImageName
from formalimg.reports.comparison import compare
from formalimg.reports.findings import Findings, collect_findings
from formalimg.reports.report import render
from formalimg.reports.tables.model import Number
from formalimg.runs.reader import open_run
from formalimg.stats.observations import MissingPolicy
from tests.reports.counterfactual_runs import Scores, groups_of, judge_by, scored_run
from tests.reports.drawn_runs import DrawnRun, Fates, plain_run


def _run(model: str, passing: int, *, refused: int = 0, **manifest: object) -> DrawnRun:
    """Ten levels of eight items, so many of which pass; the last ones are refused."""
    ends: Fates = {
        level: [*(n < passing for n in range(8 - refused)), *(["refused"] * refused)]  # type: ignore[list-item]
        for level in range(1, 11)
    }
    return plain_run(model, ends, **manifest)


def _found(*runs: DrawnRun, baseline: Path | None = None) -> Findings:
    comparison = compare(runs, baseline=baseline)
    return collect_findings(comparison.sections[0], comparison)


def _lines(found: Findings, question: str) -> tuple[str, ...]:
    return next((one.lines for one in found.answers if one.question == question), ())


def test_the_better_run_is_named_with_the_numbers_of_the_table() -> None:
    runs = [_run("bad", 3), _run("good", 6)]
    found = _found(*runs)
    assert found.headline.startswith("By icons, good is ahead of bad: +37.5 points (+")
    assert found.headline.endswith(", Overall).")
    line, public = _lines(found, "Is it certain?")
    (section,) = compare(runs).sections
    (table,) = [one for one in section.tables if one.name == "paired differences"]
    assert section.pairs[0].found.estimate == -0.375  # the table has it the other way round
    assert line.startswith("good minus bad: +37.5 points (95 % interval +")
    assert line.endswith("it would vanish if icons failed right images of bad 50 points more often than of good")
    assert "21–34 points apart between models" in public
    assert table.rows[0].cells[:2] == ("bad", "good")
    assert _lines(found, "What fails") == (
        "bad: object clauses 62 % (50 of 80); by predicate: Is 62 % (50 of 80)",
        "good: object clauses 25 % (20 of 80); by predicate: Is 25 % (20 of 80)",
    )
    assert not _lines(found, "Not scored")


def test_runs_that_cannot_be_told_apart_are_not_ranked() -> None:
    even = {level: [True, False] for level in range(1, 11)}
    odd = {level: [level % 2 == 0, level % 2 == 1] for level in range(1, 11)}
    found = _found(plain_run("a", even), plain_run("b", odd))
    assert found.headline == "By icons, a and b cannot be told apart."
    assert "not told apart" in _lines(found, "Is it certain?")[0]
    same = _found(plain_run("a", even), plain_run("b", even))
    assert same.headline == "By icons, a and b cannot be told apart."
    three = _found(_run("a", 6), _run("c", 1), _run("b", 6))
    assert three.headline == "By icons, a is ahead of c, and cannot be told apart from b."


def test_with_several_runs_the_next_one_is_named() -> None:
    found = _found(_run("fair", 4), _run("bad", 1), _run("good", 6))
    assert found.headline.startswith("By icons, good is ahead of all others; the next is fair: +25.0 points (+")
    against = _found(_run("fair", 4), _run("bad", 1), _run("good", 6), baseline=Path("runs/fair"))
    assert against.headline == "By icons, compared with fair: good is ahead; bad is behind."


def test_ceiling_and_floor_are_measures_and_no_contenders() -> None:
    found = _found(_run("builtin/oracle", 8), _run("lab/model", 6), _run("builtin/scatter", 1))
    assert found.headline.startswith("By icons, lab/model passes 75.0 % (")
    assert found.headline.endswith(" overall and at least 70 % up to K 10 (0–10).")
    (certainty,) = _lines(found, "Is it certain?")
    assert certainty.endswith("With one run there is nothing to compare.")
    assert all("lab/model" in line for line in _lines(found, "What fails"))
    with_reader = _found(_run("builtin/reader", 7), _run("lab/model", 6))
    assert with_reader.headline.startswith("By icons, lab/model passes 75.0 % (")
    asked = _found(_run("builtin/oracle", 8), _run("lab/a", 6), _run("b", 1), baseline=Path("runs/builtin/oracle"))
    assert "builtin/oracle minus lab/a: +25.0 points" in _lines(asked, "Is it certain?")[0]
    among_themselves = _found(_run("builtin/oracle", 8), _run("builtin/reader", 6), _run("builtin/scatter", 1))
    assert among_themselves.headline.startswith("By icons, builtin/reader passes 75.0 % (")


def test_a_difference_that_no_judge_could_explain_is_not_explained_away() -> None:
    lines = _lines(_found(_run("bad", 1), _run("good", 7)), "Is it certain?")
    assert len(lines) == 1
    assert "would vanish" not in lines[0]


def test_one_run_says_that_there_is_nothing_to_compare() -> None:
    found = _found(_run("only", 5))
    assert found.headline.startswith("By icons, only passes 62.5 % (")
    assert found.headline.endswith("and at least 70 % at no K (0–10).")
    assert _lines(found, "Is it certain?")[0].endswith("With one run there is nothing to compare.")


def test_what_is_not_scored_is_said_with_its_bounds() -> None:
    found = _found(_run("slow", 3, refused=2), _run("whole", 3))
    assert _lines(found, "Not scored") == (
        "slow: 20 of 80 images (20 refused); by the judge 37.5–62.5 % of all images, depending on these",
    )
    none = plain_run("new", {1: ["no image", "no image"]})
    assert _found(none).headline == "No image has a verdict yet."
    assert _found(none, _run("lab", 4)).headline.startswith("By icons, lab passes 50.0 %")


def test_runs_over_different_items_are_compared_with_care() -> None:
    other = plain_run("b", {1: [True] * 9}, digest="d2")
    found = _found(_run("a", 4), other)
    assert any("different items" in line for line in _lines(found, "With care"))


def test_scores_have_no_points_and_no_percent(tmp_path: Path) -> None:
    items = groups_of(8)
    good: dict[str, Scores] = {item.id: [1.0, 1.0, 0.8] for item in items}
    weak: dict[str, Scores] = {item.id: [0.5, 0.5, 0.5] for item in items}
    folders = [
        scored_run(tmp_path / name, items, judge_by(scores), model=f"lab/{name}")
        for name, scores in (("weak", weak), ("good", good))
    ]
    runs = [open_run(folder) for folder in folders]
    comparison = compare(runs)
    found = collect_findings(comparison.sections[0], comparison)
    assert found.headline.startswith("By test/scores, lab/good is ahead of lab/weak: +0.")
    assert found.headline.endswith(", all levels).")
    assert "questions without the full score 100 % (24 of 24)" in _lines(found, "What fails")[0]
    page = render(comparison, "html")
    assert found.headline in page
    assert "points" not in _lines(found, "Is it certain?")[0]
    for run in runs:
        run.close()


@pytest.mark.parametrize("count", [2, 9])
def test_the_page_says_it_first_and_the_settings_last(count: int) -> None:
    page = render(compare([_run(f"lab/{n}", n % 8) for n in range(count)]), "html")
    order = [page.index(text) for text in ('class="finding"', 'class="rates"', "<h2>Where it", "<h2>Runs and their")]
    assert order == sorted(order)
    assert ('class="strip"' in page) == (count <= 6)


def test_missing_verdicts_make_no_winner() -> None:
    """Both models pass half of the items; three of four failures of one are not scored."""
    even: Fates = {level: [True, True, True, True, False, False, False, False] for level in range(1, 11)}
    lost: Fates = {level: ["refused", "refused", "refused", True, False, True, True, True] for level in range(1, 11)}
    runs = [plain_run("a", even), plain_run("b", lost)]
    found = _found(*runs)
    assert found.headline == (
        "By icons, b and a cannot be told apart. Missing verdicts could overturn the difference of b and a: none is "
        "claimed."
    )
    line = _lines(found, "Is it certain?")[0]
    assert "b minus a: +60.0 points" in line
    assert line.endswith("0.0 to +37.5 by the judge over all images, depending on the missing verdicts")
    (section,) = compare(runs).sections
    assert section.ranks == ((1, 2), (1, 2))
    by_rule = compare(runs, missing="fail")
    assert collect_findings(by_rule.sections[0], by_rule).headline == (
        "By icons, a and b cannot be told apart. Images without a verdict (30) count as failures."
    )


def _labels(run: DrawnRun, passed: dict[str, bool]) -> dict[Path, RunLabels]:
    return {run.folder.resolve(): RunLabels("people.csv", {ImageName(item, 0): yes for item, yes in passed.items()})}


def test_people_decide_where_they_labelled_both_runs() -> None:
    """The judge passes most images of one model; people say that the other is better."""
    flattered, plain = _run("flattered", 7), _run("plain", 4)
    rejected = {item: n % 8 < 2 for n, item in enumerate(flattered.items)}
    accepted = {item: n % 8 < 4 for n, item in enumerate(plain.items)}
    labels = {**_labels(flattered, rejected), **_labels(plain, accepted)}
    comparison = compare([flattered, plain], labels=labels)
    (section,) = comparison.sections
    found = collect_findings(section, comparison)
    assert found.headline.startswith("By people, plain is ahead of flattered: +25.0 points (+")
    assert found.headline.endswith("; the judge alone says the opposite.")
    assert section.ranks == ((2, 2), (1, 1))
    assert "the judge alone: −37.5" in _lines(found, "Is it certain?")[0]
    (table,) = [one for one in section.tables if one.name == "by people"]
    assert [row.cells[0] for row in table.rows] == ["flattered", "plain"]
    alone = compare([flattered, plain], labels=_labels(plain, accepted))
    headline = collect_findings(alone.sections[0], alone).headline
    assert headline.startswith("By icons, flattered is ahead of plain: +37.5 points"), "only one run has labels"


@pytest.mark.parametrize("missing", ["exclude", "fail"])
def test_people_who_saw_what_the_judge_did_not_decide_by_that_too(missing: MissingPolicy) -> None:
    """Both models pass half of the items; three of four failures of one have no verdict, and people labelled all."""
    even: Fates = {level: [True, True, True, True, False, False, False, False] for level in range(1, 11)}
    lost: Fates = {level: ["refused", "refused", "refused", True, False, True, True, True] for level in range(1, 11)}
    runs = [plain_run("a", even), plain_run("b", lost)]
    right = [
        {f"{level}-{n}": end is True for level, ends in fates.items() for n, end in enumerate(ends)}
        for fates in (even, lost)
    ]
    comparison = compare(runs, labels={**_labels(runs[0], right[0]), **_labels(runs[1], right[1])}, missing=missing)
    (section,) = comparison.sections
    found = collect_findings(section, comparison)
    counted = " Images without a verdict (30) count as failures unless people labelled them."
    assert found.headline == (
        "By people, a and b cannot be told apart; the judge alone cannot tell either."
        f"{counted if missing == 'fail' else ''}"
    )
    assert section.ranks == ((1, 2), (1, 2))
    assert "a minus b: 0.0 points" in _lines(found, "Is it certain?")[0]
    (table,) = [one for one in section.tables if one.name == "by people"]
    (number,) = [row.cells[1] for row in table.rows if row.cells[0] == "b"]
    assert isinstance(number, Number)
    assert number.is_incomplete, "it is of the images with a verdict"


@pytest.mark.parametrize("missing", ["exclude", "fail"])
def test_nobody_labelled_what_has_no_verdict_and_nobody_wins(missing: MissingPolicy) -> None:
    even: Fates = {level: [True, True, True, True, False, False, False, False] for level in range(1, 11)}
    lost: Fates = {level: ["refused", "refused", "refused", True, False, True, True, True] for level in range(1, 11)}
    runs = [plain_run("a", even), plain_run("b", lost)]
    labels = {
        folder: of_run
        for run, fates in zip(runs, (even, lost), strict=True)
        for folder, of_run in _labels(
            run, {f"{k}-{n}": end for k, ends in fates.items() for n, end in enumerate(ends) if isinstance(end, bool)}
        ).items()
    }
    comparison = compare(runs, labels=labels, missing=missing)
    (section,) = comparison.sections
    headline = collect_findings(section, comparison).headline
    assert "cannot be told apart" in headline
    assert ("Missing verdicts could overturn the difference" in headline) == (missing == "exclude")
    assert section.ranks == ((1, 2), (1, 2))


def test_nobody_is_called_like_the_others_where_some_pair_differs() -> None:
    """The first has the highest rate of what is scored, and could have the lowest of all."""
    ends: Fates = {level: [*["refused"] * 6, True, True] for level in range(1, 11)}  # type: ignore[list-item]
    found = _found(plain_run("best", ends), _run("good", 7), _run("bad", 3))
    assert found.headline == (
        "By icons, good is ahead of bad, and cannot be told apart from best. Missing verdicts could overturn the "
        "difference of good and best: none is claimed."
    )


def test_the_interval_by_people_covers_errors_of_the_judge() -> None:
    run = _run("only", 5)
    comparison = compare([run], labels=_labels(run, dict.fromkeys(run.items, True)))
    found = collect_findings(comparison.sections[0], comparison)
    assert found.headline.startswith("By people (80 labels), only passes 100.0 % (")
    assert "the judge alone: 62.5" in found.headline
    assert "were drawn, and errors of the judge." in _lines(found, "Is it certain?")[0]


def test_a_run_with_missing_verdicts_says_so_first() -> None:
    assert _found(_run("slow", 3, refused=2)).headline.endswith(" 20 of 80 images have no verdict.")


@pytest.mark.parametrize("labelled", [False, True])
def test_the_page_shows_every_headline_number_with_its_interval_and_by_whom(labelled: bool) -> None:
    run = _run("only", 5)
    labels = _labels(run, dict.fromkeys(run.items, True)) if labelled else {}
    page = render(compare([run], labels=labels), "html")
    assert ('<p class="caption">Rates by K, by icons</p>' in page) == labelled
    strip = page.partition('class="strip"')[2].partition("</dl>")[0]
    ends = r" \(interval [0-9]+–[0-9]+\)"
    rate, held = r"% of images pass overall", "G, the highest K with at least 70 %"
    if labelled:
        assert re.search(
            rf"<b>100.0</b> {rate}{ends}, by people; the judge alone: 62.5.*<b>10</b> {held}{ends}, by people", strip
        ), strip
    else:
        assert re.search(rf"<b>62.5</b> {rate}{ends}</p>.*<b>0</b> {held}{ends}</p>", strip), strip


def test_ranks_by_the_judge_do_not_stand_beside_rates_by_people() -> None:
    """People labelled other items of the two runs, so their differences are unknown."""
    flattered, plain = _run("flattered", 7), _run("plain", 4)
    rejected = {item: False for n, item in enumerate(flattered.items) if n % 8 < 4}
    accepted = {item: True for n, item in enumerate(plain.items) if n % 8 >= 4}
    comparison = compare([flattered, plain], labels={**_labels(flattered, rejected), **_labels(plain, accepted)})
    (section,) = comparison.sections
    assert collect_findings(section, comparison).headline.startswith("By icons, flattered is ahead of plain")
    (table,) = [one for one in section.tables if one.name == "by people"]
    assert "rank" not in [column.head for column in table.columns]
    assert "rank by people" not in render(comparison, "md")
    assert any("fewer than three items are labelled in both, so the judge decides" in note for note in section.notes)
