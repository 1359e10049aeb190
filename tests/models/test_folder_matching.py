"""Premade images are matched by prompts as people keep them, and everybody can see how each one was matched."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.reports.comparison import compare
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, images_to_match
from formalimg.runs.reader import open_run
from tests.models.test_folder_round_trip import image, opened, put

ITEMS = load("knolling")[:4]
WANTED = images_to_match(dict(enumerate(ITEMS)), samples=1)


def metadata(prompts: list[str], key: str = "file_name") -> str:
    return "".join(f"{json.dumps({key: f'{number}x.png', 'prompt': text})}\n" for number, text in enumerate(prompts))


@pytest.mark.parametrize("key", ["file_name", "file", "image", "path"])
@pytest.mark.parametrize("place", ["metadata.jsonl", "elsewhere.jsonl"])
def test_case_white_space_and_our_style_text_do_not_matter(tmp_path: Path, key: str, place: str) -> None:
    styled = Condition(style="long").model_input(ITEMS[2]).prompt
    kept = [
        ITEMS[0].prompt.upper(),
        f"  {ITEMS[1].prompt.replace(' ', chr(10) + ' ')}\t",
        " ".join(styled.split()),
        Condition(style="short").model_input(ITEMS[3]).prompt,
    ]
    put(tmp_path, {place: metadata(kept, key), **{f"{number}x.png": image(number) for number in range(4)}})
    matching = opened(tmp_path if place == "metadata.jsonl" else tmp_path / place).match(WANTED)
    assert [found.file for found in matching.found] == ["0x.png", "1x.png", "2x.png", "3x.png"]
    assert matching.ways == "4 by prompt"


def test_other_words_are_another_prompt(tmp_path: Path) -> None:
    longer = f"A painting. {ITEMS[0].prompt}"  # which is no style text of ours
    put(tmp_path, {"metadata.jsonl": metadata([longer, ITEMS[1].prompt]), "0x.png": image(0), "1x.png": image(1)})
    matching = opened(tmp_path).match(WANTED)
    assert ([found.item for found in matching.found], matching.extra) == ([ITEMS[1].id], ("0x.png",))


def test_prompts_that_differ_in_case_only_are_told_apart_where_they_can_be(tmp_path: Path) -> None:
    both = [RequestedImage("a", 0, "A Cup"), RequestedImage("b", 0, "a cup")]
    put(tmp_path, {"metadata.jsonl": metadata(["a cup"]), "0x.png": image(0)})
    assert [found.item for found in opened(tmp_path).match(both).found] == ["b"]
    put(tmp_path, {"metadata.jsonl": metadata(["A CUP"])})
    with pytest.raises(FormalimgError, match="line 1: items a and b have this prompt: add item"):
        opened(tmp_path).match(both)


def test_run_report_and_images_say_how_they_were_matched(tmp_path: Path) -> None:
    """Over two commands, of which the second adds items."""
    rows = [{"item": ITEMS[0].id, "file": "0.png"}, *({"prompt": item.prompt, "file": "0.png"} for item in ITEMS[1:])]
    put(tmp_path, {"map.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows), "0.png": image(0)})
    for selected in (ITEMS[:2], ITEMS):
        execute(RunConfig(selected, opened(tmp_path / "map.jsonl")), tmp_path / "run")
    with closing(open_run(tmp_path / "run")) as run:
        assert run.manifest.matched == run.matched() == "1 by id, 3 by prompt"
        ways = [judged.served["matched_by"] for judged in run.judged()]
        assert ways == ["id", "prompt", "prompt", "prompt"]
        (section,) = compare([run]).sections
    assert any("matched to the items: 1 by id, 3 by prompt." in note for note in section.notes), section.notes
    pytest.importorskip("starlette", reason="the viewer needs the extra web")
    from tests.web.sites import visitor

    page = visitor(tmp_path).get(f"/item?run=run&item={ITEMS[1].id}").text
    assert "<dt>matched_by</dt><dd>prompt</dd>" in page
