"""Commands on suites: the list of suites, CF-World and ConceptMix."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.benchmarks.download.source import source_names
from formalimg.benchmarks.formal.published import write_published
from formalimg.benchmarks.loader import load
from formalimg.benchmarks.registry import suite_names
from formalimg.runs.reader import open_run
from tests.support.command import formalimg
from tests.support.loopback import Asked, Loopback, Wish
from tests.support.models import speckled
from tests.support.published import published_concepts

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_every_suite_is_described() -> None:
    code, out, err = formalimg("suites")
    assert (code, err) == (0, "")
    names = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert names == [*suite_names()]
    assert out.count("Judge: a ") == len(names)
    assert max(map(len, out.splitlines())) < 160
    pulled = {name for listed in re.findall(r"formalimg pull (\S+)", out) for name in listed.split("|")}
    assert pulled == {*source_names()}


def test_the_numbers_are_those_of_the_items() -> None:
    suites = {suite["name"]: suite for suite in json.loads(formalimg("suites", "--json").out)}
    items = load("natural")
    assert suites["natural"]["items"] == len(items)
    assert suites["natural"]["levels"] == f"K 1–{max(item.level for item in items)}"
    assert suites["natural"]["versions"][-1] == items[0].version
    assert (suites["geneval"]["items"], suites["geneval"]["sources"]) == (None, ["geneval"])
    assert suites["free-prompts"]["sources"] == []


def test_detectors_are_listed_with_what_they_need() -> None:
    by_name = {each["name"]: each for each in json.loads(formalimg("models", "--json").out)}
    assert {name for name, each in by_name.items() if each["finds"]} == {"builtin/icons", "detector/coco", "detector"}
    assert by_name["builtin/icons"]["ready"]
    shown = formalimg("models").out
    assert re.search(r"^[–✓] detector/coco +finds objects$", shown, re.M)
    for step in by_name["detector/coco"]["missing"]:
        assert f"to do: {step}" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "GenEval2", "-m", "builtin/reader"], "unknown suite 'GenEval2': did you mean geneval2?"),
        (["run", "dsg", "-m", "builtin/reader"], "`formalimg pull dsg` brings data for questions"),
        (["run", "formalimg", "-m", "builtin/reader"], "brings data for knolling and natural"),
        (["run", "xyzzy", "-m", "builtin/reader"], "drawbench; `formalimg suites` describes them"),
        (["pull", "natural", "--to", "x"], "natural is a suite, not published data: pull its data with "),
        (["pull", "knolling-counts", "--to", "x"], "its items ship with formalimg"),
        (["pull", "genval", "--to", "x"], "did you mean geneval?"),
    ],
)
def test_names_that_are_mixed_up(arguments: list[str], message: str, tmp_path: Path) -> None:
    code, out, err = formalimg(*arguments, cwd=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not [*tmp_path.iterdir()]


def test_the_commands_that_the_demo_ends_with_work(tmp_path: Path) -> None:
    target = MAKEFILE.read_text(encoding="utf-8").partition("\ndemo: ")[2].partition("\n\n")[0]
    commands = re.findall(r"@echo '  formalimg (.*?) +# ", target)
    assert len(commands) == 3
    for command in commands:
        done = formalimg(*shlex.split(command), cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.out


def test_a_census_of_several_suites_draws_them_side_by_side(tmp_path: Path) -> None:
    for suite in ("knolling", "natural"):
        write_published([item for item in load(suite) if item.level == 1][:20], tmp_path / "items")
    given = ("--items", str(tmp_path / "items"), "--figures", str(tmp_path / "figures"), "--figures-as", "svg")
    said = formalimg("items", "census", "knolling", "natural", *given)
    assert said.code == 0, said.err
    assert said.out.startswith("knolling\n20 items")
    assert "\nnatural\n20 items" in said.out
    assert (tmp_path / "figures" / "knolling-natural-predicates.svg").is_file()


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
