"""Captions read by a chat model: each asked about once, lies counted as no answer, and nothing asked again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from formalimg.benchmarks.conceptmix.captions.chat import CaptionAnswerCache, estimate_caption_study, load_question
from formalimg.benchmarks.conceptmix.captions.mentions import find_categories
from formalimg.benchmarks.conceptmix.captions.study import caption_study_csv, caption_study_json, study_captions
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Message, Reply, Unanswered
from formalimg.models.structured_output import ParseFailure, parse_answer
from formalimg.types import AnswerType
from tests.support.hostile_databases import SCHEMAS, VALUES, HostileEdit, apply_edit, change_schema

CAPTIONS = ["a red cat", "two dogs", "nothing to see", "a red cat", "a huge glass house behind a tree", "a round table"]


def honest(caption: str) -> str:
    return json.dumps({"categories": sorted(find_categories(caption))})


@dataclass
class Scripted:
    script: Callable[[str], str | Unanswered] = honest
    name: str = "scripted/model"
    settings: dict[str, str | int | float | bool | None] = field(default_factory=lambda: {"temperature": 0})
    concurrency: int = 2
    asked: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]:
        [[question]] = [message.parts for message in messages]
        assert isinstance(question, str)
        caption = json.loads(question.splitlines()[-1])
        self.asked.append(caption)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.001 * (len(caption) % 3))
        self.at_once -= 1
        raw = self.script(caption)
        if isinstance(raw, Unanswered):
            return raw
        value = parse_answer(raw, answer_type)
        if isinstance(value, ParseFailure):
            return Unanswered("unreadable", value.reason, raw, cost=0.5)
        return Answered(value, raw, cost=0.25)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "captions.txt"
    path.write_text("\n".join([*CAPTIONS, "", ""]))
    return path


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "per_caption.jsonl").read_text().splitlines()]


def test_an_honest_model_and_the_lexicon_agree_in_every_figure(file: Path, tmp_path: Path) -> None:
    model = Scripted()
    asked, looked_up = study_captions(file, model=model, out=tmp_path / "m"), study_captions(file, out=tmp_path / "l")
    assert asked.counts == looked_up.counts
    assert asked.empty == looked_up.empty == 1
    assert sorted(model.asked) == sorted(set(CAPTIONS))
    assert model.most_at_once == 2
    assert asked.cost == 0.25 * 5
    by_model, by_lexicon = lines(tmp_path / "m"), lines(tmp_path / "l")
    assert [line["caption"] for line in by_model] == CAPTIONS
    assert [line["categories"] for line in by_model] == [line["categories"] for line in by_lexicon]
    assert by_lexicon[0]["words"] == {"color": ["red"], "object": ["cat"]}
    assert (tmp_path / "m" / "per_caption.csv").read_text().splitlines()[2] == "2,two dogs,1,0,1,0,0,0,0,0,2,"
    assert json.loads((tmp_path / "m" / "study.json").read_text())["found_by"]["model"] == "scripted/model"


@pytest.mark.parametrize(
    "lie",
    [
        '{"categories": ["object", "mood"]}',
        '{"categories": "object"}',
        '{"categories": ["object"], "sure": true}',
        "object, color",
        '["object"]',
        "",
        '{"categories": ["Object"]}',
        '{"categories": [null]}',
    ],
)
def test_lies_are_no_answers_and_are_counted(lie: str, file: Path) -> None:
    study = study_captions(file, model=Scripted(lambda caption: lie if "dogs" in caption else honest(caption)))
    assert study.unanswered == {"unreadable": 1}
    assert (study.counts.captions, study.captions, study.cost) == (5, 6, 0.25 * 4 + 0.5)


def test_what_is_there_is_not_asked_again_and_what_is_missing_is(file: Path, tmp_path: Path) -> None:
    refusing = Scripted(lambda caption: Unanswered("refused", "no dogs") if "dogs" in caption else honest(caption))
    first = study_captions(file, model=refusing, out=tmp_path / "out")
    assert first.unanswered == {"refused": 1}
    assert lines(tmp_path / "out")[1] == {
        "line": 2,
        "caption": "two dogs",
        "categories": None,
        "unanswered": "refused",
        "reason": "no dogs",
    }
    assert estimate_caption_study(file, Scripted(), out=tmp_path / "out")[:2] == (6, 1)
    file.write_text("a new cat\n" + file.read_text())
    model = Scripted()
    second = study_captions(file, model=model, out=tmp_path / "out")
    assert sorted(model.asked) == ["a new cat", "two dogs"]
    assert not second.unanswered
    assert second.counts == study_captions(file).counts


def test_an_end_in_the_middle_loses_no_answer(file: Path, tmp_path: Path) -> None:
    def break_down(caption: str) -> str:
        if "house" in caption:
            raise KeyboardInterrupt
        return honest(caption)

    broken = Scripted(break_down, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        study_captions(file, model=broken, out=tmp_path / "out")
    assert not (tmp_path / "out" / "per_caption.jsonl").exists()
    model = Scripted()
    study_captions(file, model=model, out=tmp_path / "out")
    assert set(model.asked).isdisjoint(broken.asked[:-1])
    assert len(lines(tmp_path / "out")) == 6


def test_answers_to_another_question_are_not_used(file: Path, tmp_path: Path) -> None:
    study_captions(file, model=Scripted(), out=tmp_path / "out")
    with pytest.raises(FormalimgError, match="another folder"):
        study_captions(file, model=Scripted(settings={"temperature": 1}), out=tmp_path / "out")
    (tmp_path / "find-categories.txt").write_text("Which? {caption}")
    with pytest.raises(FormalimgError, match="another folder"):
        study_captions(file, model=Scripted(), out=tmp_path / "out", prompts=tmp_path)


def test_a_model_that_can_never_answer_ends_the_study(file: Path) -> None:
    def no_key(caption: str) -> str:
        raise FormalimgError("the key is wrong")

    with pytest.raises(FormalimgError, match="the key is wrong"):
        study_captions(file, model=Scripted(no_key))


def test_it_works_where_a_loop_is_running(file: Path, tmp_path: Path) -> None:
    async def in_a_notebook() -> int:
        return study_captions(file, model=Scripted(), out=tmp_path / "out").captions

    assert asyncio.run(in_a_notebook()) == 6


def test_the_captions_themselves_are_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "per_caption.jsonl"
    path.write_text('{"caption": "a cat"}\n')
    with pytest.raises(FormalimgError, match="overwritten"):
        study_captions(path, out=tmp_path)
    assert path.read_text() == '{"caption": "a cat"}\n'


def test_the_text_does_not_change_without_a_new_version() -> None:
    question = load_question()
    assert (question.version, hashlib.sha256(question.text.encode()).hexdigest()[:12]) == ("version 1", "086778eda3a5")


def test_every_format_has_all_figures(file: Path) -> None:
    study = study_captions(file)
    data = json.loads(caption_study_json(study))
    assert data["all"]["histogram"] == {str(size): count for size, count in enumerate(study.counts.histogram)}
    assert data["all"]["together"]["object"]["color"] == study.counts.together("object", "color") == 2
    assert data["with_object"]["captions"] == 5
    rows = [row.split(",") for row in caption_study_csv(study).splitlines()]
    assert {len(row) for row in rows} == {6}
    assert sum(int(row[4]) for row in rows if row[:2] == ["all", "histogram"]) == 6
    assert len([row for row in rows if row[:2] == ["with_object", "together"]]) == 64


@pytest.mark.parametrize("name", SCHEMAS)
def test_answers_with_another_schema_are_refused(tmp_path: Path, name: str) -> None:
    with closing(CaptionAnswerCache(tmp_path, {"model": "m"})) as cache:
        cache.put("a cat", 1, "raw")
    change_schema(tmp_path / "answers.sqlite", name, "answers", "found")
    with pytest.raises(FormalimgError, match=r"answers\.sqlite (holds|lacks) the .*: choose another folder"):
        CaptionAnswerCache(tmp_path, {"model": "m"})


@pytest.mark.parametrize("value", VALUES)
def test_answers_that_we_did_not_write_are_refused(tmp_path: Path, value: str) -> None:
    with closing(CaptionAnswerCache(tmp_path, {"model": "m"})) as cache:
        cache.put("a cat", 1, "raw")
    apply_edit(tmp_path / "answers.sqlite", HostileEdit("answers", "found", value), all_rows=True)
    with (
        closing(CaptionAnswerCache(tmp_path, {"model": "m"})) as cache,
        pytest.raises(FormalimgError, match=r"answers\.sqlite cannot be used: .*; choose another folder"),
    ):
        cache.get("a cat")
