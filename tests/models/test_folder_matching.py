"""Which file of a folder or map is the image of which item: trees in, matches or an error of one line out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.benchmarks.conditions import Condition
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.reports.comparison import compare
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, images_to_match
from formalimg.runs.reader import open_run
from tests.models.test_folder_round_trip import image, opened, put, wanted
from tests.support.sizes import tries

Tree = str | Mapping[str, Any]


def grow(folder: Path, tree: Tree) -> Path:
    """Write a tree: names alone are images; metadata and maps are given as data, or as text."""
    files = dict.fromkeys(tree.split(), 0) if isinstance(tree, str) else dict(tree)
    for number, (name, content) in enumerate(files.items()):
        if isinstance(content, int):
            content = image(number) if not name.endswith((".blocked", ".txt")) else ""
        elif not isinstance(content, str | bytes):
            lines = content if name.endswith("jsonl") else [content]
            content = "".join(f"{json.dumps(line)}\n" for line in lines)
        put(folder, {name: content})
    return folder


def ids(*items: str, samples: int = 1, prompt: str = "prompt {}") -> list[RequestedImage]:
    return [RequestedImage(item, sample, prompt.format(item)) for item in items for sample in range(samples)]


class Match(NamedTuple):
    tree: Tree
    wishes: Sequence[RequestedImage]
    found: dict[str, str]  # file by item, with `:sample` where it is not 0
    extra: str = ""
    inside: str = ""
    layout: str = "published"
    options: Mapping[str, str] = {}


REPOSITORY = "0.json README.md " + " ".join(
    f"responses/knolling/m/{name}"
    for name in ("imgs/0.png", "imgs/1.png", "grounding/imgs/0_vis.png", "results/0.json")
)
GENEVAL = {"00000/samples/0000.png": 0, "00001/samples/0000.png": 0}
ABC = {"a.png": 0, "b.png": 0, "c.png": 0}
MAP: Any = {"layout": "map", "inside": "map.json"}
META: Any = {"layout": "imagefolder"}

MATCHES: dict[str, Match] = {
    **{
        f"repository, {inside}": Match(
            REPOSITORY, wanted(3), {"0": "0.png", "1": "1.png"}, inside=inside
        )
        for inside in ("", "responses", "responses/knolling", "responses/knolling/m", "responses/knolling/m/imgs")
    },
    "a flat folder is read itself": Match("0.png old/imgs/0.png", wanted(1), {"0": "0.png"}, "old/imgs/0.png"),
    "markers of refusals": Match(
        "0.png 1.png.blocked 2.PNG.blocked 9.png.blocked", wanted(3), {"0": "0.png"}, "9.png.blocked"
    ),
    "an image beside its marker": Match("0.png 0.png.blocked", wanted(1), {"0": "0.png"}),
    "leading zeros": Match(
        "0000.png 0001_0.png 002/000.png", wanted(3), {"0": "0000.png", "1": "0001_0.png", "2": "000.png"}
    ),
    "ids that differ by zeros": Match(
        "7.png 007.png 07.png", ids("7", "007"), {"7": "7.png", "007": "007.png"}, "07.png"
    ),
    "the first sample without a number": Match(
        "0.png 0_1.webp 0-2.JPEG", wanted(1, 3), {"0": "0.png", "0:1": "0_1.webp", "0:2": "0-2.JPEG"}
    ),
    "accents in either form": Match("ka\u0308se.png", ids("k\u00e4se"), {"k\u00e4se": "ka\u0308se.png"}),
    "natural order": Match("0.png 10.png 9.png 0011.png 008.png", wanted(1), {"0": "0.png"},
        "008.png 9.png 10.png 0011.png"),
    "litter": Match(
        ".DS_Store ._0.png Thumbs.db .cache/1.png __MACOSX/2.png desktop.ini 0.json a.txt 0.png", wanted(3),
            {"0": "0.png"}
    ),
    "other formats": Match("0.png 1.gif", wanted(2), {"0": "0.png"}, "1.gif"),
    "the same bytes twice": Match({"0.png": b"x", "0.PNG": b"x"}, wanted(1), {"0": "0.PNG"}),
    "differing files of an unwanted item": Match("0.png 7.png 7.webp", wanted(1), {"0": "0.png"}, "7.png 7.webp"),
    "a layout that is asked for": Match(
        "0.png 00001/samples/0000.png", wanted(2), {"0": "0.png"}, options={"layout": "published"},
        extra="00001/samples/0000.png",
    ),
    "a pattern of files": Match("0.png 1.png", wanted(2), {"1": "1.png"}, options={"files": "1*"}),
    "maps lead anywhere": Match(
        {"out/zero.png": 0, "out/one": 0, "maps/map.json": {"0": "../out/zero.png", "001": "../out/one"}},
        wanted(3), {"0": "zero.png", "1": "one"}, inside="maps/map.json", layout="map",
    ),
    "lists are samples": Match(
        {**ABC, "map.json": {"0": ["b.png", "a.png"], "1": []}}, wanted(2, 2), {"0": "b.png", "0:1": "a.png"}, **MAP
    ),
    "entries name items or prompts": Match(
        {**ABC, "map.json": [
            {"item": 2, "path": "a.png"}, {"id": "0", "file": "b.png", "note": "mine"}, {"prompt": "prompt 1",
                "image": "c.png"},
        ]}, wanted(3), {"2": "a.png", "0": "b.png", "1": "c.png"}, **MAP,
    ),
    "maps by prompts": Match({**ABC, "map.json": {"prompt 1": "a.png"}}, wanted(2), {"1": "a.png"}, **MAP),
    "items that are not wanted": Match(
        {**ABC, "map.json": {"0": "a.png", "9": "a.png", "1": "gone.png", "8": "gone.png"}},
        wanted(2), {"0": "a.png"}, "a.png", **MAP,
    ),
    "names that no file can have": Match(
        {"a.png": 0, "map.json": {"0": "a.png", "1": "x" * 5000, "2": "\udc80.png", "3": "a.png/b.png"}},
        wanted(4), {"0": "a.png"}, **MAP,
    ),
    "a map by another name": Match(
        {"a.png": 0, "pictures.txt": '{"0": "a.png"}'}, wanted(1), {"0": "a.png"}, inside="pictures.txt", layout="map",
        options={"layout": "map"},
    ),
    "metadata of a run": Match(
        {**ABC, "metadata.jsonl": [
            {"file_name": "a.png", "item": "1", "sample": 0, "prompt": "prompt 1", "level": 2, "seed": 9},
            {"file_name": "./b.png", "item": "0", "sample": 1, "prompt": "prompt 0"},
        ]}, wanted(2, 2), {"1": "a.png", "0:1": "b.png"}, "c.png", **META,
    ),
    "ids, and prompts where no item has the id": Match(
        {**ABC, "metadata.jsonl": [
            {"file_name": "a.png", "id": 1, "prompt": "a rewritten prompt"}, {"file_name": "b.png", "id": "x",
                "text": "prompt 0"},
        ]}, wanted(2), {"1": "a.png", "0": "b.png"}, "c.png", **META,
    ),
    "an item is binding": Match(
        {**ABC, "metadata.jsonl": [{"file_name": "a.png", "item": "77", "prompt": "prompt 0"},
            {"file_name": "b.png", "item": 1}]},
        wanted(2), {"1": "b.png"}, "a.png c.png", **META,
    ),
    "lines in the order of samples": Match(
        {**ABC, "metadata.jsonl": [{"file_name": f"{name}.png", "prompt": "prompt 0"} for name in "bca"]},
        wanted(1, 2), {"0": "b.png", "0:1": "c.png"}, "a.png", **META,
    ),
    "metadata with accents": Match(
        {"ka\u0308se.png": 0, "metadata.jsonl": [{"file_name": "k\u00e4se.png", "item": 0}]},
        wanted(1), {"0": "ka\u0308se.png"}, **META,
    ),
    "tables with columns of their own and prompts over lines": Match(
        {"a.png": 0, "b.png": 0,
            "metadata.csv": '\ufefffile_name,score,prompt\r\na.png,6.1,"two\r\nlines"\r\nb.png,,one\u2028line\r\n'},
        [RequestedImage("0", 0, "two\r\nlines"), RequestedImage("1", 0, "one\u2028line")], {"0": "a.png",
            "1": "b.png"}, **META,
    ),
    "geneval: prompts decide over numbers": Match(
        {name: content for place, item in enumerate([2, 0, 1]) for name, content in {
            f"{place:05}/samples/0000.png": 0, f"{place:05}/grid.png": 0,
            f"{place:05}/metadata.jsonl": [{"tag": "single_object", "include": [], "prompt": f"prompt {item}"}],
        }.items()},
        wanted(3), {"2": "0000.png", "0": "0000.png", "1": "0000.png"}, layout="geneval",
    ),
    "geneval: another prompt is not taken by number": Match(
        {**GENEVAL, "00000/metadata.jsonl": [{"prompt": "something else"}]},
        wanted(2), {"1": "0000.png"}, "00000/samples/0000.png", layout="geneval",
    ),
    "geneval: numbers of the whole suite": Match(
        {f"{place:05}/samples/0000.png": 0 for place in range(4)},
        [one._replace(number=int(one.item)) for one in wanted(4)[2:]], {"2": "0000.png", "3": "0000.png"},
        "00000/samples/0000.png 00001/samples/0000.png", layout="geneval",
    ),
    "geneval: other images": Match(
        {**GENEVAL, "00000/samples/best.png": 0, "0.png": 0}, wanted(2), {"0": "0000.png", "1": "0000.png"},
        "0.png 00000/samples/best.png", layout="geneval",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MATCHES)
def test_each_item_gets_its_file(tmp_path: Path, name: str) -> None:
    case = MATCHES[name]
    model = opened(grow(tmp_path, case.tree) / case.inside, **case.options)
    assert model.settings == {"version": 1, "layout": case.layout}
    matching = model.match(case.wishes)
    keys = {one.item + (f":{one.sample}" if one.sample else ""): Path(one.file).name for one in matching.found}
    assert keys == case.found
    assert matching.extra == tuple(case.extra.split())
    assert len(matching.found) + len(matching.blocked) + len(matching.missing) == len(case.wishes)


class Refusal(NamedTuple):
    tree: Tree
    message: str
    wishes: Sequence[RequestedImage] = tuple(wanted(2))
    inside: str = ""
    options: Mapping[str, str] = {}


def line(text: str, problem: str) -> Refusal:
    tree = {"a.png": 0, "metadata.jsonl": f'{{"file_name": "a.png", "item": 0}}\n\n{text}\n'}
    return Refusal(tree, rf"^metadata\.jsonl, line 3: .*{problem}")


def bad_map(text: str, message: str) -> Refusal:
    return Refusal({"map.json": text, "a.png": 0}, message, inside="map.json")


REFUSALS: dict[str, Refusal] = {
    "two models": Refusal(
        "responses/knolling/one/imgs/0.png responses/knolling/two/imgs/0.png",
            "2 models: give one of .*one/imgs/, .*two/imgs/"
    ),
    "two tasks": Refusal(
        "responses/knolling/m/imgs/0.png responses/natural/m/imgs/0.png", "knolling/m/imgs/, responses/natural/m/imgs/"
    ),
    "overlays of a grounder": Refusal("grounding/imgs/0.png", r"none of its 1 images \(grounding/imgs/0\.png\)"),
    "depths where no images belong": Refusal("a/b/c/d/imgs/0.png", "none of its 1 images"),
    "a name with two meanings": Refusal(
        "0.png 0_1.png", r"0_1\.png can be item 0_1 or sample 1 of item 0", [*wanted(1, 2), *ids("0_1")]
    ),
    "different files": Refusal(
        "7.png 7.jpg 3.png 3_0.png",
            r"3\.png and 3_0\.png \(item 3, sample 0\), 7\.jpg and 7\.png \(item 7, sample 0\)", wanted(9)
    ),
    "different files of one size": Refusal({"0.png": b"abcd", "00.png": b"abc!"}, "different files"),
    "geneval: number and prompt": Refusal({**GENEVAL, "00001/metadata.jsonl": [{"prompt": "prompt 0"}]},
        "different files"),
    "geneval: a prompt of two items": Refusal(
        {"00000/samples/0000.png": 0, "00000/metadata.jsonl": [{"prompt": "same"}]},
        r"00000/metadata\.jsonl: items 0 and 1 have the same prompt", ids("0", "1", prompt="same"),
    ),
    "geneval: numbers beyond what is wanted": Refusal(
        {f"{place:05}/samples/0000.png": 0 for place in range(10)}, "beyond the 2 wanted items", wanted(10)[5:7]
    ),
    **{
        f"geneval: metadata {text}": Refusal({**GENEVAL, "00000/metadata.jsonl": text},
            r"^00000/metadata\.jsonl, line 1: ")
        for text in ("{oops}", "[1]", '{"prompt": 3}')
    },
    "nothing wanted": Refusal("cat.png dog.png",
        r"none of its 2 images \(cat\.png, dog\.png\) is one of the 2 wanted: looked for 0"),
    "another sample": Refusal("0_1.png", r"\(0_1\.png\) is one of the 2 wanted: looked for 0\.png or 0_0\.png"),
    "another format": Refusal("0.gif", r"none of its 1 images \(0\.gif\)"),
    "an empty folder": Refusal("", r"holds no images: it should have files such as 0\.png"),
    "no images": Refusal("notes.txt", r"holds no images"),
    "metadata below": Refusal({"images/x.png": 0, "images/metadata.jsonl": "{}", "run.toml": ""},
        r"perhaps .*/images was meant"),
    "geneval: nothing wanted": Refusal(
        {"00007/samples/0000.png": 0, "00007/metadata.jsonl": [{"prompt": "?"}]},
            r"looked for 00000/samples/0000\.png, or the prompt"
    ),
    "metadata with nothing wanted": Refusal(
        {"x.png": 0, "metadata.jsonl": [{"prompt": "?", "file_name": "x.png"}]},
            r"looked for item 0 or the prompt 'prompt 0' \(layout="
    ),
    "metadata whose files are gone": Refusal(
        {"metadata.jsonl": [{"item": 0, "file_name": "x.png"}]},
            r"the images that it names are not there, such as x\.png"
    ),
    "no metadata": Refusal("0.png", r"has no metadata\.jsonl or metadata\.csv", options={"layout": "imagefolder"}),
    "two kinds of metadata": Refusal({"metadata.jsonl": "", "metadata.csv": ""},
        r"both metadata\.jsonl and metadata\.csv: keep one"),
    "no UTF-8": Refusal({"a.png": 0, "metadata.jsonl": '{"item": "ä"}'.encode("latin-1")}, "not UTF-8 text"),
    "a metadata prompt of two items": Refusal(
        {"a.png": 0, "metadata.jsonl": [{"file_name": "a.png", "prompt": "same"}]},
            "line 1: items 0 and 1 have this prompt: add item",
        ids("0", "1", prompt="same"),
    ),
    **{
        f"{field} with the prompt of another item": Refusal(
            {"a.png": 0, "metadata.jsonl": [{"file_name": "a.png", field: 0, "prompt": "prompt 1"}]},
            r"^metadata\.jsonl, line 1: says item 0, but the prompt is that of item 1",
        )
        for field in ("item", "id")
    },
    **{
        f"a name that leads out: {name}": Refusal(
            {"in/a.png": 0, "in/metadata.jsonl": [{"file_name": "a.png", "item": 0}, {"file_name": name, "item": 1}]},
            r"^metadata\.jsonl, line 2: file_name must be a path inside the folder", inside="in",
        )
        for name in ("../b.png", "/etc/b.png", "x/../../b.png", "C:\\b.png", "C:b.png", "..\\b.png", "x/..")
    },
    "cut off": line('{"file_name": "b.png", "item": 1', "cannot be read as JSON"),
    "nested": line("[" * 100_000, "cannot be read as JSON"),
    "twice": line('{"file_name": "b.png", "item": 1, "item": 2}', "'item' occurs twice"),
    "a list": line('["b.png", 1]', "must be a JSON object"),
    "no file": line('{"item": 1}', "file_name or file or path or image must name a file"),
    "a number for a file": line('{"file_name": 3, "item": 1}', "file_name or file or path or image must name a file"),
    "a null byte": line('{"file_name": "b\\u0000.png", "item": 1}', "must name a file"),
    "no item": line('{"file_name": "b.png", "item": null}', "must say the item"),
    "an item that is true": line('{"file_name": "b.png", "item": true}', "item must be text or a whole number"),
    "an id that is 1.0": line('{"file_name": "b.png", "id": 1.0}', "id must be text or a whole number"),
    "a prompt that is a list": line('{"file_name": "b.png", "prompt": ["x"]}', "prompt must be text"),
    "sample -1": line('{"file_name": "b.png", "item": 1, "sample": -1}', "sample must be a whole number"),
    "sample first": line('{"file_name": "b.png", "item": 1, "sample": "first"}', "sample must be a whole number"),
    **{
        f"table: {message}": Refusal({"a.png": 0, "metadata.csv": table}, rf"metadata\.csv, {message}")
        for table, message in {
            "file_name,item\na.png,0,extra\n": "line 2: has more cells",
            'file_name,item\na.png,0\n"b.png,1\n': "line 3: cannot be read",
            "file_name,item,item\na.png,0,1\n": "line 1: two columns have the same name",
            "file_name,item\na.png,\n": "line 2: must say the item",
        }.items()
    },
    "map: a number": bad_map('{"0": 3}', r"map\.json, item 0: file must name a file"),
    "map: a null": bad_map('{"0": ["a.png", null]}', r"map\.json, item 0: file must name a file"),
    "map: twice": bad_map('{"0": "a.png", "0": "b.png"}', "'0' occurs twice"),
    "map: no object": bad_map('[{"item": 0, "file": "a.png"}, 7]', r"map\.json, entry 2: must be an object"),
    "map: no file": bad_map('[{"item": 0}]',
        r"map\.json, entry 1: file_name or file or path or image must name a file"),
    "map: 7": bad_map("7", r"map\.json must be an object"),
    "map: empty": bad_map("", r"cannot be read as JSON"),
    "map: no images": bad_map("{}", "holds no images"),
    "no folder": Refusal("", r"there is no folder '.*nowhere'", inside="nowhere"),
    "a long name": Refusal("", "there is no folder", inside="x" * 5000),
    "a file": Refusal("a.png", r"a\.png is a file: give the folder of the images, or a map", inside="a.png"),
    "a file with a layout": Refusal("a.png", r"a\.png is a file", inside="a.png", options={"layout": "published"}),
    "a folder as a map": Refusal("a.png", "is a folder: layout=map needs the file that maps",
        options={"layout": "map"}),
    "an unknown layout": Refusal("", "unknown layout 'flat': choose from imagefolder, .*, published, map",
        options={"layout": "flat"}),
    "an unknown option": Refusal("", r"unknown option 'lay': choose from layout, grid", options={"lay": "map"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_matched_is_an_error_that_helps(tmp_path: Path, name: str) -> None:
    case = REFUSALS[name]
    with pytest.raises(FormalimgError, match=case.message) as caught:
        opened(grow(tmp_path, case.tree) / case.inside, **case.options).match(case.wishes)
    assert "\n" not in str(caught.value)


def test_the_report_counts_and_names(tmp_path: Path) -> None:
    grow(tmp_path, {**{f"{item}.png": 0 for item in range(12)}, "12.png.blocked": 0, "notes.png": 0, "13.gif": 0})
    (tmp_path / "0.PNG").write_bytes((tmp_path / "0.png").read_bytes())
    assert opened(tmp_path).match(wanted(17)).summary().splitlines() == [
        f"images in {tmp_path} (layout published)",
        "  found      12  of 17 wanted: 12 by id",
        "  blocked     1  item 12",
        "  missing     4  item 13, item 14, item 15 and 1 more",
        "  extra       2  13.gif, notes.png",
        "  twice       1  0.PNG = 0.png",
    ]
    put(tmp_path, {"metadata.jsonl": '{"file_name": "lost.png", "item": 1}\n{"file_name": "0.png", "item": 0}'})
    report = opened(tmp_path).match(wanted(1, 2) + wanted(2)[1:])
    assert (report.absent, "  missing    2  item 0 sample 1" in report.summary()) == (("lost.png",), False)
    assert "  not there   1  lost.png" in report.summary()


def test_links_that_lead_out_are_the_users_own_and_circles_end(tmp_path: Path) -> None:
    rows = [{"file_name": "linked.png", "item": 0}, {"file_name": "more/x.png", "item": 1}]
    folder = grow(tmp_path, {"elsewhere/x.png": 0, "in/metadata.jsonl": rows}) / "in"
    (folder / "linked.png").symlink_to(tmp_path / "elsewhere/x.png")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    assert len(opened(folder).match(wanted(2)).found) == 2
    (tmp_path / "elsewhere" / "again").symlink_to(tmp_path / "elsewhere")
    assert len(opened(folder).match(wanted(2)).found) == 2


ITEMS = load("knolling")[:4]
WANTED = images_to_match(dict(enumerate(ITEMS)), samples=1)


@pytest.mark.parametrize(("key", "place"), [("file_name", "metadata.jsonl"), ("path", "elsewhere.jsonl")])
def test_case_white_space_and_our_style_text_do_not_matter(tmp_path: Path, key: str, place: str) -> None:
    styled = Condition(style="long").model_input(ITEMS[2]).prompt
    prompts = [
        ITEMS[0].prompt.upper(),
        f"  {ITEMS[1].prompt.replace(' ', chr(10) + ' ')}\t",
        " ".join(styled.split()),
        Condition(style="short").model_input(ITEMS[3]).prompt,
    ]
    rows = [{key: f"{number}x.png", "prompt": text} for number, text in enumerate(prompts)]
    grow(tmp_path, {place: rows, **{f"{number}x.png": 0 for number in range(4)}})
    matching = opened(tmp_path if place == "metadata.jsonl" else tmp_path / place).match(WANTED)
    assert [found.file for found in matching.found] == ["0x.png", "1x.png", "2x.png", "3x.png"]
    assert matching.ways == "4 by prompt"
    put(tmp_path, {place: json.dumps({key: "0x.png", "prompt": f"A painting. {ITEMS[0].prompt}"})})
    with pytest.raises(FormalimgError, match="is one of the 4 wanted"):  # this is no style text of ours
        opened(tmp_path if place == "metadata.jsonl" else tmp_path / place).match(WANTED)


def test_prompts_that_differ_in_case_only_are_told_apart_where_they_can_be(tmp_path: Path) -> None:
    both = [RequestedImage("a", 0, "A Cup"), RequestedImage("b", 0, "a cup")]
    grow(tmp_path, {"metadata.jsonl": [{"file_name": "0.png", "prompt": "a cup"}], "0.png": 0})
    assert [found.item for found in opened(tmp_path).match(both).found] == ["b"]
    grow(tmp_path, {"metadata.jsonl": [{"file_name": "0.png", "prompt": "A CUP"}]})
    with pytest.raises(FormalimgError, match="line 1: items a and b have this prompt: add item"):
        opened(tmp_path).match(both)


def test_run_report_and_images_say_how_they_were_matched(tmp_path: Path) -> None:
    rows = [{"item": ITEMS[0].id, "file": "0.png"}, *({"prompt": item.prompt, "file": "0.png"} for item in ITEMS[1:])]
    grow(tmp_path, {"map.jsonl": rows, "0.png": 0})
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


_PIECES = ["file_name", "item", "id", "prompt", "sample", "a.png", "0", "1", *'",:{}[]\n\r\0']


@settings(max_examples=tries(50, 150), deadline=None)
@given(
    name=st.sampled_from(["metadata.jsonl", "metadata.csv", "map.json"]),
    content=st.one_of(
        st.binary(max_size=60),
        st.lists(st.sampled_from(_PIECES), max_size=25).map(lambda pieces: "".join(pieces).encode()),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(_PIECES)),
            lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from(_PIECES), inner)),
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_whatever_the_file_holds_it_is_read_or_refused_in_one_line(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as made:
        put(Path(made), {"a.png": image(0), name: content})
        model = opened(Path(made, name) if name == "map.json" else Path(made))
        try:
            matching = model.match(wanted(2))
        except FormalimgError as error:
            assert str(error).isprintable()
        else:
            assert {found.file for found in matching.found} == {"a.png"}


def test_names_that_are_no_text_are_read(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9")
    try:
        put(tmp_path, {f"{odd}/0.png": image(0)})
    except OSError:
        pytest.skip("this file system only takes names that are text")
    put(tmp_path, {"map.json": '{"0": "caf\\udce9/0.png"}'})
    model = opened(tmp_path / "map.json")
    model.match(wanted(1))
    assert model.fingerprint("0", 0).encode("utf-8").startswith(b"caf?/0.png:")
