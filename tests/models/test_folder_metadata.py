"""Images with metadata beside them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from tests.models.test_folder_round_trip import image, images_found, opened, put, wanted
from tests.support.sizes import tries


def described(folder: Path, *rows: dict[str, Any], ending: str = "\n") -> Path:
    """A folder with the images a.png, b.png and c.png and these lines about them."""
    put(folder, {f"{name}.png": image(number) for number, name in enumerate("abc")})
    return put(folder, {"metadata.jsonl": ending.join(json.dumps(row) for row in rows)})


def test_a_runs_own_images_can_be_judged_again(tmp_path: Path) -> None:
    described(
        tmp_path,
        {"file_name": "a.png", "item": "1", "sample": 0, "prompt": "prompt 1", "level": 2, "seed": 9, "sha256": "…"},
        {"file_name": "./b.png", "item": "0", "sample": 1, "prompt": "prompt 0", "level": 1, "seed": 8},
    )
    model = opened(tmp_path)
    assert model.settings == {"version": 1, "layout": "imagefolder"}
    assert images_found(model, wanted(2, samples=2)) == {("1", 0): image(0), ("0", 1): image(1)}
    assert model.match(wanted(2, samples=2)).extra == ("c.png",)


def test_ids_come_first_and_prompts_where_no_item_has_the_id(tmp_path: Path) -> None:
    described(
        tmp_path,
        {"file_name": "a.png", "id": 1, "prompt": "a rewritten prompt"},
        {"file_name": "b.png", "id": "x81", "text": "prompt 0"},
    )
    assert images_found(opened(tmp_path), wanted(2)) == {("1", 0): image(0), ("0", 0): image(1)}


def test_item_is_binding(tmp_path: Path) -> None:
    """Two items of a suite may have one prompt; an image of the one that is not wanted is not taken for the other."""
    described(tmp_path, {"file_name": "a.png", "item": "77", "prompt": "prompt 0"}, {"file_name": "b.png", "item": 1})
    matching = opened(tmp_path).match(wanted(2))
    assert [found.item for found in matching.found] == ["1"]
    assert matching.extra == ("a.png", "c.png")


@pytest.mark.parametrize("field", ["item", "id"])
def test_an_id_with_the_prompt_of_another_item_is_refused(tmp_path: Path, field: str) -> None:
    described(tmp_path, {"file_name": "a.png", field: 0, "prompt": "prompt 1"})
    with pytest.raises(
        FormalimgError, match=r"^metadata\.jsonl, line 1: says item 0, but the prompt is that of item 1"
    ):
        opened(tmp_path).match(wanted(2))


def test_a_prompt_of_two_items_is_refused(tmp_path: Path) -> None:
    described(tmp_path, {"file_name": "a.png", "prompt": "same"})
    with pytest.raises(FormalimgError, match=r"line 1: items 0 and 1 have this prompt: add item"):
        opened(tmp_path).match([one._replace(prompt="same") for one in wanted(2)])


def test_lines_without_sample_are_in_the_order_of_samples(tmp_path: Path) -> None:
    described(tmp_path, *({"file_name": f"{name}.png", "prompt": "prompt 0"} for name in "bca"))
    assert images_found(opened(tmp_path), wanted(1, samples=3)) == {
        ("0", sample): image(number) for sample, number in enumerate([1, 2, 0])
    }
    matching = opened(tmp_path).match(wanted(1))
    assert (matching.found[0].file, matching.extra) == ("b.png", ("c.png", "a.png"))


def test_files_that_are_named_but_not_there_are_told(tmp_path: Path) -> None:
    described(tmp_path, {"file_name": "a.png", "item": 0}, {"file_name": "lost.png", "item": 1})
    matching = opened(tmp_path).match(wanted(2))
    assert matching.absent == ("lost.png",)
    assert [one.item for one in matching.missing] == ["1"]
    assert "not there  1  lost.png" in matching.summary()


@pytest.mark.parametrize(
    "name", ["../b.png", "/etc/b.png", "x/../../b.png", "C:\\b.png", "C:b.png", "..\\b.png", "x/.."]
)
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    described(tmp_path / "in", {"file_name": "a.png", "item": 0}, {"file_name": name, "item": 1})
    with pytest.raises(FormalimgError, match=r"^metadata\.jsonl, line 2: file_name must be a path inside the folder"):
        opened(tmp_path / "in").match(wanted(2))


def test_links_that_lead_out_are_the_users_own(tmp_path: Path) -> None:
    put(tmp_path, {"elsewhere/x.png": image(5)})
    folder = described(tmp_path / "in", {"file_name": "linked.png", "item": 0}, {"file_name": "more/x.png", "item": 1})
    (folder / "linked.png").symlink_to(tmp_path / "elsewhere/x.png")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    assert images_found(opened(folder), wanted(2)) == {("0", 0): image(5), ("1", 0): image(5)}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"file_name": "b.png", "item": 1', "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ('{"file_name": "b.png", "item": 1, "item": 2}', "'item' occurs twice"),
        ('["b.png", 1]', "must be a JSON object"),
        ('{"item": 1}', "file_name or file or path or image must name a file"),
        ('{"file_name": 3, "item": 1}', "file_name or file or path or image must name a file"),
        ('{"file_name": "b\\u0000.png", "item": 1}', "file_name or file or path or image must name a file"),
        ('{"file_name": "b.png"}', "must say the item"),
        ('{"file_name": "b.png", "item": null}', "must say the item"),
        ('{"file_name": "b.png", "item": true}', "item must be text or a whole number"),
        ('{"file_name": "b.png", "id": 1.0}', "id must be text or a whole number"),
        ('{"file_name": "b.png", "prompt": ["x"]}', "prompt must be text"),
        ('{"file_name": "b.png", "item": 1, "sample": -1}', "sample must be a whole number"),
        ('{"file_name": "b.png", "item": 1, "sample": "first"}', "sample must be a whole number"),
    ],
)
def test_bad_lines_are_named_by_their_number(tmp_path: Path, line: str, problem: str) -> None:
    put(tmp_path, {"a.png": image(0), "b.png": image(1)})
    put(tmp_path, {"metadata.jsonl": f'{{"file_name": "a.png", "item": 0}}\n\n{line}\n'})
    with pytest.raises(FormalimgError) as caught:
        opened(tmp_path).match(wanted(2))
    assert str(caught.value).startswith("metadata.jsonl, line 3: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("file_name,item\na.png,0,extra\n", r"metadata\.csv, line 2: has more cells"),
        ('file_name,item\na.png,0\n"b.png,1\n', r"metadata\.csv, line 3: cannot be read"),
        ("file_name,item,item\na.png,0,1\n", r"metadata\.csv, line 1: two columns have the same name"),
        ("file_name,item\na.png,\n", r"metadata\.csv, line 2: must say the item"),
    ],
)
def test_bad_tables_are_named_by_line(tmp_path: Path, table: str, message: str) -> None:
    put(tmp_path, {"a.png": image(0), "metadata.csv": table})
    with pytest.raises(FormalimgError, match=message):
        opened(tmp_path).match(wanted(2))


def test_tables_may_have_columns_of_their_own_and_prompts_over_lines(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "b.png": image(1)})
    put(
        tmp_path,
        {"metadata.csv": '\ufefffile_name,aesthetic,prompt\r\na.png,6.1,"two\r\nlines"\r\nb.png,,one\u2028line\r\n'},
    )
    wishes = [wanted(2)[0]._replace(prompt="two\r\nlines"), wanted(2)[1]._replace(prompt="one\u2028line")]
    assert images_found(opened(tmp_path), wishes) == {("0", 0): image(0), ("1", 0): image(1)}


def test_text_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    put(tmp_path, {"a.png": image(0), "metadata.jsonl": '{"file_name": "a.png", "item": "ä"}'.encode("latin-1")})
    with pytest.raises(FormalimgError, match="not UTF-8 text"):
        opened(tmp_path).match(wanted(1))


def test_names_are_found_with_accents_in_either_form(tmp_path: Path) -> None:
    put(tmp_path, {"ka\u0308se.png": image(0), "metadata.jsonl": '{"file_name": "k\u00e4se.png", "item": 0}'})
    model = opened(tmp_path)
    assert images_found(model, wanted(1)) == {("0", 0): image(0)}
    assert model.match(wanted(1)).extra == ()


def test_two_kinds_of_metadata_are_refused(tmp_path: Path) -> None:
    put(described(tmp_path, {"file_name": "a.png", "item": 0}), {"metadata.csv": "file_name,item\na.png,1\n"})
    with pytest.raises(FormalimgError, match=r"both metadata\.jsonl and metadata\.csv: keep one"):
        opened(tmp_path).match(wanted(2))


_PIECES = [
    "file_name",
    "item",
    "id",
    "prompt",
    "sample",
    "a.png",
    "0",
    "1",
    '"',
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\n",
    "\r",
    "\0",
]


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
