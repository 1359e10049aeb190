"""`formalimg export SUITE --trainer`: the files are read as each trainer reads them, and every row can be rewarded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from formalimg import load
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.trainers import settings
from formalimg.rewards.trainers.flow_grpo import formalimg_score
from formalimg.rewards.trainers.trl import completion_reward
from formalimg.rewards.trainers.verl_omni import compute_score
from tests.support.command import formalimg


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (settings.URL, settings.TOKEN, settings.MISSING):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def witnesses() -> dict[str, Any]:
    return {item.prompt: item.spec.witness for item in load("knolling")}


def exported(folder: Path, trainer: str, *more: str) -> str:
    done = formalimg("export", "knolling", "--trainer", trainer, "--per-level", "10", "--out", str(folder), *more)
    assert done.code == 0, done.err
    return done.out + done.err


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def types(row: Any) -> Any:
    """The type of each column: Arrow wants the same in all rows."""
    if isinstance(row, dict):
        return {key: types(value) for key, value in row.items()}
    return [types(value) for value in row] if isinstance(row, list) else type(row).__name__


def test_flow_grpo_reads_prompts_with_their_metadata(tmp_path: Path, witnesses: dict[str, Any]) -> None:
    said = exported(tmp_path, "flow_grpo")
    assert "90 items to train on and 10 to test with" in said
    sides = [lines(tmp_path / f"{split}_metadata.jsonl") for split in ("train", "test")]
    assert [len(side) for side in sides] == [90, 10]
    assert not {row["prompt"] for row in sides[0]} & {row["prompt"] for row in sides[1]}
    prompts = [row["prompt"] for row in sides[1]]
    scores, _ = formalimg_score("cuda")([witnesses[prompt] for prompt in prompts], prompts, sides[1])
    assert scores.tolist() == [1.0] * 10


def test_flow_factory_reads_prompts_by_which_the_server_finds_items(tmp_path: Path) -> None:
    exported(tmp_path, "flow-factory", "--style", "short")
    rows = [row for split in ("train", "test") for row in lines(tmp_path / f"{split}.jsonl")]
    assert {json.dumps(types(row)) for row in rows} == {'{"prompt": "str", "metadata": "str"}'}
    scorer = Scorer(suites=["knolling"])
    for row in rows:
        assert scorer.find(row["prompt"]).item.id == json.loads(row["metadata"])["item"]


def test_verl_omni_reads_rows_with_a_ground_truth(tmp_path: Path, witnesses: dict[str, Any]) -> None:
    said = exported(tmp_path, "verl-omni", "--split", "relation")
    assert "left out: they have relations of both sides" in said
    rows = [row for split in ("train", "test") for row in json.loads((tmp_path / f"{split}.json").read_text())]
    assert len({json.dumps(types(row)) for row in rows}) == 1
    for row in rows[::7]:
        shown, truth = witnesses[row["prompt"][0]["content"]], row["reward_model"]["ground_truth"]
        found = asyncio.run(compute_score(row["data_source"], shown, truth, row["extra_info"]))
        assert found["score"] == 1


def test_trl_reads_conversations_and_a_column_of_metadata(tmp_path: Path, witnesses: dict[str, Any]) -> None:
    exported(tmp_path, "trl", "--split", "class-pair")
    rows = lines(tmp_path / "test.jsonl")
    assert len({json.dumps(types(row)) for row in rows}) == 1
    plans = [
        [{"role": "assistant", "content": json.dumps(witnesses[row["prompt"][0]["content"]].to_json())}] for row in rows
    ]
    columns = {"metadata": [row["metadata"] for row in rows]}
    assert completion_reward([row["prompt"] for row in rows], plans, **columns) == [1.0] * len(rows)


def test_other_suites_are_named_by_suite_and_id(tmp_path: Path) -> None:
    done = formalimg("export", "cf-world-rules", "--trainer", "flow_grpo", "--out", str(tmp_path))
    assert done.code == 0, done.err
    row = lines(tmp_path / "test_metadata.jsonl")[0]
    assert sorted(row) == ["id", "prompt", "suite", "tag"]


def test_files_are_never_overwritten_and_options_of_other_exports_are_refused(tmp_path: Path) -> None:
    exported(tmp_path, "trl")
    exported(tmp_path, "trl")  # the same again
    done = formalimg("export", "knolling", "--trainer", "trl", "--per-level", "20", "--out", str(tmp_path))
    assert (done.code, "choose another --out" in done.err) == (2, True)
    for more, said in {
        ("--split", "relation"): "add --trainer",
        ("--trainer", "trl", "--samples", "2"): "has no --samples",
        ("--trainer", "trl"): "add --out DIR",
    }.items():
        done = formalimg("export", "knolling", *more)
        assert (done.code, said in done.err) == (2, True), done.err
