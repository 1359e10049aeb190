"""ConceptMix on the command line: published records and objects alone, judged by a chat model on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.loopback import Asked, Loopback, Wish
from tests.support.models import speckled
from tests.support.published import published_concepts

pytestmark = pytest.mark.usefixtures("no_preflight")

ODD = {5: (277,), 6: (53, 158, 253, 283, 291), 7: (63, 183, 269, 273)}
"""The published records whose counts do not fit k, or whose questions do not fit the concepts."""
UNCLEAR = "cubism"
"""Questions about this are never answered."""


def _paint(wish: Wish) -> bytes:
    return speckled(wish.prompt, 64)


def _reply(asked: Asked) -> str:
    """Yes or no, by chance, or nothing of use."""
    if any(UNCLEAR in text for text in asked.texts):
        return "I would rather not say."
    number = hashlib.sha256("".join(asked.texts).encode()).digest()[0]
    return json.dumps({"observation": "seen", "answer": "no" if number < 40 else "yes"})


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return ["-m", "openai/gpt-image-1", "-j", "openai/gpt-4o", "--size", "1024"]


def _sample(folder: Path) -> Path:
    """Some published records: all that are odd, and the first of each level."""
    folder.mkdir()
    for path in (published_concepts() / "sentence_collection").glob("*.json"):
        level = int(path.stem.rpartition("=")[2])
        wanted = {1, *ODD.get(level, ()), *((70, 210) if level == 1 else ())}
        records = json.loads(path.read_text(encoding="utf-8"))
        (folder / path.name).write_text(json.dumps([one for one in records if one["index"] in wanted]))
    return folder


def test_every_published_record_is_scored_or_has_a_reason(options: list[str], tmp_path: Path) -> None:
    items, run = _sample(tmp_path / "sentence_collection"), tmp_path / "run"
    with Loopback(paint=_paint, reply=_reply) as server:
        urls = ["-M", f"base_url={server.url}/v1", "-J", f"base_url={server.url}/v1"]
        done = formalimg("run", "conceptmix", "--items", str(items), *options, *urls, "--out", str(run))
        asked = sum(request.path.endswith("/chat/completions") for request in server.requests)
    assert done.code == 0, done.err
    judged = {one.outcome.item: one for one in open_run(run).judged()}
    assert len(judged) == 7 + 2 + 10
    unclear = {
        item.id
        for item in open_run(run).suite_items()
        if isinstance(item.spec, ConceptSpec) and any(UNCLEAR in one.question for one in item.spec.concepts)
    }
    assert unclear
    for name, one in judged.items():
        assert (one.outcome.passed is None) == (name in unclear), name
        assert bool(one.outcome.reason) == (name in unclear), name
    published = [one for path in items.glob("*sentences*") for one in json.loads(path.read_text())]
    lines = sum(1 for one in published for line in one["question"] if line.strip())
    assert asked == lines + len(unclear), "each question once, an unclear one again"
    shutil.move(items, tmp_path / "gone")
    exported = formalimg("export", str(run), "--out", str(tmp_path / "out"), "--name", "m")
    assert exported.code == 0, exported.err
    result = json.loads((tmp_path / "out" / "m" / "6" / "result.json").read_text())
    indexes = [re.match("[0-9]+", Path(record["image_path"]).name) for record in result]
    assert [int(found[0]) for found in indexes if found] == [1, *ODD[6]]
    twins = {path.name.lstrip("0123456789"): 0 for path in (tmp_path / "out" / "m" / "1").glob("[27]*0*.png")}
    assert len(twins) == 1, "70 and 210 have the same prompt"


def test_objects_alone_are_sampled_run_and_reported(options: list[str], tmp_path: Path) -> None:
    items, run = tmp_path / "items", tmp_path / "run"
    made = formalimg("items", "synth", "conceptmix", "--levels", "0,1", "--per-level", "3", "--out", str(items))
    assert made.code == 0, made.err
    assert "k=0: 3, k=1: 3" in made.out
    too_many = formalimg(
        "items", "synth", "conceptmix", "--levels", "0", "--per-level", "300", "--out", str(tmp_path / "no")
    )
    assert too_many.code == 2
    assert "at most 50 different items with k=0" in too_many.err
    with Loopback(paint=_paint, reply=lambda _: '{"observation": "seen", "answer": "yes"}') as server:
        urls = ["-M", f"base_url={server.url}/v1", "-J", f"base_url={server.url}/v1"]
        done = formalimg("run", "conceptmix", "--items", str(items), *options, *urls, "--out", str(run))
    assert done.code == 0, done.err
    assert "k 0" in done.out
    report = formalimg("report", str(run), "--format", "csv")
    assert report.code == 0, report.err
    full = [line for line in report.out.splitlines() if ",full mark," in line]
    assert any(",k 0," in line for line in full)
    assert any(",seconds per image," in line for line in report.out.splitlines())
    only = formalimg("report", str(run), "--details")
    assert "Seconds per image" in only.out


def test_concepts_without_a_question_are_listed_and_empty_records_counted(tmp_path: Path) -> None:
    record = {"index": 4, "sentence": "A red cat.", "categories": ["object", "color"], "skills": ["cat", "red"]}
    file = tmp_path / "1_sentences_k=1.json"
    file.write_text(json.dumps([{**record, "question": ["Is there a cat?"]}]))
    shown = formalimg("items", "show", "conceptmix/k1-004", "--items", str(tmp_path))
    assert shown.code == 0, shown.err
    assert "concepts without a question\n  color     red\n" in shown.out
    assert "red 1" in formalimg("items", "census", "conceptmix", "--items", str(tmp_path)).out
    file.write_text("[{}, null]")
    census = formalimg("items", "census", "conceptmix", "--items", str(tmp_path))
    assert census.code == 0, census.err
    assert "2 items of conceptmix (k=1: 2)" in census.out
