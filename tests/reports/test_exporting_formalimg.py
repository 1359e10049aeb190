"""A run of FormalImg in the layout of the authors' scripts, and read back from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg import FormalimgError, load
from formalimg.benchmarks.formal.export import read_verdict_files
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.items_file import write_items
from formalimg.drawing.icon_scene import layout_png
from formalimg.judges.base import LoadedImage
from formalimg.judges.factory import open_judge
from formalimg.judges.grounding_files import read_grounding_file
from formalimg.judges.scene_judge import LayoutJudge
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused, Unanswered
from formalimg.models.builtin.planner import ChatPlanner, SolverPlanner
from formalimg.models.folder.folder_model import open_folder
from formalimg.reports.published import export_run
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Part, Setting, Unscored, Verdict
from tests.models_builtin.test_planner import Scripted
from tests.support.command import formalimg
from tests.support.models import Speckles, speckled
from tests.support.values import not_none

ITEMS = [item for item in load("knolling") if int(item.id) % 200 in (3, 4)][:8]
FLAT = layout_png(Scene.of([]))  # a white canvas


def _painted(request: ImageRequest) -> ImageResult:
    """The witness, of some items without its first object; one is refused, one is flat."""
    number = [item.id for item in ITEMS].index(request.item)
    witness = ITEMS[number].spec.witness
    if number == 1:
        return Refused("not this one")
    if number == 2:
        return Generated(FLAT)
    return Generated(layout_png(Scene.of(not_none(witness).objects[number % 2 + request.sample :])))


def _run(folder: Path, *, samples: int = 1) -> StoredRun:
    order = RunConfig(ITEMS, Speckles(name="test/painter", answer=_painted), size=512, samples=samples)
    execute(order, folder, LayoutJudge())
    return open_run(folder)


def _verdicts(run: StoredRun) -> dict[tuple[str, int], tuple[bool | None, str]]:
    return {(one.item, one.sample): (one.passed, one.reason) for one in run.outcomes()}


@pytest.mark.parametrize("samples", [1, 2])
def test_a_knolling_run_reads_back_from_its_grounding_files(samples: int, tmp_path: Path) -> None:
    run = _run(tmp_path / "run", samples=samples)
    before = _verdicts(run)
    assert {passed for passed, _ in before.values()} == {True, False, None}
    done = export_run(run, tmp_path / "out", "painter")
    assert done.folder == tmp_path / "out" / "responses" / "knolling" / "painter"
    assert (done.images, done.scored, done.without) == (7 * samples, 7 * samples, {"refused": samples})

    write_items(ITEMS, tmp_path / "items")
    said = formalimg(
        *("judge", "--groundings", str(tmp_path / "out"), "--items", str(tmp_path / "items")),
        *("--out", str(tmp_path / "again")),
    )
    assert said.code == 0, said.err
    again = open_run(tmp_path / "again")
    assert again.manifest.model.name == "painter"
    after = _verdicts(again)
    assert {key: passed for key, (passed, _) in after.items()} == {key: passed for key, (passed, _) in before.items()}
    images = [{(one.outcome.item, one.outcome.sample): one.sha256 for one in each.judged()} for each in (run, again)]
    assert images[0] == images[1]  # the very bytes
    parts = [
        [(one.outcome.item, one.verdict.parts) for one in each.judged() if isinstance(one.verdict, Verdict)]
        for each in (run, again)
    ]
    assert parts[0] == parts[1]


def test_knolling_files_are_those_of_the_published_scripts(tmp_path: Path) -> None:
    folder = export_run(_run(tmp_path / "run"), tmp_path / "out", "painter").folder
    item = ITEMS[0]
    passed = json.loads((folder / "results" / f"{item.id}.json").read_text("utf-8"))
    assert passed == {
        "result": True,
        "fail_reason": None,
        "difficulty": item.level,
        "prompt": item.prompt,
        "cnf": str(item.spec.formula),
    }
    grounding = json.loads((folder / "grounding" / "json" / f"{item.id}.json").read_text("utf-8"))
    assert list(grounding) == ["image_file", "objects"]
    assert grounding["image_file"] == item.id
    assert set(grounding["objects"][0]) == {"label", "color", "box_2d"}
    assert (folder / "imgs" / f"{ITEMS[1].id}.png.blocked").read_text("utf-8") == "not this one\n"
    assert not (folder / "results" / f"{ITEMS[1].id}.json").exists()
    (unscored,) = json.loads((folder / "unscored.json").read_text("utf-8"))
    assert (unscored["item"], unscored["reason"], unscored["prompt"]) == (ITEMS[1].id, "refused", ITEMS[1].prompt)
    flat = json.loads((folder / "grounding" / "json" / f"{ITEMS[2].id}.json").read_text("utf-8"))
    assert flat["objects"] == []
    read = {verdict.name: verdict for verdict in read_verdict_files(folder / "results")}
    assert len(read) == 7
    assert read[item.id].passed is True
    assert read[ITEMS[2].id].passed is False
    assert "flat colour" in read[ITEMS[2].id].reason
    # The images are found by the reader of published folders too.
    again = open_folder(str(folder / "imgs"), {})
    execute(RunConfig([ITEMS[0], ITEMS[3]], again, size=512), tmp_path / "again")
    assert len(open_run(tmp_path / "again").made()) == 2


def test_planned_layouts_are_groundings_and_failed_ones_are_null(tmp_path: Path) -> None:
    solved = RunConfig(ITEMS[:2], SolverPlanner(), task="layout")
    execute(solved, tmp_path / "solved", LayoutJudge())
    folder = export_run(open_run(tmp_path / "solved"), tmp_path / "out", "solver").folder
    assert not (folder / "imgs").exists()
    assert read_grounding_file(folder / "grounding" / "json" / f"{ITEMS[0].id}.json") == ITEMS[0].spec.witness
    failing = RunConfig(ITEMS[:2], ChatPlanner(Scripted(Unanswered("unreadable", "no JSON"))), task="layout")
    execute(failing, tmp_path / "failing", LayoutJudge())
    folder = export_run(open_run(tmp_path / "failing"), tmp_path / "out", "chat").folder
    data = json.loads((folder / "grounding" / "json" / f"{ITEMS[0].id}.json").read_text("utf-8"))
    assert data == {"image_file": ITEMS[0].id, "objects": None}
    write_items(ITEMS, tmp_path / "items")
    given = ("judge", "--groundings", str(tmp_path / "out"), "--items", str(tmp_path / "items"))
    said = formalimg(*given, "--task", "layout", "--runs", str(tmp_path / "runs"))
    assert said.code == 0, said.err
    counted = {}
    for name in ("solver", "chat"):
        run = open_run(tmp_path / "runs" / f"knolling-{name}-layout")
        assert run.manifest.task == "layout"
        counted[name] = sorted(str(one.passed) for one in run.outcomes() if one.passed is not None)
    assert counted == {"solver": ["True", "True"], "chat": ["False", "False"]}


class _ClauseByClause:
    """A judge of Natural that finds all clauses but the first."""

    name = "test/clauses"
    settings: dict[str, Setting] = {"version": 1}  # noqa: RUF012
    concurrency = 2

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored:
        assert isinstance(item.spec, FormulaSpec)
        if item.id == "1":
            return Unscored("not understood", "too dark")
        names = [f"(Is ?x '{name}')" for name in item.spec.object_classes] + ["(IsStyle 'ink')"]
        parts = tuple(Part(name, "object", float(number > 0)) for number, name in enumerate(names))
        return Verdict(False, parts)


def test_natural_verdicts_are_the_clauses_that_hold(tmp_path: Path) -> None:
    items = load("natural")[:3]
    model = Speckles(name="test/speckles", answer=lambda request: Generated(speckled(request.item, 16, "JPEG")))
    execute(RunConfig(items, model, size=16), tmp_path / "run", _ClauseByClause())
    done = export_run(open_run(tmp_path / "run"), tmp_path / "out", "m")
    assert done.folder == tmp_path / "out" / "responses" / "natural" / "m"
    assert (done.images, done.scored) == (3, 2)
    data = json.loads((done.folder / "results" / "0.json").read_text("utf-8"))
    assert list(data) == ["satisfies_constraint", "satisfied_clauses"]
    run = open_run(tmp_path / "run")
    expected = {
        one.outcome.item: tuple(part.name for part in one.verdict.parts if part.score == 1)
        for one in run.judged()
        if isinstance(one.verdict, Verdict)
    }
    read = read_verdict_files(done.folder / "results")
    assert {one.name: one.clauses for one in read} == expected
    assert [one.passed for one in read] == [False, False]
    assert not (done.folder / "grounding").exists()
    assert sorted(path.name for path in (done.folder / "imgs").iterdir()) == [f"{item.id}.jpg" for item in items]


def test_verdict_files_of_other_people_are_read_one_by_one(tmp_path: Path) -> None:
    texts = {
        "10": '{"satisfies_constraint": "false"}',
        "2": "not JSON",
        "3": '{"result": false, "fail_reason": "no cup"}',
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)
    broken, failed, worded = read_verdict_files(tmp_path)
    assert (failed.name, failed.passed, failed.reason, failed.problem) == ("3", False, "no cup", "")
    assert (broken.passed, worded.passed) == (None, None)
    assert broken.problem.startswith("is not JSON")
    assert "neither true nor false" in worded.problem
    with pytest.raises(FormalimgError, match="holds no verdict files"):
        read_verdict_files(tmp_path / "nowhere")


def test_an_export_overwrites_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path / "run")
    export_run(run, tmp_path / "out", "painter")
    with pytest.raises(FormalimgError, match="is not empty"):
        export_run(run, tmp_path / "out", "painter")
    with pytest.raises(FormalimgError, match="cannot be a folder"):
        export_run(run, tmp_path / "out", "../painter")
    said = formalimg("export", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--name", "other")
    assert said.code == 0, said.err
    assert said.out.startswith("7 images in ")
    assert "1 without scores: refused" in said.out


def test_a_judge_with_another_grounder_is_exported_too(tmp_path: Path) -> None:
    """What the icon grounder saw is in the files, not what was drawn."""
    execute(
        RunConfig(ITEMS[:1], Speckles(name="m", answer=_painted), size=512), tmp_path / "run", open_judge("knolling")
    )
    run = open_run(tmp_path / "run")
    done = export_run(run, tmp_path / "out", "m")
    assert done.scored + sum(done.without.values()) == 1
