"""Images laid out in any way come back as the images of the right items; in doubt nothing comes back."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult, PremadeImageModel
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.models.folder.folder_model import FolderModel, open_folder

FORMATS = {"png": "PNG", "jpg": "JPEG", "JPEG": "JPEG", "webp": "WEBP", "PNG": "PNG"}

IDS = st.one_of(
    st.integers(0, 30).map(str),
    st.sampled_from(["007", "07", "7_1", "7-1", "a", "a_1", "a-b", "ä", "a.b", "1_0", "00"]),
)


def image(number: int, ending: str = "png") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8 + number % 64, 8 + number // 64), (number % 251, 40, 90)).save(file, FORMATS[ending])
    return file.getvalue()


def wanted(items: int, samples: int = 1) -> list[RequestedImage]:
    return [RequestedImage(str(item), sample, f"prompt {item}") for item in range(items) for sample in range(samples)]


def put(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def opened(path: Path, **options: str) -> FolderModel:
    return open_folder(str(path), options)


def answers(model: FolderModel, wishes: Sequence[RequestedImage]) -> list[ImageResult]:
    async def ask() -> list[ImageResult]:
        requests = [ImageRequest(one.item, one.sample, one.prompt, seed=0) for one in wishes]
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(ask())


def images_found(model: FolderModel, wishes: Sequence[RequestedImage]) -> dict[tuple[str, int], bytes]:
    model.match(wishes)
    return {
        (one.item, one.sample): answer.data
        for one, answer in zip(wishes, answers(model, wishes), strict=True)
        if isinstance(answer, Generated)
    }


def _laid_out(
    layout: str, wishes: Sequence[RequestedImage], contents: Sequence[bytes], ending: str
) -> dict[str, bytes | str]:
    places = list(dict.fromkeys(one.item for one in wishes))
    files: dict[str, bytes | str] = {}
    rows = []
    for number, (one, content) in enumerate(zip(wishes, contents, strict=True)):
        match layout:
            case "underscore":
                name = f"{one.item}_{one.sample}.{ending}"
            case "dash":
                name = f"{one.item}-{one.sample:03}.{ending}"
            case "nested":
                name = f"{one.item}/{one.sample}.{ending}"
            case "geneval":
                place = f"{places.index(one.item):05}"
                name = f"{place}/samples/{one.sample:04}.{ending}"
                files[f"{place}/metadata.jsonl"] = json.dumps({"tag": "x", "prompt": one.prompt}) + "\n"
            case "geneval-numbers":
                name = f"{places.index(one.item):05}/samples/{one.sample:05}.{ending}"
            case _:
                name = f"deep/er/{number}.{ending}"
        files[name] = content
        rows.append({"file_name": name, "item": one.item, "sample": one.sample, "prompt": one.prompt, "level": 3})
    random.Random(0).shuffle(rows)
    match layout:
        case "jsonl":
            files["metadata.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
        case "prompts":
            kept = [{"file_name": row["file_name"], "text": row["prompt"], "sample": row["sample"]} for row in rows]
            files["metadata.jsonl"] = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in kept)
        case "csv":
            table = io.StringIO()
            writer = csv.DictWriter(table, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
            files["metadata.csv"] = table.getvalue()
        case "map":
            mapped: dict[str, list[str]] = {}
            for row in sorted(rows, key=lambda row: int(str(row["sample"]))):
                mapped.setdefault(str(row["item"]), []).append(str(row["file_name"]))
            files["map.json"] = json.dumps(mapped)
        case "list":
            listed = [{"id": row["item"], "image": row["file_name"], "sample": row["sample"]} for row in rows]
            files["map.json"] = json.dumps(listed)
    return files


BY_NAME = ["underscore", "dash"]
CERTAIN = ["nested", "geneval", "geneval-numbers", "jsonl", "prompts", "csv", "map", "list"]


def _check(layout: str, ids: Sequence[str], samples: int, ending: str) -> None:
    wishes = [RequestedImage(item, sample, f"a “{item}”, please\n") for item in ids for sample in range(samples)]
    contents = [image(number, ending) for number in range(len(wishes))]
    with tempfile.TemporaryDirectory() as made:
        folder = put(Path(made), _laid_out(layout, wishes, contents, ending))
        found = images_found(opened(folder / "map.json" if layout in ("map", "list") else folder), wishes)
    assert found == {(one.item, one.sample): content for one, content in zip(wishes, contents, strict=True)}


@pytest.mark.parametrize("layout", CERTAIN)
@settings(max_examples=15, deadline=None)
@given(
    ids=st.lists(IDS, min_size=1, max_size=6, unique=True),
    samples=st.integers(1, 3),
    ending=st.sampled_from([*FORMATS]),
)
def test_every_layout_gives_each_item_its_own_images(layout: str, ids: list[str], samples: int, ending: str) -> None:
    _check(layout, ids, samples, ending)


@pytest.mark.parametrize("layout", BY_NAME)
@settings(max_examples=40, deadline=None)
@given(ids=st.lists(IDS, min_size=1, max_size=6, unique=True), samples=st.integers(1, 3))
def test_names_with_samples_give_the_right_images_or_an_error(layout: str, ids: list[str], samples: int) -> None:
    try:
        _check(layout, ids, samples, "png")
    except FormalimgError as error:
        # Only names that are also an id of their own can be doubted.
        assert any(f"{item}{sign}" in other for item in ids for other in ids for sign in "_-"), error


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.from_regex(r"\A(0{0,2}[0-9]{1,2}|[ab])([_-][0-9]{1,2})?\.(png|JPG)\Z"), max_size=12, unique=True),
    items=st.integers(1, 20),
    samples=st.integers(1, 2),
)
def test_names_mean_what_a_plain_reading_says(names: list[str], items: int, samples: int) -> None:
    wishes = wanted(items, samples)
    expected = {}
    for one in wishes:
        forms = {"0" * zeros + one.item for zeros in range(4)}
        stems = {f"{form}{sign}{pad}{one.sample}" for form in forms for sign in "_-" for pad in ("", "0")}
        stems |= forms if one.sample == 0 else set()
        files = [name for name in names if name.rsplit(".", 1)[0] in stems]
        if files:
            expected[one.item, one.sample] = files
    with tempfile.TemporaryDirectory() as made:
        folder = put(Path(made), {name: image(number) for number, name in enumerate(names)})
        model = opened(folder)
        if not expected or any(len(files) > 1 for files in expected.values()):
            with pytest.raises(FormalimgError):
                model.match(wishes)
            return
        matching = model.match(wishes)
    assert {(found.item, found.sample): [found.file] for found in matching.found} == expected
    assert sorted(matching.extra) == sorted(set(names) - {files[0] for files in expected.values()})
    assert len(matching.missing) == len(wishes) - len(expected)


def test_the_engine_can_tell_that_it_matches(tmp_path: Path) -> None:
    assert isinstance(opened(put(tmp_path, {"0.png": image(0)})), PremadeImageModel)
    assert not isinstance(object(), PremadeImageModel)
