"""Imported answers of any size."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from formalimg._util import record_files
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing import rating_studies
from formalimg.human_eval.importing.answers import ImportedRuns, import_answers, read_answers, read_reply
from formalimg.human_eval.importing.rating_studies import read_ratings
from formalimg.runs.reader import Judged, open_run
from formalimg.types import Item, Unscored, Verdict
from tests.support.command import formalimg
from tests.support.values import not_none
from tests.web.sites import visitor

ITEMS = """item,prompt,question,question_id,expected,parents
cup,A red cup,Is there a cup?,1,,
cup,,Is it red?,2,,1
cup,,Is the red dark?,3,,2
dog,No dog,Is there a dog?,1,no,
"""
ANSWERS = """model,item,sample,question,answer
lab/a,cup,0,1,yes
lab/a,cup,0,2,Yes.
lab/a,cup,0,Is the red dark?,yes it is
lab/a,dog,0,1,no
lab/b,cup,0,1,no
lab/b,cup,0,2,yes
lab/b,cup,0,3,yes
lab/b,dog,0,1,perhaps
lab/b,bird,0,1,yes
lab/b,cup,0,9,yes
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "eyes.csv").write_text(ANSWERS)
    return tmp_path


def imported(files: Path, *options: str) -> str:
    done = formalimg("import", "answers", "eyes.csv", "--items", "items.csv", *options, cwd=files)
    assert done.code == 0, done.err
    return done.out + done.err


def images(folder: Path) -> dict[tuple[str, int], Judged]:
    with closing(open_run(folder)) as run:
        return {(one.outcome.item, one.outcome.sample): one for one in run.judged()}


def test_answers_become_a_run_for_each_model(files: Path) -> None:
    said = imported(files)
    assert "runs/questions-lab-a: lab/a, 2 images, 2 scored" in said
    assert "runs/questions-lab-b: lab/b, 2 images, 1 scored" in said
    assert "1 answers are about items that are not there, and were left out" in said
    assert "1 answers are about questions that their items do not have, and were left out" in said
    assert "1 answers are neither yes nor no, and left their images unscored" in said
    first, second = (images(files / "runs" / f"questions-lab-{name}") for name in "ab")
    assert [one.outcome.passed for one in first.values()] == [True, True]
    cup, dog = second["cup", 0], second["dog", 0]
    assert isinstance(cup.verdict, Verdict)
    assert [part.score for part in cup.verdict.parts] == [0, 0, 0]  # the rule of our own items is transitive
    assert cup.verdict.parts[0].reason == "answered: no"
    assert isinstance(dog.verdict, Unscored)
    assert (dog.verdict.reason, dog.verdict.detail) == (
        "not understood",
        "the answer to question 1 is neither yes nor no: perhaps",
    )
    with closing(open_run(files / "runs" / "questions-lab-a")) as run:
        assert run.manifest.imported.startswith("eyes.csv (sha256 ")
        assert not_none(run.manifest.judge).name == "eyes"
        assert not run.has_images


def test_numbers_of_samples_have_a_limit_however_they_are_written(files: Path) -> None:
    rows = [f"lab/a,cup,{number},1,yes\n" for number in ("00000000099999999999", "0" * 5000 + "1", "10001", "0002")]
    (files / "eyes.csv").write_text("model,item,sample,question,answer\n" + "".join(rows))
    imported(files)
    with closing(open_run(files / "runs" / "questions-lab-a")) as run:
        assert run.manifest.samples == 3


def test_zeroing_and_other_answers_can_be_chosen(files: Path) -> None:
    said = imported(files, "--zeroing", "direct", "--other-answers", "no", "--judge", "vqa")
    assert "1 answers are neither yes nor no, and counted as no" in said
    found = images(files / "runs" / "questions-lab-b")
    verdict = found["cup", 0].verdict
    assert isinstance(verdict, Verdict)
    assert [part.score for part in verdict.parts] == [0, 0, 1]
    assert found["dog", 0].outcome.passed  # no is expected there


def test_images_without_all_answers_are_unscored_and_never_left_out(files: Path) -> None:
    lines = [line for line in ANSWERS.splitlines() if not line.startswith(("lab/a,dog", "lab/a,cup,0,2"))]
    (files / "eyes.csv").write_text("\n".join(lines))
    imported(files)
    found = images(files / "runs" / "questions-lab-a")
    reasons = {item: (one.outcome.reason, one.outcome.detail) for (item, _), one in found.items()}
    assert reasons == {
        "cup": ("judge failed", "there is no answer to question 2"),
        "dog": ("judge failed", "there are no answers about this image in the file"),
    }


def test_a_child_of_a_failed_parent_need_not_be_answered(files: Path) -> None:
    (files / "eyes.csv").write_text("item,question_id,answer\ncup,1,no\ndog,1,no\n")
    imported(files, "--model", "lab/c")
    assert [one.outcome.passed for one in images(files / "runs" / "questions-lab-c").values()] == [False, True]
    imported(files, "--model", "lab/d", "--zeroing", "direct")  # there the own answer of each parent counts
    assert images(files / "runs" / "questions-lab-d")["cup", 0].outcome.reason == "judge failed"


def test_all_models_together_are_one_run_of_several_samples(files: Path) -> None:
    assert "2 models together, 4 images, 3 scored" in imported(files, "--together")
    found = images(files / "runs" / "questions-all-models")
    assert {key: one.served["model"] for key, one in found.items()} == {
        ("cup", 0): "lab/a",
        ("cup", 1): "lab/b",
        ("dog", 0): "lab/a",
        ("dog", 1): "lab/b",
    }


def test_only_some_items_by_the_beginning_of_their_ids_or_a_pattern(files: Path) -> None:
    assert "1 image, 1 scored" in imported(files, "--only", "c")
    assert "1 image, 1 scored" in imported(files, "--only", "?up", "--out", "other")
    done = formalimg("import", "answers", "eyes.csv", "--items", "items.csv", "--only", "cat", cwd=files)
    assert (done.code, "no item is called 'cat'" in done.err) == (2, True)


def test_a_second_judge_is_added_to_the_same_run(files: Path) -> None:
    imported(files)
    (files / "eyes.csv").write_text(ANSWERS.replace("lab/a,dog,0,1,no", "lab/a,dog,0,1,yes"))
    imported(files, "--judge", "other")
    folder = files / "runs" / "questions-lab-a"
    with closing(open_run(folder)) as run:
        assert [judge.name for judge in run.judges()] == ["eyes", "other"]
        assert run.manifest.imported.count("sha256") == 2
    done = formalimg("agree", str(folder), "--judges", "eyes", "other")
    assert done.code == 0, done.err
    assert "agreement on whole images" in done.out
    again = imported(files, "--judge", "other")  # the same once more changes nothing
    with closing(open_run(folder)) as run:
        assert run.manifest.imported.count("sha256") == 2
    assert "2 images, 2 scored" in again


def test_json_lines_hold_answers_too(files: Path) -> None:
    records = [{"model": "m", "item": "dog", "question": 1, "answer": False}, {"item": "dog"}, 7]
    (files / "eyes.jsonl").write_text("\n".join(map(json.dumps, records)))
    table = read_answers(files / "eyes.jsonl")
    assert list(table.replies()).count(None) == 2
    found = import_answers(table, load("questions", files / "items.csv"), files / "runs", only="dog")
    assert [(run.model, run.images, run.scored) for run in found.runs] == [("m", 1, 1)]


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        *[("yes", True), ("Yes, it is.", True), ("TRUE", True), ("1", True), ("yes 100000", True)],
        *[("no", False), ("No.", False), ("no bus", False), ("false", False), ("0", False)],
        *[("10000", None), ("nothing", None), ("yesterday", None), ("", None), ("maybe", None)],
    ],
)
def test_an_answer_is_read_by_its_first_word(text: str, yes: bool | None) -> None:
    assert read_reply(text) is yes


@pytest.mark.parametrize(
    ("text", "message"),
    [("a,b\n1,2\n", "holds no answers"), ("item,question,answer\nbird,1,yes\n", "answers no question of these items")],
)
def test_files_without_answers_are_refused(files: Path, text: str, message: str) -> None:
    (files / "eyes.csv").write_text(text)
    done = formalimg("import", "answers", "eyes.csv", "--items", "items.csv", cwd=files)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_reports_of_all_formats_say_where_the_answers_come_from(files: Path) -> None:
    imported(files)
    runs = [str(files / "runs" / f"questions-lab-{name}") for name in "ab"]
    for form in ("terminal", "md", "latex", "csv", "json"):
        done = formalimg("report", *runs, "--format", form)
        assert done.code == 0, done.err
        if form not in ("csv", "json"):
            assert "imported from eyes.csv" in " ".join(done.out.replace("\\", "").split())
    done = formalimg("report", *runs, "--out", str(files / "report.html"))
    assert done.code == 0, done.err
    page = (files / "report.html").read_text()
    assert "imported from eyes.csv" in page
    assert "no image" in page
    assert "<img" not in page


def test_the_viewer_shows_verdicts_without_images(files: Path) -> None:
    imported(files)
    reader = visitor(files / "runs")
    for path in ("/", "/run?run=questions-lab-b", "/gallery?run=questions-lab-b"):
        shown = reader.get(path)
        assert shown.status_code == 200
        assert "/thumbnail" not in shown.text
    assert "the images are not here" in reader.get("/run?run=questions-lab-b").text
    shown = reader.get("/item?run=questions-lab-b&item=cup")
    assert shown.status_code == 200
    assert "no image" in shown.text
    assert "Is it red?" in shown.text
    assert reader.get("/image?run=questions-lab-b&item=cup").status_code == 404


def test_nobody_can_look_at_images_that_are_not_here(files: Path) -> None:
    imported(files)
    folder = str(files / "runs" / "questions-lab-a")
    done = formalimg("judge", folder, "--judge", "openai/x", "-J", "base_url=http://127.0.0.1:9/v1", "--no-preflight")
    assert done.code == 2
    assert "has no images, because its answers were imported" in done.err
    done = formalimg("annotate", folder, "--protocol", "likert", "--study", str(files / "study"), "--no-browser")
    assert done.code == 2
    assert "has no images, because its answers were imported" in done.err


def test_a_run_with_images_is_not_written_into(files: Path) -> None:
    imported(files)
    manifest = files / "runs" / "questions-lab-a" / "run.toml"
    kept = [line for line in manifest.read_text().splitlines() if not line.startswith("imported")]
    manifest.write_text("\n".join(kept))
    done = formalimg("import", "answers", "eyes.csv", "--items", "items.csv", cwd=files)
    assert done.code == 2
    assert "holds a run with images" in done.err


def test_items_of_other_suites_have_no_questions_to_answer(files: Path) -> None:
    with pytest.raises(FormalimgError, match="has no questions: give items of question graphs"):
        import_answers(read_answers(files / "eyes.csv"), [Item("knolling", "1", 1, "A cup.", None)], files / "runs")


def test_names_and_answers_of_any_kind_are_stored_and_shown(files: Path) -> None:
    odd = "x\ud800\x1b[31m\x00" + "y" * 5000
    questions = [
        {"item": f"a b{odd}", "prompt": odd, "question": "Is it?", "category": odd},
        {"item": "b", "prompt": "p"},
    ]
    (files / "items.json").write_text(json.dumps(questions))
    records = [
        {"model": odd, "item": f"a b{odd}", "question": "Is it?", "answer": f"yes {odd}"},
        {"model": ["x"], "item": f"a b{odd}", "question": 1, "answer": {"a": odd}},
        {"model": 7, "item": f"a b{odd}", "question": 1, "answer": 1e400},
    ]
    (files / "eyes.jsonl").write_text("\n".join(map(json.dumps, records)))
    done = formalimg("import", "answers", "eyes.jsonl", "--items", "items.json", "--out", "odd", cwd=files)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    folders = sorted((files / "odd").iterdir())
    assert len(folders) == 3
    for folder in folders:
        assert formalimg("report", str(folder)).code == 0
    assert sum(one.outcome.passed is True for folder in folders for one in images(folder).values()) == 1
    done = formalimg("import", "answers", "eyes.csv", "--items", "items.csv", "--judge", "j" * 500, cwd=files)
    assert (done.code, "give a name of at most" in done.err) == (2, True)


_HEADS = "model,item,sample,question_id,question,answer\n"
_QUESTIONS = range(1, 9)


@pytest.fixture
def items(tmp_path: Path) -> list[Item[object]]:
    rows = [
        f"item_{item},{'Some things' * (number == 1)},Is there a thing {number} of {item}?,{number}\n"
        for item in range(50)
        for number in _QUESTIONS
    ]
    (tmp_path / "items.csv").write_text("item,prompt,question,question_id\n" + "".join(rows))
    return list(load("questions", tmp_path / "items.csv"))


def import_rows(place: Path, rows: Iterable[str], items: list[Item[object]]) -> ImportedRuns:
    (place / "answers.csv").write_text(_HEADS + "".join(rows))
    return import_answers(read_answers(place / "answers.csv"), items, place / "runs")


def test_memory_does_not_grow_with_the_rows(tmp_path: Path, items: list[Item[object]]) -> None:
    """What is kept is one answer to each question; all rows at once took twenty times the size of the file."""
    rows = [
        f"lab/a,item_{item},0,{number},Is there a thing {number} of {item}?,yes\n"
        for item in range(50)
        for number in _QUESTIONS
    ]
    import_rows(tmp_path, rows, items)  # what is imported and cached once does not count
    tracemalloc.start()
    try:
        found = import_rows(tmp_path, (row for _ in range(40) for row in rows), items)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(run.images, run.scored) for run in found.runs] == [(50, 50)]
    assert peak < 3 * (tmp_path / "answers.csv").stat().st_size


def test_too_many_models_are_refused_before_anything_is_written(tmp_path: Path, items: list[Item[object]]) -> None:
    rows = (f"model-{number},item_1,0,1,,yes\n" for number in range(201))
    with pytest.raises(FormalimgError, match=r"names more than 200 image models: split it$"):
        import_rows(tmp_path, rows, items)
    assert not (tmp_path / "runs").exists()
    few = import_rows(tmp_path, (f"model-{number % 3},item_1,0,1,,yes\n" for number in range(300)), items)
    assert len(few.runs) == 3


def test_too_many_images_are_refused_before_anything_is_written(tmp_path: Path, items: list[Item[object]]) -> None:
    rows = (f"model-{number % 2},item_1,{number // 2},1,,yes\n" for number in range(10_500))
    with pytest.raises(FormalimgError, match="about more than 500,000 images: import some items at a time"):
        import_rows(tmp_path, rows, items)
    assert not (tmp_path / "runs").exists()


def test_too_many_ratings_and_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_studies, "_MAX_RATINGS", 10)
    records = [{"item": "a", "rater": f"{number}", "rating": 3} for number in range(11)]
    (tmp_path / "ratings.jsonl").write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(FormalimgError, match="has more than 10 ratings: split it"):
        read_ratings(tmp_path / "ratings.jsonl")
    monkeypatch.setattr(record_files, "_MAX_VALUES", 20)
    (tmp_path / "ratings.json").write_text(json.dumps(records))
    with pytest.raises(FormalimgError, match="has more than 20 values, save it as JSON Lines"):
        read_ratings(tmp_path / "ratings.json")
