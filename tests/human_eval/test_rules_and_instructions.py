"""Rules that are stated beforehand, attention checks by default, cannot tell, the way back, codes and instructions."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from formalimg.benchmarks.registry import suite_names
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import read_votes
from formalimg.human_eval.agreement.studies import study_human_ratings
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.human_eval.attention_checks import StudyRules, find_excluded, usual_checks
from formalimg.human_eval.manifest import read_study_manifest
from formalimg.human_eval.protocol import AnswerError, RatingProtocol, instructions_for
from formalimg.human_eval.ratings import human_ratings
from formalimg.human_eval.records import read_study, summarize_raters
from formalimg.human_eval.study import open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.human_eval.study_export import export_study, write_recruitment
from formalimg.runs.reader import StoredRun
from tests.human_eval.rated_runs import concept_items, opened, rated_run, take
from tests.support.values import not_none

ITEMS = concept_items(12)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    with opened(rated_run(tmp_path_factory.mktemp("runs") / "alpha", ITEMS)) as found:
        yield found


def test_checks_where_everybody_sees_everything_come_after_the_rating(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=3, per_image=3, checks=None, rules=StudyRules())
    assert made.checks == usual_checks(12, "likert") == 6
    assert read_study_manifest(made.folder).rules == StudyRules(0.1667, 0.0, 6, 0.4)
    by_id = {item.id: item for item in ITEMS}
    tasks = read_study(made.folder).tasks
    assert sum(task.is_check for task in tasks) == 18
    with open_study(made.folder) as study:
        for rater in made.links:
            seen: set[str] = set()
            words = {item.prompt: item for item in ITEMS}
            while (task := study.next_task(rater)) is not None:
                is_again = task.image in seen
                seen.add(task.image)
                study.answer(rater, task.id, "compliance", 1 if is_again else 5, 2)
                study.finish(rater, task.id)
                assert task.words in words
            assert len(seen) == 12
    for rated in read_study(made.folder).tasks:
        assert rated.answers["compliance"].value == (1 if rated.is_check else 5), "the check comes second"
        assert (by_id[rated.item].prompt != by_id[rated.words_of].prompt) == rated.is_check
    assert all(it.checks_passed == 6 and not it.excluded for it in summarize_raters(read_study(made.folder)))


def test_rules_exclude_as_stated() -> None:
    def rater(name: str, checks: int, passed: int, seconds: float | None = 9.0) -> RaterSummary:
        return RaterSummary(name, 20, 20, checks, passed, 100, seconds)

    raters = [
        rater("one of three", 3, 2),
        rater("two of three", 3, 1),
        rater("none seen", 0, 0),
        rater("fast", 3, 3, 0.4),
        rater("nothing done", 0, 0, None),
    ]
    assert find_excluded(raters, None) == {}
    assert [*find_excluded(raters, StudyRules(0.34))] == ["two of three"]
    assert find_excluded(raters, StudyRules(0.34, 1.0)) == {
        "two of three": "missed 2 of 3 attention checks",
        "fast": "median of 0.4 s for an image",
    }
    assert [*find_excluded(raters, StudyRules(0))] == ["one of three", "two of three"]
    for wrong in ((1.1, 0), (float("nan"), 0), (0.3, -1), (0.3, float("nan"))):
        with pytest.raises(FormalimgError):
            StudyRules(*wrong)


def test_a_study_whose_rules_exclude_all_says_so(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1, checks=None, rules=StudyRules())
    with open_study(made.folder) as study:
        take(study, "rater-1", lambda task, step: 5)
    with pytest.raises(FormalimgError, match="exclude every rater"):
        human_ratings(made.folder, runs)
    assert human_ratings(made.folder, runs, exclude_inattentive=1).points
    with pytest.raises(FormalimgError, match="only raters left out"):
        export_study(made.folder, tmp_path / "out")


@pytest.mark.parametrize("table", ["[rules]", "[rules]\nmax_missed_checks = 2\nmin_median_seconds = 0", "rules = 1"])
def test_damaged_rules_are_refused(runs: list[StoredRun], tmp_path: Path, table: str) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1)
    file = made.folder / "study.toml"
    before, _, after = file.read_text().partition("\n[[runs]]")
    file.write_text(f"{before}\n{table}\n\n[[runs]]{after}")
    with pytest.raises(FormalimgError, match="rules"):
        read_study_manifest(made.folder)


def test_cannot_tell_is_no_rating_and_is_counted(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=2, per_image=2)
    images = [item.id for item in ITEMS]
    with open_study(made.folder) as study:
        for rater, undecided in (("rater-1", images[:2]), ("rater-2", images[1:3])):
            prompts = {item.prompt for item in ITEMS if item.id in undecided}
            take(study, rater, lambda task, step, own=prompts: "cannot tell" if task.words in own else 4)  # type: ignore[misc]
    with opened(runs[0].folder) as again:
        found = study_human_ratings(human_ratings(made.folder, again), again)
    assert isinstance(found, VoteStudy)
    assert found.points is not None
    by_item = {it.item: it for it in found.points.images}
    assert (by_item["000"].points, by_item["000"].passed) == ((4,), True)
    assert (by_item["001"].points, by_item["001"].passed) == ((), None), "unscored, not 0, and not gone"
    assert (by_item["003"].points, by_item["003"].passed) == ((4, 4), True)
    assert [it.cannot_tell for it in not_none(found.attention).raters] == [2, 2]
    export_study(made.folder, tmp_path / "out")
    rows = list(csv.DictReader((tmp_path / "out" / "likert.csv").open()))
    assert [row["rating"] for row in rows].count("cannot tell") == 4
    means = {row["item"]: row for row in csv.DictReader((tmp_path / "out" / "compliance.csv").open())}
    assert [means[item]["passed"] for item in ("000", "001", "003")] == ["1", "", "1"]
    with opened(runs[0].folder) as again:
        from_file = study_human_ratings(human_ratings(tmp_path / "out" / "likert.csv", again), again)
    assert isinstance(from_file, VoteStudy)
    assert from_file.points == found.points


def test_votes_of_those_who_cannot_tell(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "questions", raters=1, per_image=1, per_level=2)
    with open_study(made.folder) as study:
        take(study, "rater-1", lambda task, step: "cannot tell" if step.name == "question 1" else True)
    export_study(made.folder, tmp_path / "out")
    votes = read_votes(tmp_path / "out" / "votes.csv")
    assert {vote.yes for vote in votes if vote.question == 1} == {None}
    found = study_human_ratings(human_ratings(made.folder, runs), runs)
    assert isinstance(found, VoteStudy)
    assert (not_none(found.whole).undecided, not_none(found.all_questions).undecided) == (0, 4)


def test_back_to_the_last_image_and_no_further(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=1, per_image=1, per_level=2)
    with open_study(made.folder) as study:
        first = not_none(study.next_task("rater-1"))
        assert not first.can_go_back
        with pytest.raises(AnswerError, match="first image"):
            study.go_back("rater-1", first.id)
        take(study, "rater-1", lambda task, step: 2, 2)
        third = not_none(study.next_task("rater-1"))
        assert third.number == 3
        study.answer("rater-1", third.id, "compliance", 3, 1)
        study.go_back("rater-1", third.id)
        second = not_none(study.next_task("rater-1"))
        assert (second.number, second.answers, second.is_back, second.can_go_back) == (
            2,
            {"compliance": 2},
            True,
            False,
        )
        with pytest.raises(AnswerError, match="not your current task"):
            study.answer("rater-1", third.id, "compliance", 5, 1)
        with pytest.raises(AnswerError, match="not your current task"):
            study.go_back("rater-1", second.id)
        study.answer("rater-1", second.id, "compliance", 5, 1)
        study.finish("rater-1", second.id, {"compliance": 5})
        again = not_none(study.next_task("rater-1"))
        assert (again.id, again.answers) == (third.id, {"compliance": 3})
        with pytest.raises(AnswerError, match="final"):
            study.answer("rater-1", first.id, "compliance", 5, 1)
        take(study, "rater-1", lambda task, step: 4)
        assert study.next_task("rater-1") is None
        study.go_back("rater-1")
        last = not_none(study.next_task("rater-1"))
        study.finish("rater-1", last.id)
        assert study.next_task("rater-1") is None
    done = {task.item: [it.value for it in task.history] for task in read_study(made.folder).tasks}
    assert sorted(map(tuple, done.values())) == [(2,), (2, 5), (3,), (4,)]


def test_a_completion_code_for_each_rater_when_all_is_done(runs: list[StoredRun], tmp_path: Path) -> None:
    made = create_study(tmp_path / "study", runs, "likert", raters=2, per_image=1, per_level=1)
    with open_study(made.folder) as study:
        assert study.completion_code("rater-1") == ""
        take(study, "rater-1", lambda task, step: 4)
        codes = study.completion_codes()
        assert study.completion_code("rater-1") == codes["rater-1"]
        assert study.completion_code("rater-2") == ""
    assert len(set(codes.values())) == 2
    addresses = {rater: f"http://127.0.0.1/rate/{link}" for rater, link in made.links.items()}
    paths = write_recruitment(addresses, codes, tmp_path / "links")
    assert [path.name for path in paths] == ["links.csv", "mturk.csv", "prolific.json"]
    rows = list(csv.DictReader(paths[0].open()))
    assert [(row["link"], row["completion_code"]) for row in rows] == [
        (addresses[rater], codes[rater]) for rater in addresses
    ]
    assert [row["link"] for row in csv.DictReader(paths[1].open())] == list(addresses.values())
    places = json.loads(paths[2].read_text())["access_details"]
    assert [place["total_allocation"] for place in places] == [1, 1]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in paths)


def test_every_protocol_and_suite_has_instructions() -> None:
    for protocol in get_args(RatingProtocol):
        for name in suite_names():
            told = instructions_for(protocol, name)
            assert told.task
            assert told.rules
            assert len(told.examples) >= 2
            assert {it.holds for it in told.examples} == {True, False}
            for item in told.practice:
                assert set(item.right) <= {value for value, _ in item.choices}
                assert bool(item.beside) == (protocol == "ab")
        assert bool(told.practice) == (protocol != "boxes")
