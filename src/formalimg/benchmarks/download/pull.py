"""Pull a published benchmark into a folder, atomically and without overwriting files of the user."""

from __future__ import annotations

import json
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from formalimg._util.io import refuse_special_file
from formalimg.benchmarks.download.contents import FileContents, digest, matches_any, read_folder
from formalimg.benchmarks.download.git import read_git
from formalimg.benchmarks.download.source import COMMIT, BenchmarkSource, PullError, redact_url, source

SOURCE_NOTE = "SOURCE.toml"
"""The file beside the data that says what it is and where it comes from."""

ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz")

_FIRST_LINE = "# Made by `formalimg pull`. The files beside this one are as their authors published them.\n"


@dataclass(frozen=True)
class PullResult:
    """The result of a pull."""

    source: BenchmarkSource  # the benchmark
    folder: Path  # where it lies now
    origin: str  # where it came from
    commit: str  # the full id of its commit; empty if a plain folder or an archive could not tell
    # what shows that it is what was asked for: "digest", "commit", "short commit" (which an honest repository keeps
    # to, but a dishonest one can imitate), or "" if nothing does
    verified_by: str
    files: int  # how many files were kept
    bytes: int  # their size
    digest: str  # the digest of all files kept


class _Fetched(NamedTuple):
    contents: FileContents
    origin: str
    commit: str
    by_git: bool


def pull(
    name: str | BenchmarkSource,
    to: str | Path,
    origin: str | Path | None = None,
    revision: str | None = None,
    *,
    convert: Callable[[FileContents], FileContents] | None = None,
) -> PullResult:
    """Pull the data files of a published benchmark into a folder."""
    benchmark = source(name) if isinstance(name, str) else name
    if revision is not None and not COMMIT.fullmatch(revision):
        raise PullError(f"{revision!r} is not a commit: give 7 to 40 digits and letters a to f")
    refuse_special_file(to)
    folder = Path(to).resolve()
    try:
        require_replaceable(folder)
        above = next(parent for parent in folder.parents if parent.is_dir())
        work = Path(tempfile.mkdtemp(prefix=".formalimg-pull-", dir=above))
        try:
            fetched = _fetch_contents(
                benchmark, str(origin or benchmark.repository), revision or benchmark.commit, work
            )
            if convert is not None:
                fetched = fetched._replace(contents=convert(fetched.contents))
            pulled = _describe_result(benchmark, folder, fetched, revision)
            install(fetched.contents, _build_note(pulled), folder, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise PullError(f"cannot pull to {folder}: {error.strerror or error} ({error.filename})") from error
    return pulled


def _fetch_contents(benchmark: BenchmarkSource, origin: str, commit: str, work: Path) -> _Fetched:
    if "://" in origin:
        try:
            parts = urlsplit(origin)
        except ValueError as error:
            raise PullError(f"the address to pull from is not valid ({error}): check it") from error
        if parts.scheme not in ("https", "http"):
            raise PullError(f"cannot pull from {redact_url(origin)}: give an https address, a folder or an archive")
        if parts.username is not None:
            raise PullError(
                f"cannot pull from {redact_url(origin)}: leave the user and password out, they are not used"
            )
        if parts.path.endswith(ARCHIVE_SUFFIXES):
            from formalimg.benchmarks.download.archive import download  # few pulls need it

            archive = work / "archive"
            download(origin, archive)
            return _fetch_archive(benchmark, archive, redact_url(origin), commit)
        contents, full = read_git(benchmark, origin, commit, work)
        return _Fetched(contents, redact_url(origin), full, True)
    path = Path(origin).expanduser()
    refuse_special_file(path)
    if path.is_dir():
        location = str(path.resolve())
        if _is_repository(path):
            contents, full = read_git(benchmark, str(path), commit, work)
            return _Fetched(contents, location, full, True)
        return _Fetched(read_folder(benchmark, path), location, "", False)
    if not path.is_file():
        raise PullError(f"there is nothing at {origin}: give a git address, a folder or an archive")
    if not path.name.endswith(ARCHIVE_SUFFIXES):
        raise PullError(f"{origin} is not an archive: it must end in {', '.join(ARCHIVE_SUFFIXES)}")
    return _fetch_archive(benchmark, path, str(path.resolve()), commit)


def _fetch_archive(benchmark: BenchmarkSource, archive: Path, origin: str, commit: str) -> _Fetched:
    from formalimg.benchmarks.download.archive import read_archive  # few pulls need it

    contents, stated = read_archive(benchmark, archive)
    if stated and not stated.startswith(commit):
        raise PullError(
            f"the archive is of commit {stated}, not of {commit}: take that one, or add --revision {stated[:7]}"
        )
    return _Fetched(contents, origin, stated, False)


def _describe_result(benchmark: BenchmarkSource, folder: Path, fetched: _Fetched, revision: str | None) -> PullResult:
    """Return the result of a pull, after checking that the files match the pinned digest."""
    contents = fetched.contents
    data = {name: text for name, text in contents.items() if matches_any(name, benchmark.data)}
    pinned = revision is None or benchmark.commit.startswith(revision) or revision.startswith(benchmark.commit)
    if benchmark.digest and pinned and digest(data) != benchmark.digest:
        raise PullError(
            f"these are not the data files of {benchmark.name} at commit {benchmark.commit[:7]}: pull without --from, "
            "or use them from where they lie"
        )
    if benchmark.digest and pinned:
        proven = "digest"
    elif fetched.by_git:
        proven = "commit" if len(revision or benchmark.commit) == 40 else "short commit"
    else:
        proven = ""
    size = sum(map(len, contents.values()))
    return PullResult(benchmark, folder, fetched.origin, fetched.commit, proven, len(contents), size, digest(contents))


def _build_note(pulled: PullResult) -> str:
    return note_text(
        {
            "name": pulled.source.name,
            "title": pulled.source.title,
            "repository": pulled.source.repository,
            "pulled_from": pulled.origin,
            "commit": pulled.commit,
            "pinned_commit": pulled.source.commit,
            "proven_by": pulled.verified_by,
            "licence": pulled.source.licence,
            "files": pulled.files,
            "bytes": pulled.bytes,
            "digest": pulled.digest,
        }
    )


def _is_repository(path: Path) -> bool:
    """Return whether a folder is a git repository, bare or with a work tree."""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def note_text(facts: dict[str, str | int]) -> str:
    """Return the source note as TOML."""
    return _FIRST_LINE + "".join(
        f"{key} = {_quote_toml(value) if isinstance(value, str) else value}\n" for key, value in facts.items()
    )


def require_replaceable(folder: Path) -> None:
    """Raise an error unless a folder is missing, empty, or unchanged since an earlier pull."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise PullError(f"{folder} is a file: choose a folder that does not exist yet")
    if not any(folder.iterdir()):
        return
    note = folder / SOURCE_NOTE
    if not note.is_file() or not note.read_bytes().startswith(_FIRST_LINE.encode()):
        raise PullError(f"{folder} is not empty and was not made by pull: choose another folder")
    try:
        recorded = tomllib.loads(note.read_text(encoding="utf-8")).get("digest")
    except ValueError:
        recorded = None
    if recorded != digest(_read_files(folder)):
        raise PullError(f"{folder} was changed since it was pulled: move it away, or choose another folder")


def install(contents: FileContents, note: str, folder: Path, work: Path) -> None:
    """Write files and note into a folder, creating or replacing it in one step."""
    new, old = work / "new", work / "old"
    for name, data in contents.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (new / SOURCE_NOTE).write_bytes(note.encode("utf-8", "replace"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    require_replaceable(folder)  # time has passed since the first look
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise


def _quote_toml(text: str) -> str:
    """Return text in TOML quotes, which differ from JSON's in one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _read_files(folder: Path) -> FileContents:
    """Return all files of a folder except the note; links count as changed content."""
    contents = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            contents[name] = b"no plain file"
        elif path.is_file() and name != SOURCE_NOTE:
            contents[name] = path.read_bytes()
    return contents
