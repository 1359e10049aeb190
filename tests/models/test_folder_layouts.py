"""Layouts of premade images: published, maps, and which file is which."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, Refused
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.reports.comparison import compare
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, images_to_match
from formalimg.runs.reader import open_run
from tests.models.test_folder_round_trip import answers, image, images_found, opened, put, wanted


def repository(folder: Path, models: tuple[str, ...] = ("my-model",), task: str = "knolling") -> Path:
    """What FormalImg's scripts leave behind after a run with these models."""
    for model in models:
        base = f"responses/{task}/{model}"
        put(folder, {f"{base}/imgs/{item}.png": image(item) for item in range(3)})
        put(folder, {f"{base}/grounding/imgs/{item}_vis.png": image(90 + item) for item in range(3)})
        put(folder, {f"{base}/grounding/check/{item}_check.jpg": image(80 + item, "jpg") for item in range(3)})
        put(folder, {f"{base}/results/{item}.json": "{}" for item in range(3)})
    return put(folder, {"benchmarks/knolling/0.json": "{}", "README.md": "words", ".git/config": ""})


@pytest.mark.parametrize(
    "inside",
    ["", "responses", "responses/knolling", "responses/knolling/my-model", "responses/knolling/my-model/imgs"],
)
def test_any_folder_of_the_repository_down_to_the_images_will_do(tmp_path: Path, inside: str) -> None:
    model = opened(repository(tmp_path) / inside)
    assert images_found(model, wanted(4)) == {(str(item), 0): image(item) for item in range(3)}
    assert model.match(wanted(4)).extra == ()


@pytest.mark.parametrize("inside", ["", "responses", "responses/knolling"])
def test_several_models_are_an_error_that_lists_them(tmp_path: Path, inside: str) -> None:
    folder = repository(tmp_path, ("one", "two")) / inside
    with pytest.raises(FormalimgError, match=r"2 models: give one of .*knolling|one/imgs/, two/imgs/") as caught:
        opened(folder).match(wanted(3))
    assert "one/imgs/" in str(caught.value)
    assert "two/imgs/" in str(caught.value)
    assert images_found(opened(tmp_path / "responses/knolling/two"), wanted(3)).keys() == {
        ("0", 0),
        ("1", 0),
        ("2", 0),
    }


def test_two_tasks_are_told_apart(tmp_path: Path) -> None:
    repository(tmp_path)
    repository(tmp_path, task="natural")
    with pytest.raises(FormalimgError, match=r"responses/knolling/my-model/imgs/, responses/natural/my-model/imgs/"):
        opened(tmp_path).match(wanted(3))


def test_a_flat_folder_is_read_itself_even_if_others_lie_in_it(tmp_path: Path) -> None:
    put(tmp_path, {"0.png": image(0), "old/imgs/0.png": image(1)})
    model = opened(tmp_path)
    assert images_found(model, wanted(1)) == {("0", 0): image(0)}
    assert model.match(wanted(1)).extra == ("old/imgs/0.png",)


def test_overlays_of_a_grounder_are_not_taken_for_images(tmp_path: Path) -> None:
    put(tmp_path, {"grounding/imgs/0.png": image(0)})
    with pytest.raises(FormalimgError, match=r"none of its 1 images \(grounding/imgs/0\.png\)"):
        opened(tmp_path).match(wanted(1))


def test_images_are_not_looked_for_in_depths_where_none_belong(tmp_path: Path) -> None:
    put(tmp_path, {"a/b/c/d/imgs/0.png": image(0)})
    with pytest.raises(FormalimgError, match="none of its 1 images"):
        opened(tmp_path).match(wanted(1))


def test_blocked_images_are_refusals(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0), "1.png.blocked": "", "2.PNG.blocked": "", "9.png.blocked": ""}))
    matching = model.match(wanted(3))
    assert [found.item for found in matching.blocked] == ["1", "2"]
    assert matching.missing == ()
    assert matching.extra == ("9.png.blocked",)
    first, second, _ = answers(model, wanted(3))
    assert isinstance(first, Generated)
    assert second == Refused("blocked, as 1.png.blocked says")


def test_an_image_beside_its_marker_counts(tmp_path: Path) -> None:
    """The authors' script asks again for what was blocked, and leaves the marker."""
    model = opened(put(tmp_path, {"0.png": image(0), "0.png.blocked": ""}))
    assert images_found(model, wanted(1)) == {("0", 0): image(0)}
    matching = model.match(wanted(1))
    assert (matching.blocked, matching.extra) == ((), ())


def test_a_folder_where_all_is_blocked_is_no_mistake(tmp_path: Path) -> None:
    assert len(opened(put(tmp_path, {"0.png.blocked": ""})).match(wanted(2)).blocked) == 1


def test_leading_zeros_do_not_matter_where_only_one_item_can_be_meant(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0000.png": image(0), "0001_0.png": image(1), "002/000.png": image(2)}))
    assert images_found(model, wanted(3)) == {(str(item), 0): image(item) for item in range(3)}


def test_leading_zeros_matter_where_ids_differ_by_them(tmp_path: Path) -> None:
    wishes = [one._replace(item=item) for one, item in zip(wanted(2), ["7", "007"], strict=True)]
    model = opened(put(tmp_path, {"7.png": image(0), "007.png": image(1), "07.png": image(2)}))
    assert images_found(model, wishes) == {("7", 0): image(0), ("007", 0): image(1)}
    assert model.match(wishes).extra == ("07.png",)


def test_the_first_sample_may_go_without_number(tmp_path: Path) -> None:
    model = opened(put(tmp_path, {"0.png": image(0), "0_1.webp": image(1, "webp"), "0-2.JPEG": image(2, "JPEG")}))
    assert len(images_found(model, wanted(1, samples=3))) == 3


def test_a_name_with_two_meanings_is_refused(tmp_path: Path) -> None:
    wishes = [*wanted(1, samples=2), *(one._replace(item="0_1") for one in wanted(1))]
    model = opened(put(tmp_path, {"0.png": image(0), "0_1.png": image(1)}))
    with pytest.raises(FormalimgError, match=r"0_1\.png can be item 0_1 or sample 1 of item 0"):
        model.match(wishes)


def test_accents_are_the_same_in_either_form(tmp_path: Path) -> None:
    wishes = [wanted(1)[0]._replace(item="k\u00e4se")]
    model = opened(put(tmp_path, {"ka\u0308se.png": image(0)}))
    assert images_found(model, wishes) == {("k\u00e4se", 0): image(0)}


def mapped(folder: Path, content: Any) -> Path:
    put(folder, {"map.json": json.dumps(content)})
    return folder / "map.json"


def test_paths_may_lead_anywhere(tmp_path: Path) -> None:
    put(tmp_path, {"out/zero.png": image(0), "out/one": image(1), "maps/two.PNG": image(2)})
    path = mapped(tmp_path / "maps", {"0": "../out/zero.png", "001": str(tmp_path / "out/one"), "2": "two.PNG"})
    assert images_found(opened(path), wanted(4)) == {(str(item), 0): image(item) for item in range(3)}


def test_lists_are_samples_in_their_order(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "b.png": image(1)})
    path = mapped(tmp_path, {"0": ["b.png", "a.png"], "1": []})
    assert images_found(opened(path), wanted(2, samples=2)) == {("0", 0): image(1), ("0", 1): image(0)}


def test_entries_may_name_items_or_prompts(tmp_path: Path) -> None:
    put(tmp_path, {f"{name}.png": image(number) for number, name in enumerate("abc")})
    content = [
        {"item": 2, "path": "a.png"},
        {"id": "0", "file": "b.png", "note": "mine"},
        {"prompt": "prompt 1", "image": "c.png"},
    ]
    expected = {("2", 0): image(0), ("0", 0): image(1), ("1", 0): image(2)}
    assert images_found(opened(mapped(tmp_path, content)), wanted(3)) == expected


def test_items_that_nobody_wants_are_extra_and_lost_files_are_told(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0)})
    matching = opened(mapped(tmp_path, {"0": "a.png", "9": "a.png", "1": "gone.png", "8": "gone.png"})).match(wanted(2))
    assert (matching.extra, matching.absent) == (("a.png",), ("gone.png",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"0": 3}', r"map\.json, item 0: file must name a file"),
        ('{"0": ["a.png", null]}', r"map\.json, item 0: file must name a file"),
        ('{"0": "a.png", "0": "b.png"}', "'0' occurs twice"),
        ('[{"item": 0, "file": "a.png"}, 7]', r"map\.json, entry 2: must be an object"),
        ('[{"item": 0}]', r"map\.json, entry 1: file_name or file or path or image must name a file"),
        ("7", r"map\.json must be an object"),
        ("", r"cannot be read as JSON"),
        ("{}", "holds no images"),
    ],
)
def test_bad_maps_are_told(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"map.json": text, "a.png": image(0)})
    with pytest.raises(FormalimgError, match=message):
        opened(tmp_path / "map.json").match(wanted(1))


@pytest.mark.parametrize("name", ["x" * 5000, "\udc80.png", "a.png/b.png"])
def test_names_that_no_file_can_have_are_not_there(tmp_path: Path, name: str) -> None:
    put(tmp_path, {"a.png": image(0)})
    assert len(opened(mapped(tmp_path, {"0": "a.png", "1": name})).match(wanted(2)).absent) == 1


def test_a_map_by_another_name_needs_to_be_called_one(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "pictures.txt": '{"0": "a.png"}'})
    assert len(images_found(opened(tmp_path / "pictures.txt", layout="map"), wanted(1))) == 1
    with pytest.raises(FormalimgError, match="is a file: give the folder"):
        opened(tmp_path / "pictures.txt")


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
