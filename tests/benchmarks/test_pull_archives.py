"""Pulling from archives and folders: what is data is kept, what is hostile is refused, and nothing is left behind."""

from __future__ import annotations

import gzip
import io
import itertools
import os
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.benchmarks.download import contents
from formalimg.benchmarks.download.contents import FileCollector, matches_any, read_archive
from formalimg.benchmarks.download.pull import SOURCE_NOTE, note_text, pull
from formalimg.benchmarks.download.source import BenchmarkSource, PullError, source, source_names
from tests.support.published import FOLDER
from tests.support.sizes import only_in_full

SOURCE = BenchmarkSource(
    name="tiny",
    title="A tiny benchmark",
    repository="https://example.org/tiny",
    commit="a" * 40,
    licence="MIT",
    data=("data/**/*.json",),
    papers=("LICENSE*",),
    max_files=10,
    max_bytes=10_000,
)
GOOD = {"data/1.json": b"{}", "data/deep/er/2.json": b"[2]", "LICENSE": b"MIT"}
OTHER = {"run.py": b"boom", "data/3.txt": b"", "other/4.json": b"{}", "docs/LICENSE": b"other"}


def make_zip(path: Path, files: dict[str, bytes], comment: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return path


def make_tar(path: Path, files: dict[str, bytes], *odd: tarfile.TarInfo, comment: str = "") -> Path:
    with tarfile.open(path, "w:gz", pax_headers={"comment": comment} if comment else None) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in odd:
            archive.addfile(member)
    return path


def make_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def kept(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(origin: Path, tmp_path: Path, tiny: BenchmarkSource = SOURCE) -> str:
    """The one line that refuses an origin; nothing may have been written."""
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(PullError) as caught:
        pull(tiny, tmp_path / "out", origin)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


Maker = Callable[[Path, dict[str, bytes]], Path]
MAKERS: dict[str, Maker] = {"a.zip": make_zip, "a.tar.gz": make_tar, "a.tgz": make_tar, "folder": make_folder}
ARCHIVES = ["a.zip", "a.tar.gz"]


@pytest.mark.parametrize("name", MAKERS)
def test_only_data_and_papers_are_kept(name: str, tmp_path: Path) -> None:
    pulled = pull(SOURCE, tmp_path / "out", MAKERS[name](tmp_path / name, GOOD | OTHER))
    files = kept(tmp_path / "out")
    note = files.pop("SOURCE.toml")
    assert files == GOOD
    assert pulled.files == 3
    assert b'licence = "MIT"' in note
    assert pulled.digest.encode() in note
    assert pulled.verified_by == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "out"])


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("top", ["tiny-abc/", "./", "./tiny-abc/"])
def test_one_folder_around_everything_is_taken_off(name: str, top: str, tmp_path: Path) -> None:
    files = {top + file: data for file, data in (GOOD | OTHER).items()}
    pull(SOURCE, tmp_path / "out", MAKERS[name](tmp_path / name, files))
    assert kept(tmp_path / "out").keys() == GOOD.keys() | {"SOURCE.toml"}


def test_an_archive_that_names_its_commit_must_name_the_pinned_one(tmp_path: Path) -> None:
    for number, (make, right, wrong) in enumerate(
        (
            (make_zip(tmp_path / "r.zip", GOOD, b"a" * 40), "a" * 40, make_zip(tmp_path / "w.zip", GOOD, b"b" * 40)),
            (
                make_tar(tmp_path / "r.tgz", GOOD, comment="a" * 40),
                "a" * 40,
                make_tar(tmp_path / "w.tgz", GOOD, comment="b" * 40),
            ),
        )
    ):
        assert pull(SOURCE, tmp_path / f"out{number}", make).commit == right
        assert "--revision bbbbbbb" in refused(wrong, tmp_path)
        assert pull(SOURCE, tmp_path / f"other{number}", wrong, revision="b" * 7).commit == "b" * 40


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize(
    ("member", "says"),
    [
        ("../data/evil.json", "leads out"),
        ("data/../../evil.json", "leads out"),
        ("data\\..\\..\\evil.json", "leads out"),
        ("/data/evil.json", "not a path inside"),
        ("//data/evil.json", "not a path inside"),
        ("C:/data/evil.json", "not a path inside"),
        ("\\\\host\\evil.json", "not a path inside"),
        ("data/a\\b.json", "plain file name"),
        ("data//x.json", "fine"),
        ("data/./x.json", "plain file name"),
        ("data/nul.json", "plain file name"),
        ("data/trailing./x.json", "plain file name"),
        ("data/a:stream.json", "plain file name"),
        ("data/line\nbreak.json", "plain file name"),
        ("data/\u202egnp.json", "plain file name"),
        ("data/" + "x/" * 500 + "1.json", "nested too deep"),
        ("data/" + "x" * 300 + ".json", "too long"),
        ("data/1.JSON/2.json", "inside a file"),
        ("data/1.json/2.json", "inside a file"),
        ("DATA/1.json", "fine"),
        ("data/DEEP/er/2.json", "one file on some systems"),
    ],
)
def test_names_that_are_not_plain(name: str, member: str, says: str, tmp_path: Path) -> None:
    origin = MAKERS[name](tmp_path / name, GOOD | {member: b"{}"})
    if says == "fine":
        pull(SOURCE, tmp_path / "out", origin)  # it fits no pattern, so that nothing is written for it
        assert kept(tmp_path / "out").keys() == GOOD.keys() | {"SOURCE.toml"}
    else:
        assert says in refused(origin, tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for data in ("one", "two"):
            archive.writestr("data/1.json", data)
    assert "twice" in refused(tmp_path / "a.zip", tmp_path)
    make_tar(tmp_path / "a.tgz", GOOD, tarfile.TarInfo("data/1.json"))
    assert "twice" in refused(tmp_path / "a.tgz", tmp_path)
    make_tar(tmp_path / "b.tgz", GOOD, tarfile.TarInfo("./data/1.json"))
    assert "twice" in refused(tmp_path / "b.tgz", tmp_path)


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b"Z"],
)
@pytest.mark.parametrize("name", ["data/x.json", "elsewhere"])
def test_links_and_devices_in_a_tar(kind: bytes, name: str, tmp_path: Path) -> None:
    odd = tarfile.TarInfo(name)
    odd.type, odd.linkname = kind, "/etc/passwd"
    assert "special file" in refused(make_tar(tmp_path / "a.tgz", GOOD, odd), tmp_path)


@pytest.mark.parametrize("mode", [0o120777, 0o020666, 0o060666, 0o010666, 0o140777])
def test_links_and_devices_in_a_zip(mode: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        odd = zipfile.ZipInfo("data/x.json")
        odd.create_system, odd.external_attr = 3, mode << 16
        archive.writestr(odd, "/etc/passwd")
    assert "special file" in refused(tmp_path / "a.zip", tmp_path)


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("secret")
    folder = make_folder(tmp_path / "folder", GOOD)
    (folder / "elsewhere").symlink_to(tmp_path)
    (folder / "data" / "up").symlink_to(tmp_path)
    pull(SOURCE, tmp_path / "fine", folder)
    assert b"secret" not in kept(tmp_path / "fine").values()
    (folder / "data" / "link.json").symlink_to(tmp_path / "secret.json")
    assert "is a link" in refused(folder, tmp_path)
    (folder / "data" / "link.json").unlink()
    os.mkfifo(folder / "data" / "pipe.json")
    assert "no plain file" in refused(folder, tmp_path)


@pytest.mark.parametrize("name", MAKERS)
def test_too_many_files_or_bytes(name: str, tmp_path: Path) -> None:
    many = MAKERS[name](tmp_path / name, {f"data/{number}.json": b"" for number in range(11)})
    assert "more than 10 files" in refused(many, tmp_path)
    (tmp_path / "more").mkdir()
    large = MAKERS[name](tmp_path / "more" / name, {"data/1.json": bytes(6_000), "data/2.json": bytes(6_000)})
    assert "more than 10,000 bytes" in refused(large, tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_limits_hold_over_all_folders_of_an_archive(name: str, tmp_path: Path) -> None:
    spread = {f"{top}/data/1.json": bytes(900) for top in "abcdefghijklmnop"}
    assert "more than" in refused(MAKERS[name](tmp_path / name, spread), tmp_path)
    (tmp_path / "more").mkdir()
    two = MAKERS[name](tmp_path / "more" / name, {"a/data/1.json": b"", "b/data/1.json": b""})
    assert "several folders hold data" in refused(two, tmp_path)


def test_a_zip_that_lies_about_a_size(tmp_path: Path) -> None:
    make_zip(tmp_path / "a.zip", {"data/1.json": bytes(50_000_000)})
    assert "more than 10,000 bytes" in refused(tmp_path / "a.zip", tmp_path)
    data = (tmp_path / "a.zip").read_bytes()
    assert len(data) < 100_000
    for declared in (5, 9_000):
        lying = data.replace(struct.pack("<L", 50_000_000), struct.pack("<L", declared))
        (tmp_path / "b.zip").write_bytes(lying)
        assert "damaged" in refused(tmp_path / "b.zip", tmp_path)


def test_what_a_file_really_holds_is_counted_whatever_it_says() -> None:
    endless = itertools.repeat(bytes(4_000), 1_000)
    with pytest.raises(PullError, match="more than 10,000 bytes"):
        FileCollector(SOURCE).keep("data/1.json", 5, endless)
    assert len(list(endless)) == 997
    with pytest.raises(PullError, match="should have 5 bytes, but has 2"):
        FileCollector(SOURCE).keep("data/1.json", 5, [b"{}"])


def test_a_tar_that_lies_about_a_size(tmp_path: Path) -> None:
    huge = tarfile.TarInfo("data/1.json")
    huge.size = 8 << 30
    with gzip.open(tmp_path / "a.tgz", "wb") as file:
        file.write(huge.tobuf(tarfile.GNU_FORMAT))
    assert "more than 10,000 bytes" in refused(tmp_path / "a.tgz", tmp_path)
    small = tarfile.TarInfo("data/1.json")
    small.size = 9_000
    with gzip.open(tmp_path / "b.tgz", "wb") as file:
        file.write(small.tobuf() + b"cut")
    assert "damaged" in refused(tmp_path / "b.tgz", tmp_path)


def test_a_tar_that_unpacks_to_far_more_than_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filler = make_tar(tmp_path / "a.tgz", {"unwanted.bin": bytes(3_000_000)} | GOOD)
    assert filler.stat().st_size < 10_000
    monkeypatch.setattr(contents, "MAX_UNPACKED_BYTES", 2_000_000)
    with pytest.raises(PullError, match="far more"):
        read_archive(SOURCE, filler)
    monkeypatch.setattr(contents, "MAX_UNPACKED_BYTES", 4_000_000)
    read_archive(SOURCE, filler)


@only_in_full
def test_a_zip_with_an_endless_list_of_members(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(66_000):
            archive.writestr(zipfile.ZipInfo(f"{number}"), b"")
    assert "too many members" in refused(tmp_path / "a.zip", tmp_path)


def test_an_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(make_zip(tmp_path / "a.zip", GOOD).read_bytes())
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(signature) + place] |= 1
    (tmp_path / "a.zip").write_bytes(data)
    assert "encrypted" in refused(tmp_path / "a.zip", tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_damaged_archives(name: str, tmp_path: Path) -> None:
    data = MAKERS[name](tmp_path / name, GOOD | {"data/big.json": os.urandom(5_000)}).read_bytes()
    for broken in (data[: len(data) // 2], data[:-9], data[:60] + bytes(200) + data[260:], data[:4], b"", b"<html>"):
        (tmp_path / name).write_bytes(broken)
        message = refused(tmp_path / name, tmp_path)
        assert "damaged" in message or "is neither" in message


@pytest.mark.parametrize("name", MAKERS)
def test_an_origin_without_data(name: str, tmp_path: Path) -> None:
    assert "there is no data of tiny" in refused(MAKERS[name](tmp_path / name, OTHER), tmp_path)


def test_contents_are_held_against_the_pinned_digest(tmp_path: Path) -> None:
    digest = pull(replace(SOURCE, papers=()), tmp_path / "out", make_folder(tmp_path / "folder", GOOD)).digest
    pinned = replace(SOURCE, digest=digest)
    assert pull(pinned, tmp_path / "again", tmp_path / "folder").verified_by == "digest"
    make_folder(tmp_path / "folder", {"LICENSE": b"a new licence text"})
    assert pull(pinned, tmp_path / "licensed", tmp_path / "folder").verified_by == "digest"
    make_folder(tmp_path / "folder", {"data/1.json": b"{ }"})
    assert "not the data files of tiny" in refused(tmp_path / "folder", tmp_path, pinned)


def test_the_published_cf_world_files_have_the_pinned_digest(tmp_path: Path) -> None:
    folder = FOLDER.parents[1] / "cf-world"
    if not folder.is_dir():
        pytest.skip(f"the published files are not at {folder}")
    pulled = pull("cf-world", tmp_path / "out", folder)
    assert (pulled.verified_by, pulled.files) == ("digest", 29)


@pytest.mark.parametrize(
    ("pattern", "fits", "not_"),
    [
        ("a/*.json", ["a/1.json", "a/.json"], ["a/b/1.json", "b/a/1.json", "a/1.jsonx", "a/1xjson", "A/1.json"]),
        ("a/**/*.json", ["a/1.json", "a/b/c/1.json"], ["a/b/1.txt", "ab/1.json", "a//1.json"]),
        ("LICENSE*", ["LICENSE", "LICENSE.md"], ["LICENSE/x", "docs/LICENSE"]),
    ],
)
def test_patterns(pattern: str, fits: list[str], not_: list[str]) -> None:
    assert [name for name in fits + not_ if matches_any(name, (pattern,))] == fits


def test_the_sources_hold_together() -> None:
    for name in source_names():
        found = source(name)
        assert len(found.commit) == 40
        assert found.licence
        assert found.repository.startswith("https://github.com/")
        assert isinstance(found.data, tuple)
        assert found.max_files > 0
        assert not matches_any("scripts/run.py", found.data + found.papers)
    for name in ("formalimg", "conceptmix", "cf-world"):
        assert source(name).licence.startswith("MIT")
    assert "not for commercial use" in source("geneval2").licence
    with pytest.raises(PullError, match="did you mean cf-world"):
        source("cfworld")


def _header(name: str, size: int, kind: bytes, link: str = "") -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, link
    return member.tobuf(tarfile.GNU_FORMAT)


def _extension(kind: bytes, data: bytes) -> bytes:
    return _header("extension", len(data), kind) + data + b"\0" * (-len(data) % 512)


def _record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n"
    length = len(rest) + 2 if len(rest) < 97 else len(rest) + 3
    return f"{length:0{length - len(rest)}}{rest}".encode()


ODD_TARS: dict[str, tuple[bytes, str]] = {
    "a chain of long names": (_extension(b"L", b"name\0") * 3000, "form a loop"),
    "a chain of long links": (_extension(b"K", b"name\0") * 3000, "form a loop"),
    "a chain of pax headers": (_extension(b"x", _record("path", "a")) * 3000, "form a loop"),
    "a chain of global headers": (_extension(b"g", _record("path", "a")) * 3000, "form a loop"),
    "a mixed chain": ((_extension(b"x", _record("path", "a")) + _extension(b"L", b"n\0")) * 999, "form a loop"),
    "a huge pax header": (_header("x", 200_000_000, b"x") + bytes(1_000_000), "form a loop"),
    "a hard link": (_header("data/1.json", 0, b"1", "/etc/passwd"), "is a link"),
    "a hard link inside": (_header("data/1.json", 0, b"1", "data/2.json"), "is a link"),
    "an old sparse file": (_header("data/1.json", 0, b"S"), "sparse"),
    "a new sparse file": (
        _extension(b"x", _record("GNU.sparse.major", "1") + _record("GNU.sparse.realsize", "999999999999"))
        + _header("data/1.json", 0, b"0"),
        "sparse",
    ),
    "a size of its own": (_extension(b"x", _record("size", "99999999999")) + _header("data/1.json", 2, b"0"), "sparse"),
}


@pytest.mark.parametrize("name", ODD_TARS)
def test_odd_headers_of_a_tar_are_refused(name: str, tmp_path: Path) -> None:
    data, says = ODD_TARS[name]
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(data + bytes(1024), 1))
    assert says in refused(path, tmp_path)


def test_long_names_and_comments_of_a_tar_are_read(tmp_path: Path) -> None:
    """As tar writes them: one header for the name, after one for the whole archive."""
    deep = f"data/{'a' * 90}/{'b' * 90}/1.json"
    for number, form in enumerate((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)):
        path = tmp_path / f"{number}.tgz"
        with tarfile.open(path, "w:gz", format=form, pax_headers={"comment": "a" * 40}) as archive:
            member = tarfile.TarInfo(deep)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
        pull(SOURCE, tmp_path / f"out{number}", path)
        assert (tmp_path / f"out{number}" / deep).read_bytes() == b"{}"


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "origin", GOOD)


def test_folders_that_are_free(origin: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for folder in ("new", "deep/er/new", "empty", "link"):
        pull(SOURCE, tmp_path / folder, origin)
        assert (tmp_path / folder / "data" / "1.json").is_file()
    assert (tmp_path / "link").is_symlink()
    assert not list(tmp_path.rglob(".formalimg*"))


def test_pulling_again_replaces_what_an_earlier_pull_left(origin: Path, tmp_path: Path) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    (origin / "data" / "1.json").unlink()
    (origin / "data" / "9.json").write_text("{}")
    pull(SOURCE, tmp_path / "out", origin)
    assert sorted(kept(tmp_path / "out")) == ["LICENSE", "SOURCE.toml", "data/9.json", "data/deep/er/2.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["origin", "out"]


@pytest.mark.parametrize("change", ["add", "edit", "remove", "link", "note"])
def test_what_the_user_changed_is_not_replaced(change: str, origin: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    pull(SOURCE, out, origin)
    match change:
        case "add":
            (out / "mine.txt").write_text("work")
        case "edit":
            (out / "data" / "1.json").write_text("work")
        case "remove":
            (out / "data" / "1.json").unlink()
        case "link":
            (out / "data" / "link").symlink_to(tmp_path)
        case "note":
            (out / "SOURCE.toml").write_bytes((out / "SOURCE.toml").read_bytes() + b"not TOML")
    before = kept(out)
    with pytest.raises(PullError, match="was changed since"):
        pull(SOURCE, out, origin)
    assert kept(out) == before


def test_what_is_not_ours_is_not_touched(origin: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PullError, match="is a file"):
        pull(SOURCE, tmp_path / "file", origin)
    make_folder(tmp_path / "theirs", {"SOURCE.toml": b'digest = "x"\n', "a": b""})
    for folder in (tmp_path / "theirs", tmp_path, origin, Path("/")):
        with pytest.raises(PullError, match="was not made by pull"):
            pull(SOURCE, folder, origin)
    with pytest.raises(PullError, match="cannot pull to"):
        pull(SOURCE, tmp_path / "file" / "below", origin)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device"), SystemExit])
def test_an_interrupted_pull_leaves_everything_as_it_was(
    error: BaseException | type[BaseException], origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    before = kept(tmp_path / "out")
    (origin / "data" / "9.json").write_text("{}")
    write = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name == "9.json":
            raise error
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    for folder in ("out", "new"):
        with pytest.raises((KeyboardInterrupt, SystemExit, PullError)):
            pull(SOURCE, tmp_path / folder, origin)
    assert kept(tmp_path / "out") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["origin", "out"]


def test_a_failed_last_step_brings_the_old_folder_back(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pull(SOURCE, tmp_path / "out", origin)
    before = kept(tmp_path / "out")
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(PullError, match="Input/output error"):
        pull(SOURCE, tmp_path / "out", origin)
    assert kept(tmp_path / "out") == before


def test_the_note_is_toml_whatever_the_path(origin: Path, tmp_path: Path) -> None:
    for text in ('a "quoted" \\ path', "tab\tline\nend", "🍵 \x7f \x00", "é"):
        assert tomllib.loads(note_text({"path": text, "files": 3})) == {"path": text, "files": 3}
    pull(SOURCE, tmp_path / "one", origin)
    pull(SOURCE, tmp_path / "two", origin)
    assert (tmp_path / "one" / SOURCE_NOTE).read_bytes() == (tmp_path / "two" / SOURCE_NOTE).read_bytes()
