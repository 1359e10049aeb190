"""A run folder is data, never orders: it cannot make a command read, write or remove files of somebody else."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.human_eval.study import read_image
from formalimg.reports.page_images import make_thumbnail
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.image_store import RunFolderImage, is_image_name
from formalimg.runs.manifest import read_manifest
from formalimg.runs.reader import locate_image, open_run
from tests.support.command import formalimg
from tests.support.models import NumberJudge, Speckles, speckled
from tests.support.run_contents import judged, order, outcomes, rows

fsspec = pytest.importorskip("fsspec", reason="pip install 'formalimg[stores]'")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("3.png", "5.webp", "metadata.jsonl", "authorized_keys"):
        (folder / name).write_bytes(f"my {name}".encode())
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def point_images_at(folder: Path, url: str) -> None:
    manifest = folder / "run.toml"
    lines = [line for line in manifest.read_text().splitlines() if not line.startswith("images")]
    lines.insert(lines.index("[model]"), f'images = "{url}"')
    manifest.write_text("\n".join(lines) + "\n")


def change(folder: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as database, database:
        database.execute(statement, values)


_USES: dict[str, Callable[[Path], object]] = {
    "run": lambda folder: execute(order(), folder, NumberJudge()),
    "more samples": lambda folder: execute(order(samples=2), folder, NumberJudge()),
    "judge": lambda folder: judge_run(folder, NumberJudge(name="test/second")),
}


@pytest.mark.parametrize("use", _USES)
@pytest.mark.parametrize("kept", ["made", "planned"])
def test_a_place_that_only_the_folder_names_is_not_touched(tmp_path: Path, home: Path, use: str, kept: str) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    point_images_at(folder, f"file://{home}")
    if kept == "planned":
        change(folder, "UPDATE pictures SET status = 'planned', file = NULL, sha256 = NULL")
    before = files(home)
    with pytest.raises(FormalimgError, match=r"^file://[^\n]* has no file \.formalimg-run [^\n]*nothing is read or w"):
        _USES[use](folder)
    assert files(home) == before


@pytest.mark.parametrize("use", _USES)
def test_a_bucket_that_only_the_folder_names_is_not_touched(tmp_path: Path, use: str) -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    class Buckets(MemoryFileSystem):  # type: ignore[misc]
        protocol = "gs"
        store: dict[str, Any] = {}  # noqa: RUF012
        pseudo_dirs = [""]  # noqa: RUF012

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("gs://")))

    fsspec.register_implementation("gs", Buckets, clobber=True)
    try:
        folder = tmp_path / "run"
        execute(order(), folder, NumberJudge())
        system = fsspec.filesystem("gs")
        system.pipe_file("/bucket/photos/3.png", b"mine")
        system.pipe_file("/bucket/photos/5.webp", b"mine")
        point_images_at(folder, "gs://bucket/photos")
        with pytest.raises(FormalimgError, match=r"gs://bucket/photos has no file \.formalimg-run"):
            _USES[use](folder)
        assert {name: system.cat_file(name) for name in system.find("/bucket")} == {
            "/bucket/photos/3.png": b"mine",
            "/bucket/photos/5.webp": b"mine",
        }
    finally:
        sys.modules["fsspec.registry"]._registry.pop("gs")


def test_the_marker_of_another_run_is_no_permission(tmp_path: Path) -> None:
    execute(order(images=f"file://{tmp_path}/store"), tmp_path / "mine", NumberJudge())
    before = files(tmp_path / "store")
    execute(order(Speckles(name="test/other")), tmp_path / "run", NumberJudge())
    point_images_at(tmp_path / "run", f"file://{tmp_path}/store")
    uses: list[Callable[[], object]] = [
        lambda: judge_run(tmp_path / "run", NumberJudge(name="test/second")),
        lambda: execute(order(Speckles(name="test/other")), tmp_path / "run"),
        lambda: execute(order(Speckles(name="test/other"), images=f"file://{tmp_path}/store"), tmp_path / "run"),
    ]
    for use in uses:
        with pytest.raises(
            FormalimgError, match=r"has no file \.formalimg-run that says|files that are not of this run"
        ):
            use()
    assert files(tmp_path / "store") == before


def test_knowing_when_a_run_began_does_not_open_its_place(tmp_path: Path) -> None:
    """Model and time are in every report; what the marker asks for is in `run.toml` alone."""
    execute(order(images=f"file://{tmp_path}/store"), tmp_path / "mine")
    secret = read_manifest(tmp_path / "mine").images_id
    assert len(secret) == 16
    execute(order(), tmp_path / "run")
    manifest, mine = tmp_path / "run" / "run.toml", read_manifest(tmp_path / "mine")
    manifest.write_text(manifest.read_text().replace(read_manifest(tmp_path / "run").created, mine.created))
    point_images_at(tmp_path / "run", f"file://{tmp_path}/store")
    with pytest.raises(FormalimgError, match=r"has no file \.formalimg-run"):
        judge_run(tmp_path / "run", NumberJudge())


def test_a_run_of_the_time_before_goes_on_with_its_marker(tmp_path: Path) -> None:
    """Its marker names model and time, and its manifest has no further text for it."""
    folder, model = tmp_path / "run", Speckles()
    execute(order(model, images=f"file://{tmp_path}/store"), folder)
    manifest = read_manifest(folder)
    point_images_at(folder, manifest.images)
    (tmp_path / "store" / ".formalimg-run").write_text(f"{manifest.model.name}, begun {manifest.created}")
    judge_run(folder, NumberJudge())
    assert execute(order(model, samples=2), folder, NumberJudge()).made == 8
    assert all(one.passed is not None for one in outcomes(folder))


def test_a_place_named_by_the_user_is_taken_only_if_it_is_empty(tmp_path: Path, home: Path) -> None:
    before = files(home)
    with pytest.raises(FormalimgError, match="holds files that are not of this run"):
        execute(order(images=f"file://{home}"), tmp_path / "run")
    assert files(home) == before
    execute(order(images=f"file://{home}/new"), tmp_path / "run")
    assert len(files(home / "new")) == 8 + 2


def test_a_run_that_was_killed_as_it_began_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / ".formalimg-run").write_text("test/speckles, begun 2026-01-31T10:00:00Z, 0123456789abcdef")
    assert execute(order(images=f"file://{tmp_path}/store"), tmp_path / "run").made == 8


def test_links_in_a_shared_folder_are_not_followed(tmp_path: Path, home: Path) -> None:
    """A hostile folder may bring the place of its images along, with a marker; the files in it may be links."""
    folder, store = tmp_path / "run", tmp_path / "store"
    execute(order(images=f"file://{store}"), folder)
    change(folder, "UPDATE pictures SET status = 'planned', file = NULL, sha256 = NULL")
    before = files(home)
    for name in ("3.png", ".3.png.part", "metadata.jsonl", ".metadata.jsonl.part"):
        (store / name).unlink(missing_ok=True)
        (store / name).symlink_to(home / "authorized_keys")
    execute(order(), folder, NumberJudge())
    assert files(home) == before
    assert not (store / "3.png").is_symlink()
    (store / "4.png").unlink()
    (store / "4.png").symlink_to(home / "authorized_keys")
    (image,) = [one.image for one in judged(folder) if one.outcome.item == "4"]
    assert image is not None
    with pytest.raises(OSError, match="it is a symbolic link and not a plain file"):
        image.read_bytes()


_NAMES = [
    "../../home/3.png", "/etc/passwd", "{home}/3.png", "..", "", ".hidden.png", "a/3.png", "a\\3.png", "C:3.png",
    "3.png\n", "3.gif", "authorized_keys", "run.toml", "x" * 300 + ".png", "\x1b[2J.png", 7, b"3.png", 1.5,
]  # fmt: skip


@pytest.mark.parametrize("name", _NAMES, ids=lambda name: repr(name)[:30])
def test_a_recorded_name_that_no_image_has_is_never_opened(tmp_path: Path, home: Path, name: object) -> None:
    if isinstance(name, str):
        name = name.replace("{home}", str(home))
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    (home / "3.png").write_bytes((folder / "images" / "3.png").read_bytes())  # even with the digest that is recorded
    change(folder, "UPDATE pictures SET file = ? WHERE item = '3'", name)
    before = files(home)
    assert not is_image_name(name)
    name = name if isinstance(name, bytes) else str(name)  # as its column stores it
    if isinstance(name, bytes) or "/" in name or "\\" in name or name == ".." or not 0 < len(name) < 256:
        _is_refused_as_damaged(folder)  # no file name at all
        assert files(home) == before
        return
    with contextlib.closing(open_run(folder)) as run:
        assert run.image_file("3", 0) is None
        (image,) = [one.image for one in run.judged([("3", 0)])]
    assert image is not None
    assert (image.is_file(), image.suffix) == (False, "")
    with pytest.raises(PermissionError, match="leads out of the folder"):
        image.read_bytes()
    assert "cannot be read: its name is not an image name" in str(make_thumbnail(image))
    judge_run(folder, NumberJudge(name="test/second"))
    (outcome,) = [one for one in outcomes(folder) if one.item == "3"]
    assert (outcome.reason, outcome.detail.count("\n")) == ("unreadable image", 0)
    assert "\x1b" not in outcome.detail
    page = tmp_path / "page.html"
    assert formalimg("report", str(folder), "--out", str(page)).code == 0
    assert (folder / "images" / "metadata.jsonl").read_text().count("\n") == 7, "no list names it either"
    execute(order(), folder, NumberJudge())
    assert files(home) == before
    assert rows(folder, "SELECT file FROM pictures WHERE item = '3'") == [("3.png",)], "it is made again"


def _is_refused_as_damaged(folder: Path) -> None:
    with pytest.raises(FormalimgError, match="damaged"):
        judged(folder)
    with pytest.raises(FormalimgError, match="damaged"):
        judge_run(folder, NumberJudge(name="test/second"))
    assert formalimg("report", str(folder), "--out", str(folder.parent / "page.html")).code == 2


def test_ids_of_items_that_cannot_be_file_names_are_told(tmp_path: Path) -> None:
    from dataclasses import replace

    config = order()
    odd = replace(config, items=[replace(item, id=f"../{item.id}") for item in config.items])
    with pytest.raises(FormalimgError, match=r"^an image cannot be stored as '\.\./[^\n]*give its item an id"):
        execute(odd, tmp_path / "run")
    assert not list(tmp_path.glob("*.png")) + list((tmp_path / "run").glob("*.png"))


def test_only_the_very_bytes_that_were_made_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(order(), folder, NumberJudge())
    (folder / "images" / "3.png").write_bytes(speckled("another image"))
    (image,) = [one.image for one in judged(folder) if one.outcome.item == "3"]
    assert image is not None
    assert make_thumbnail(image) == "the file of the image cannot be read: it is not the file that was stored"


def test_studies_read_only_images_of_the_run(tmp_path: Path, home: Path) -> None:
    execute(order(), tmp_path / "run")
    digest = rows(tmp_path / "run", "SELECT sha256 FROM pictures WHERE item = '3'")[0][0]
    whole = read_image(tmp_path / "run" / "images" / "3.png", digest)
    (home / "3.png").write_bytes(whole)
    (tmp_path / "run" / "images" / "3.png").unlink()
    (tmp_path / "run" / "images" / "3.png").symlink_to(home / "3.png")
    with pytest.raises(FormalimgError, match="symbolic link"):
        read_image(tmp_path / "run" / "images" / "3.png", digest)
    with pytest.raises(OSError, match="leads out"):
        locate_image(tmp_path / "run" / "images" / "..", digest).read_bytes()


def test_functions_that_take_paths_take_images_of_the_run_folder(tmp_path: Path) -> None:
    execute(order(), tmp_path / "run")
    (image,) = [one.image for one in judged(tmp_path / "run") if one.outcome.item == "3"]
    assert isinstance(image, RunFolderImage)
    assert Path(image) == tmp_path / "run" / "images" / "3.png"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_new_files_have_the_permissions_of_the_user(tmp_path: Path, umask: None) -> None:
    execute(order(images=f"file://{tmp_path}/store"), tmp_path / "run")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "store").iterdir()} == {0o644}
