"""Files that hold several samples in one image are cut exactly; sizes that do not divide are refused."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import pytest
from PIL import Image

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageResult
from formalimg.models.folder.file_matching import RequestedImage
from formalimg.models.folder.folder_model import open_folder
from formalimg.runs.reader import open_run
from formalimg.types import Verdict
from tests.models.test_folder_round_trip import answers, wanted
from tests.support.command import formalimg


def _noise(width: int, height: int, seed: int, mode: str = "RGB") -> Image.Image:
    bands = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (width, height), Random(seed).randbytes(width * height * bands))


def _sheet(tiles: list[Image.Image], columns: int) -> Image.Image:
    width, height = tiles[0].size
    rows = len(tiles) // columns
    sheet = Image.new(tiles[0].mode, (columns * width, rows * height))
    for y in range(rows * height):
        for x in range(columns * width):
            tile = tiles[y // height * columns + x // width]
            pixel = tile.getpixel((x % width, y % height))
            assert pixel is not None
            sheet.putpixel((x, y), pixel)
    return sheet


def _pixels(result: ImageResult) -> tuple[tuple[int, int], bytes]:
    assert isinstance(result, Generated), result
    with Image.open(io.BytesIO(result.data)) as image:
        return image.size, image.tobytes()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (3, 1), (1, 4), (3, 2)])
def test_tiles_are_the_samples_in_reading_order(tmp_path: Path, columns: int, rows: int, mode: str) -> None:
    number = columns * rows
    for item in range(2):
        tiles = [_noise(5, 4, 100 * item + n, mode) for n in range(number)]
        _sheet(tiles, columns).save(tmp_path / f"{item}.png")
    model = open_folder(str(tmp_path), {"grid": f"{columns}x{rows}"})
    asked = wanted(2, number)
    assert len(model.match(asked).found) == 2 * number
    found = answers(model, asked)
    for one, result in zip(asked, found, strict=True):
        tile = _noise(5, 4, 100 * int(one.item) + one.sample, mode)
        assert _pixels(result) == (tile.size, tile.tobytes())
    assert model.settings["grid"] == f"{columns}x{rows}"
    assert len({model.fingerprint(one.item, one.sample) for one in asked}) == len(asked)


def test_a_second_file_holds_the_next_samples_and_what_is_missing_is_said(tmp_path: Path) -> None:
    for n in range(2):
        _sheet([_noise(4, 4, 4 * n + k) for k in range(4)], 2).save(tmp_path / f"0_{n}.png")
    model = open_folder(str(tmp_path), {"grid": "2x2"})
    asked = [RequestedImage("0", sample, "a prompt", 0) for sample in range(9)]
    matching = model.match(asked)
    assert [one.sample for one in matching.found] == list(range(8))
    assert [one.sample for one in matching.missing] == [8]
    found = answers(model, asked)
    assert [_pixels(one)[1] for one in found[:8]] == [_noise(4, 4, k).tobytes() for k in range(8)]
    assert isinstance(found[8], Failed)


def test_a_first_file_that_does_not_divide_is_refused_at_once(tmp_path: Path) -> None:
    _noise(7, 4, 0).save(tmp_path / "0.png")
    with pytest.raises(FormalimgError, match=r"0\.png: it has 7 x 4 pixels, which a grid of 2x2 does not divide"):
        open_folder(str(tmp_path), {"grid": "2x2"}).match(wanted(1, 4))


def test_a_later_file_that_does_not_divide_fails_alone(tmp_path: Path) -> None:
    _noise(8, 4, 0).save(tmp_path / "0.png")
    _noise(8, 5, 0).save(tmp_path / "1.png")
    (tmp_path / "2.png").write_bytes(b"<html>")
    model = open_folder(str(tmp_path), {"grid": "2x2"})
    model.match(wanted(3))
    first, second, third = answers(model, wanted(3))
    assert isinstance(first, Generated)
    assert isinstance(second, Failed)
    assert "does not divide" in second.reason
    assert isinstance(third, Generated)
    assert third.data == b"<html>", "handed on for others to see"


def test_an_image_that_was_stored_on_its_side_is_cut_upright(tmp_path: Path) -> None:
    tiles = [_noise(6, 4, n) for n in range(2)]
    sideways = _sheet(tiles, 2).transpose(Image.Transpose.ROTATE_90)
    about = Image.Exif()
    about[0x0112] = 6  # shown after a turn to the right
    sideways.save(tmp_path / "0.png", exif=about)
    model = open_folder(str(tmp_path), {"grid": "2x1"})
    asked = wanted(1, 2)
    model.match(asked)
    assert [_pixels(one)[1] for one in answers(model, asked)] == [tile.tobytes() for tile in tiles]


@pytest.mark.parametrize("grid", ["2", "0x2", "2x", "2*2", "1x1", "100x2", "2x2 ", "-1x2"])
def test_other_words_are_no_grid(tmp_path: Path, grid: str) -> None:
    with pytest.raises(FormalimgError, match="grid must be columns x rows"):
        open_folder(str(tmp_path), {"grid": grid})


def test_a_run_of_grids_end_to_end(tmp_path: Path) -> None:
    chosen = ("--levels", "1", "--per-level", "1", "--samples", "4")
    made = formalimg(
        "run", "--no-judge", "knolling", "-m", "builtin/oracle", "--size", "256", *chosen, "--out", str(tmp_path / "a")
    )
    assert made.code == 0, made.err
    files = sorted((tmp_path / "a" / "images").glob("*.png"))
    sheet = Image.new("RGB", (512, 512))
    for n, file in enumerate(files):
        with Image.open(file) as drawing:
            sheet.paste(drawing, (n % 2 * 256, n // 2 * 256))
    (tmp_path / "grids").mkdir()
    sheet.save(tmp_path / "grids" / f"{files[0].stem.partition('_')[0]}.png")
    model = ("-m", f"folder/{tmp_path / 'grids'}", "-M", "grid=2x2", "-j", "builtin/icons")
    done = formalimg("run", "knolling", *model, *chosen, "--out", str(tmp_path / "b"))
    assert done.code == 0, done.err
    verdicts = [one.verdict for one in open_run(tmp_path / "b").judged()]
    assert len(files) == len(verdicts) == 4
    assert all(isinstance(verdict, Verdict) and verdict.passed for verdict in verdicts)
