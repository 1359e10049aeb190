"""Two judges over the same images in one command, each with options of its own, compared and exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.published import read_scores
from formalimg.benchmarks.items_file import write_items
from formalimg.runs.reader import open_run
from tests.remote.knowing_server import QUICK
from tests.remote.test_judges_over_http import Answering, items
from tests.support.command import formalimg, formalimg_process
from tests.support.models import speckled

pytestmark = pytest.mark.usefixtures("stand_alone")


def test_two_judges_look_in_one_command_and_are_compared(tmp_path: Path) -> None:
    asked = items(6, 2)
    write_items(asked, tmp_path / "items")
    (tmp_path / "pictures").mkdir()
    for item in asked:
        (tmp_path / "pictures" / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    contrary = {asked[1].spec.concepts[0].question: "no"}
    with Answering(asked) as first, Answering(asked, said=contrary) as second:
        options = [f"-J{key}={value}" for key, value in {**QUICK, "tries": "1"}.items()]
        command = ["run", "conceptmix", "--items", str(tmp_path / "items"), "-m", f"folder/{tmp_path / 'pictures'}"]
        command += ["--size", "64", "--out", str(tmp_path / "run"), "-j", "openai/one", "-j", "openai/two", *options]
        command += ["-J", f"1:base_url={first.url}/v1", "-J", f"2:base_url={second.url}/v1"]
        dry = formalimg(*command, "--dry-run")
        assert (dry.code, dry.out.count("questions to ask        12")) == (0, 2), dry
        code, out, err = formalimg(*command)
        assert code == 0, err
        assert len(first.requests) == len(second.requests) == 12
        assert formalimg(*command).code == 0
        assert len(first.requests) == len(second.requests) == 12, "all verdicts are there already"
    assert "openai/one" in out
    assert "openai/two" in out
    one, two = open_run(tmp_path / "run").judges()
    assert (one.name, two.name) == ("openai/one", "openai/two")
    passed = [sum(bool(each.passed) for each in open_run(tmp_path / "run", judge).outcomes()) for judge in (one, two)]
    assert passed == [4, 3]
    code, out, _ = formalimg_process("agree", str(tmp_path / "run"), "--format", "json")
    assert code == 0
    assert json.loads(out)["judges"][0]["disagreements"][0]["item"] == asked[1].id


def test_a_run_is_written_as_the_authors_keep_theirs(tmp_path: Path) -> None:
    asked = items(4, 2)
    write_items(asked, tmp_path / "items")
    (tmp_path / "pictures").mkdir()
    for item in asked[:3]:
        (tmp_path / "pictures" / f"{item.id}.png").write_bytes(speckled(item.id, 16))
    run = tmp_path / "run"
    with Answering(asked) as server:
        options = [f"-J{key}={value}" for key, value in {**QUICK, "base_url": f"{server.url}/v1"}.items()]
        command = ["run", "conceptmix", "--items", str(tmp_path / "items"), "-m", f"folder/{tmp_path / 'pictures'}"]
        assert formalimg(*command, "--out", str(run), "-j", "openai/looker", *options).code == 0
    code, out, _ = formalimg("export", str(run), "--out", str(tmp_path / "theirs"), "--name", "mine")
    assert (code, out.splitlines()[1]) == (0, "1 without scores: no image")
    scores = read_scores(tmp_path / "theirs" / "all_ind_scores" / "k_results_4" / "mine_k=1_score.json")
    assert [image.passed for image in scores] == [False, True, True]
    (unscored,) = json.loads((tmp_path / "theirs" / "all_ind_scores" / "mine_unscored.json").read_text())
    assert (unscored["item"], unscored["reason"]) == (asked[3].id, "no image")
    back = formalimg(
        "run", "--no-judge", "conceptmix", "--items", str(tmp_path / "items"),
        "-m", f"folder/{tmp_path / 'theirs' / 'mine'}", "--out", str(tmp_path / "again"),
    )  # fmt: skip
    assert "(layout conceptmix)" in back.err
    assert sum(each.reason == "not judged" for each in open_run(tmp_path / "again").outcomes()) == 3
    assert formalimg("export", str(run), "--out", str(tmp_path / "theirs"), "--name", "mine").code == 2
