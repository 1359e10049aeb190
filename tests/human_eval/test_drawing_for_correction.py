"""Studies that correct a judge: drawn at random over levels and judge answers, and grown where labels tell most."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.human_eval.correction import CorrectionSample
from formalimg.human_eval.manifest import read_study_manifest
from formalimg.human_eval.ratings import human_labels
from formalimg.human_eval.records import read_study
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import NewStudy, create_study
from formalimg.human_eval.study_extension import add_images, finish_growth
from formalimg.runs.reader import open_run
from tests.human_eval.labelled_runs import is_right, lenient_run, rate_truly, said_yes
from tests.human_eval.rated_runs import opened
from tests.support.values import not_none

UNREAD = frozenset({"3", "60"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lenient_run(tmp_path_factory.mktemp("runs") / "lenient", 120, unread=UNREAD)


def _made(run: Path, study: Path, labels: int = 40, **how: object) -> NewStudy:
    settings = {"raters": 1, "per_image": 1, **how}
    with opened(run) as runs:
        return create_study(study, runs, "likert", labels=labels, **settings)  # type: ignore[arg-type]


def _sample(study: Path) -> CorrectionSample:
    found = read_study_manifest(study).correction
    assert isinstance(found, CorrectionSample)
    return found


@pytest.fixture
def study(run: Path, tmp_path: Path) -> Path:
    return _made(run, tmp_path / "study").folder


def test_images_are_drawn_by_level_and_answer_and_the_manifest_tells_how_likely(run: Path, study: Path) -> None:
    sample = _sample(study)
    assert (sample.judge, sample.labels, len(sample.images)) == ("test/lenient", 40, 40)
    assert not {image.item for image in sample.images} & UNREAD  # nothing to correct without a verdict
    assert all(image.judge == said_yes(image.item) for image in sample.images)
    drawn = Counter((image.level, image.judge) for image in sample.images)
    with closing(open_run(run)) as opened_run:
        there = Counter((it.level, it.passed) for it in opened_run.outcomes() if it.passed is not None)
    assert {(cell.level, cell.judge): (cell.images, cell.drawn) for cell in sample.cells} == {
        cell: (images, drawn[cell]) for cell, images in there.items()
    }
    assert {image.probability for image in sample.images} == {
        round(drawn[image.level, image.judge] / there[image.level, image.judge], 9) for image in sample.images
    }
    assert {(task.item, task.sample) for task in read_study(study).tasks} == {
        (image.item, image.sample) for image in sample.images
    }


def test_the_seed_decides_which_images(run: Path, study: Path, tmp_path: Path) -> None:
    assert _sample(_made(run, tmp_path / "same").folder) == _sample(study)
    assert _sample(_made(run, tmp_path / "other", seed=1).folder).images != _sample(study).images


def test_more_labels_are_more_precise_and_all_are_enough(run: Path, tmp_path: Path) -> None:
    precision = not_none(_made(run, tmp_path / "study").precision)
    assert list(precision.others) == [20, 80]
    assert precision.others[20] > precision.half_width > precision.others[80] > 0
    everything = _made(run, tmp_path / "all", labels=500)
    assert everything.precision is not None
    assert everything.precision.labels == len(_sample(everything.folder).images) == 120 - len(UNREAD)


def test_further_images_come_where_people_disagree_and_links_stay(run: Path, tmp_path: Path) -> None:
    made = _made(run, tmp_path / "study", raters=2, per_image=1)
    with open_study(made.folder) as study:
        first = rate_truly(study, "rater-1") + rate_truly(study, "rater-2", 5)
    before = _sample(made.folder)
    grown = add_images(made.folder, 30)
    assert (grown.added, grown.images, grown.labelled) == (30, 70, first)
    after = _sample(made.folder)
    old = {(it.item, it.sample) for it in before.images}
    assert [(it.item, it.batch) for it in after.images[:40]] == [(it.item, it.batch) for it in before.images]
    assert {it.batch for it in after.images[40:]} == {2}
    assert not {(it.item, it.sample) for it in after.images[40:]} & old
    assert grown.precision is not None
    assert grown.precision.half_width < grown.precision.others[first]
    counts = Counter((it.level, it.judge) for it in after.images)
    assert {it.probability for it in after.images} == {
        round(counts[cell.level, cell.judge] / cell.images, 9) for cell in after.cells if cell.drawn
    }
    with open_study(made.folder) as study:
        assert {study.rater_of(link): link for link in made.links.values()} == made.links
        assert [(it.finished, it.of) for it in study.progress()] == [(20, 35), (5, 35)]
        assert rate_truly(study, "rater-1") + rate_truly(study, "rater-2") == 70 - first
    with opened(run) as runs:
        (labels,) = human_labels(made.folder, runs).values()
    assert {image.item: yes for image, yes in labels.passed.items()} == {
        it.item: is_right(it.item) for it in after.images
    }
    assert (labels.assumed, labels.refused, labels.notes) == (False, "", ())


def test_a_growth_that_was_interrupted_is_finished_and_nothing_is_lost(run: Path, study: Path, tmp_path: Path) -> None:
    with open_study(study) as answering:
        rate_truly(answering, "rater-1", 10)
    shutil.copy(study / "ratings.sqlite", tmp_path)
    add_images(study, 30)
    shutil.copy(tmp_path / "ratings.sqlite", study)  # as if it had ended between the manifest and the tasks
    assert (len(_sample(study).images), len(read_study(study).tasks)) == (70, 40)
    with opened(run) as runs:  # can be read meanwhile
        (labels,) = human_labels(study, runs).values()
    assert len(labels.passed) == 10
    grown = add_images(study, 30)  # the same command again
    assert (grown.added, grown.images, grown.precision) == (30, 70, None)
    assert finish_growth(study) == 0
    with open_study(study) as answering:
        assert rate_truly(answering, "rater-1") == 60


def test_further_images_are_the_same_each_time_and_more_where_the_judge_is_unsure(study: Path, tmp_path: Path) -> None:
    with open_study(study) as answering:
        rate_truly(answering, "rater-1")
    shutil.copytree(study, tmp_path / "copy")
    for folder in (study, tmp_path / "copy"):
        add_images(folder, 30)
    assert _sample(study) == _sample(tmp_path / "copy")
    further = Counter(it.judge for it in _sample(study).images if it.batch > 1)
    assert further[True] > further[False]  # half of what it passes is wrong


def test_nothing_is_added_that_is_not_there(study: Path) -> None:
    assert add_images(study, 1000).images == 120 - len(UNREAD)
    with pytest.raises(FormalimgError, match="every judged image is already in the study"):
        add_images(study, 1)


def test_what_cannot_be_drawn_is_told_in_one_line(run: Path, study: Path, tmp_path: Path) -> None:
    unjudged = lenient_run(tmp_path / "unjudged", 4, judge=False)
    with opened(unjudged) as runs, pytest.raises(FormalimgError, match="nobody has judged the images of "):
        create_study(tmp_path / "new", runs, "likert", raters=1, per_image=1, labels=2)
    with pytest.raises(FormalimgError, match="leave out --per-level and --borderline"):
        _made(run, tmp_path / "new", per_level=2)
    with opened(run, unjudged) as runs, pytest.raises(FormalimgError, match="nobody has judged the images of "):
        create_study(tmp_path / "new", runs, "likert", raters=1, per_image=1, labels=2)
    with opened(run) as runs, pytest.raises(FormalimgError, match="boxes are no labels"):
        create_study(tmp_path / "new", runs, "boxes", raters=1, per_image=1, labels=2)
    with opened(run) as runs:
        plain = create_study(tmp_path / "plain", runs, "likert", raters=1, per_image=1, per_level=2)
    with pytest.raises(FormalimgError, match="was not drawn to correct a judge"):
        add_images(plain.folder, 2)
    with open_study(study), pytest.raises(FormalimgError, match="already taking answers"):
        add_images(study, 2)
    assert not (tmp_path / "new").exists()


def test_a_damaged_sample_is_said(study: Path) -> None:
    text = (study / "study.toml").read_text(encoding="utf-8")
    assert "# item, sample, level, judge, probability, batch" in text
    for broken in (text.replace("true, ", "1, ", 1), text.replace('judge = "', 'judges = "', 1)):
        (study / "study.toml").write_text(broken, encoding="utf-8")
        with pytest.raises(FormalimgError, match="damaged: correction is missing or invalid"):
            read_study_manifest(study)


def test_images_of_attention_checks_are_not_drawn_later(run: Path, tmp_path: Path) -> None:
    made = _made(run, tmp_path / "study", labels=30, checks=0.3)
    checks = {(task.item, task.sample) for task in read_study(made.folder).tasks if task.is_check}
    drawn = {(it.item, it.sample) for it in _sample(made.folder).images}
    grown = add_images(made.folder, 1000)
    assert checks - drawn
    assert grown.images == 120 - len(UNREAD) - len(checks - drawn - {(item, 0) for item in UNREAD})
    assert not {(it.item, it.sample) for it in _sample(made.folder).images} & (checks - drawn)


def test_a_sample_keeps_its_counts_when_it_grows() -> None:
    sample = CorrectionSample("j", 2, (), ()).grown({(1, True): 4, (1, False): 2}, [("a", 0, (1, True))])
    assert [(cell.images, cell.drawn) for cell in sample.cells] == [(2, 0), (4, 1)]
    more = replace(sample, labels=2).grown({(1, True): 4, (1, False): 2}, [("b", 0, (1, True)), ("c", 1, (1, False))])
    assert [image.probability for image in more.images] == [0.5, 0.5, 0.5]
    assert [image.batch for image in more.images] == [1, 2, 2]
