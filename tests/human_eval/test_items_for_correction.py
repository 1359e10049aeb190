"""Studies that label the same items in several runs: how they are drawn, grown and reported."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from formalimg.benchmarks.registry import suite
from formalimg.cli.commands import app
from formalimg.errors import FormalimgError
from formalimg.human_eval.assignment import Candidate
from formalimg.human_eval.correction import ItemFrame, ItemSample, draw_items, draw_more_items
from formalimg.human_eval.manifest import read_study_manifest
from formalimg.human_eval.ratings import human_labels
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.human_eval.study_extension import add_images, finish_growth
from formalimg.runs.execution import judge_run
from formalimg.stats.corrected_difference import estimate_corrected_difference
from formalimg.stats.corrected_summary import LabelledObservation, summarize_corrected
from formalimg.types import Verdict
from tests.human_eval.compared_runs import RATES, compared_run, is_right, rate_truly
from tests.human_eval.rated_runs import opened
from tests.support.models import NumberJudge
from tests.support.sizes import tries
from tests.support.values import not_none

UNREAD = frozenset({"3", "60"})
NAMES = ("ada", "bea", "cat")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    home = tmp_path_factory.mktemp("work") / "runs"
    return [compared_run(home / name, unread=UNREAD if name == "cat" else frozenset()) for name in (*NAMES, "dot")]


def _made_of_items(runs: list[Path], study: Path, labels: int = 24, **how: object) -> NewStudy:
    settings = {"raters": 1, "per_image": 1, **how}
    with opened(*runs) as opened_runs:
        return create_study(study, opened_runs, "likert", labels=labels, **settings)  # type: ignore[arg-type]


def _item_sample(study: Path) -> ItemSample:
    sample = read_study_manifest(study).correction
    assert isinstance(sample, ItemSample)
    return sample


@pytest.fixture
def study(runs: list[Path], tmp_path: Path) -> Path:
    made = _made_of_items(runs[:3], tmp_path / "study")
    with open_study(made.folder) as answering:
        assert rate_truly(answering, "rater-1") == 72
    return made.folder


def _report(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["report", *map(str, words), "--format", "json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    (section,) = json.loads(done.stdout)["sections"]
    return dict(section)


def _table(section: dict[str, Any], name: str) -> dict[str, list[Any]]:
    (table,) = [table for table in section["tables"] if table["name"] == name]
    return {row["cells"][0]: row["cells"][1:] for row in table["rows"]}


def test_the_same_items_are_drawn_for_all_runs_and_the_manifest_tells_how_likely(study: Path) -> None:
    sample = _item_sample(study)
    assert sum(level.drawn for level in sample.levels) == len(sample.items) == sample.labels == 24
    assert {level.level: level.items for level in sample.levels} == dict.fromkeys(range(1, 5), 20)
    drawn = Counter(item.level for item in sample.items)
    assert all(item.probability == drawn[item.level] / 20 and item.runs == (0, 1, 2) for item in sample.items)
    assert {(task.run, task.item, task.sample) for task in read_study(study).tasks} == {
        (run, item.item, item.sample) for run in NAMES for item in sample.items
    }


def test_one_sample_of_each_item_is_labelled_in_all_runs(tmp_path: Path) -> None:
    folders = [compared_run(tmp_path / name, 12, samples=3) for name in NAMES[:2]]
    sample = _item_sample(_made_of_items(folders, tmp_path / "study", 9).folder)
    assert len({item.item for item in sample.items}) == 9
    assert {item.sample for item in sample.items} == {0, 1, 2}
    tasks = Counter((task.item, task.sample) for task in read_study(tmp_path / "study").tasks)
    assert (set(tasks.values()), len(tasks)) == ({2}, 9)


def test_the_images_of_an_item_go_to_the_same_rater(runs: list[Path], tmp_path: Path) -> None:
    made = _made_of_items(runs[:3], tmp_path / "study", raters=4)
    raters: dict[str, set[str]] = {}
    for task in read_study(made.folder).tasks:
        raters.setdefault(task.item, set()).add(task.rater)
    assert {len(own) for own in raters.values()} == {1}


def test_the_seed_decides_which_items(runs: list[Path], tmp_path: Path) -> None:
    first = _item_sample(_made_of_items(runs[:2], tmp_path / "first").folder)
    assert _item_sample(_made_of_items(runs[:2], tmp_path / "same").folder) == first
    assert _item_sample(_made_of_items(runs[:2], tmp_path / "other", seed=1).folder).items != first.items


def test_more_items_narrow_what_is_not_certain_and_links_stay(runs: list[Path], study: Path) -> None:
    before = _item_sample(study)
    grown = add_images(study, 20)
    assert grown.draw is not None
    assert (grown.added, grown.images, grown.labelled) == (20, 44, 24)
    after = _item_sample(study)
    assert [item.item for item in after.items[:24]] == [item.item for item in before.items]
    assert {item.batch for item in after.items[24:]} == {2}
    assert len({item.item for item in after.items}) == 44
    counts = Counter(item.level for item in after.items)
    assert all(item.probability == counts[item.level] / 20 for item in after.items)
    for outlook in grown.draw.outlooks:
        assert outlook.half_width < not_none(outlook.now)
    with open_study(study) as answering:
        assert rate_truly(answering, "rater-1") == 60  # with the link that the rater has
    with opened(*runs[:3]) as opened_runs:
        labels = human_labels(study, opened_runs)
    for run, own in zip(NAMES, (labels[folder.resolve()] for folder in runs[:3]), strict=True):
        assert {image.item: yes for image, yes in own.passed.items()} == {
            item.item: is_right(run, item.item) for item in after.items
        }
        assert (own.assumed, own.drawn_by, own.drawn_by_item, own.notes) == (False, None, True, ())


def test_an_interrupted_growth_is_finished(study: Path, tmp_path: Path) -> None:
    shutil.copy(study / "ratings.sqlite", tmp_path)
    add_images(study, 10)
    shutil.copy(tmp_path / "ratings.sqlite", study)  # as if it had ended between the manifest and the tasks
    assert (finish_growth(study), finish_growth(study)) == (10, 0)
    with open_study(study) as answering:
        assert rate_truly(answering, "rater-1") == 30


def test_nothing_is_added_that_is_not_there(study: Path) -> None:
    assert add_images(study, 1000).images == 80
    with pytest.raises(FormalimgError, match="every item is already in the study"):
        add_images(study, 1)


def test_a_report_may_be_about_fewer_or_more_runs(runs: list[Path], study: Path) -> None:
    fewer = _report(*runs[:2], "--human", study)
    rates = _table(fewer, "by people")
    assert {name: cells[-1]["value"] for name, cells in rates.items()} == {"secret/ada": 24, "secret/bea": 24}
    assert f"{study} labels cat as well, which this report is not about." in json.dumps(fewer, ensure_ascii=False)
    assert "paired differences" in {table["name"] for table in fewer["tables"]}
    more = _report(*runs, "--human", study)
    assert [*_table(more, "by people")] == ["secret/ada", "secret/bea", "secret/cat"]
    assert "Rates of secret/dot are the judge's, without human labels" in more["caption"]
    alone = _report(runs[0], "--human", study)
    assert _table(alone, "by people")["secret/ada"][-1]["value"] == 24
    with pytest.raises(FormalimgError, match="is about ada, bea, cat: name at least one of these runs"):
        _report(runs[3], "--human", study)


def test_people_decide_by_the_items_that_both_runs_share(runs: list[Path], study: Path) -> None:
    add_images(study, 1000)
    with open_study(study) as answering:
        rate_truly(answering, "rater-1")
    section = _report(*runs[:2], "--human", study)
    (claim,) = [table for table in section["tables"] if table["name"] == "paired differences"]
    truth = sum(is_right("ada", str(n)) - is_right("bea", str(n)) for n in range(80)) / 80
    difference = next(cell for cell in claim["rows"][0]["cells"] if isinstance(cell, dict) and cell.get("interval"))
    assert difference["value"] == pytest.approx(truth, abs=1e-9)  # every item is labelled
    low, high = difference["interval"]
    assert low <= RATES["ada"] - RATES["bea"] <= high


def test_labels_of_items_hold_for_another_judge(runs: list[Path], tmp_path: Path) -> None:
    folders = [compared_run(tmp_path / name, 40) for name in NAMES[:2]]
    made = _made_of_items(folders, tmp_path / "study", 30)
    with open_study(made.folder) as answering:
        rate_truly(answering, "rater-1")
    for folder in folders:
        judge_run(folder, NumberJudge(name="test/strict", verdict=lambda item, image: Verdict(passed=False)))
    section = _report(*folders, "--human", made.folder)
    assert [cells[-1]["value"] for cells in _table(section, "by people").values()] == [30, 30]


def test_what_cannot_be_drawn_is_told_in_one_line(runs: list[Path], study: Path, tmp_path: Path) -> None:
    other = compared_run(tmp_path / "dot", 40)
    with pytest.raises(FormalimgError, match=r"item 10 of .*/dot is not that of .*/ada: name runs of the same items"):
        _made_of_items([runs[0], other], tmp_path / "new")
    unread = compared_run(tmp_path / "bea", unread=frozenset(map(str, range(78))))
    with pytest.raises(FormalimgError, match="ada and bea share fewer than 3 judged items"):
        _made_of_items([runs[0], unread], tmp_path / "new")
    with pytest.raises(FormalimgError, match="2 labelled items are too few to estimate a difference: use at least 3"):
        _made_of_items(runs[:2], tmp_path / "new", 2)
    with pytest.raises(FormalimgError, match="leave out --per-level and --borderline"):
        _made_of_items(runs[:2], tmp_path / "new", per_level=2)
    assert not (tmp_path / "new").exists()
    text = (study / "study.toml").read_text(encoding="utf-8")
    assert "# item, sample, level, probability, batch, runs" in text
    for broken in (re.sub(r"\[0, 1, 2\]", '["0"]', text, count=1), text.replace("levels = [\n", "level = [\n", 1)):
        (study / "study.toml").write_text(broken, encoding="utf-8")
        with pytest.raises(FormalimgError, match="damaged: correction is missing or invalid"):
            read_study_manifest(study)


# --- the draw as a random sample


def _world(rng: random.Random, per_level: int) -> dict[Candidate, tuple[bool, bool]]:
    images = {}
    for level in range(1, 5):
        for number in range(per_level):
            hard = rng.random() < 0.5  # for all runs alike
            for run in NAMES:
                right = rng.random() < RATES[run] + (0.15 if hard else -0.15)
                said = right or rng.random() < (0.5 if run == "bea" else 0.15)
                images[Candidate(run, f"{level}-{number}", 0, level)] = (said, right)
    return images


def _draws(repetitions: int, per_level: int, labels: int, more: int) -> Iterator[tuple[Any, Any, Any]]:
    for number in range(repetitions):
        rng = random.Random(number)
        images = _world(rng, per_level)
        frame = ItemFrame.of(NAMES, suite("knolling"), {it: said for it, (said, _) in images.items()}, number)
        sample = draw_items(frame, labels, rng).sample
        said = {(it.run, it.item, 0): images[it][1] for row in sample.items for it in frame.items[row.item]}
        yield frame, draw_more_items(frame, sample, said, more, (), rng).sample, images


def test_the_stored_probabilities_are_those_of_the_draw() -> None:
    """Of items in a level of 6 of which n are drawn, a fixed one is drawn as often as its stored probability says."""
    drawn, promised, times = 0, 0.0, tries(300, 3000)
    for _, sample, _ in _draws(times, 6, 8, 6):
        shares = {level.level: level.drawn / level.items for level in sample.levels}
        assert all(row.probability == pytest.approx(shares[row.level]) for row in sample.items)
        drawn += any(row.item == "2-4" for row in sample.items)
        promised += shares[2]
    assert abs(drawn - promised) < 3 * (times / 4) ** 0.5


def test_differences_and_rates_hold_the_truth_after_a_growth() -> None:
    """Where more items are drawn is decided by the labels; intervals hold the truth in 93 % of cases all the same."""
    held, rates, count = Counter[tuple[str, str]](), Counter[str](), tries(80, 1000)
    for frame, sample, images in _draws(count, 30, 40, 30):
        said = {(it.run, it.item, 0): images[it][1] for row in sample.items for it in frame.items[row.item]}
        for pair, items in frame.pairs(said).items():
            found = not_none(estimate_corrected_difference(items, frame.levels))
            assert found.interval is not None
            truth = RATES[pair[0]] - RATES[pair[1]]
            held[pair] += found.interval.low <= truth <= found.interval.high
        for run in NAMES:
            seen = [
                LabelledObservation(it.item, it.level, judge, said.get((run, it.item, 0)))
                for it, (judge, _) in images.items()
                if it.run == run
            ]
            rate = not_none(summarize_corrected(seen, bands={}, epsilon=None).overall)
            rates[run] += rate.low <= RATES[run] <= rate.high
    assert sum(held.values()) / 3 / count >= 0.93
    assert sum(rates.values()) / 3 / count >= 0.93
    assert min(*held.values(), *rates.values()) / count >= 0.90
