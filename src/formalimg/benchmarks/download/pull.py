"""Pull a published benchmark into a folder, atomically and without overwriting files of the user."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
import time
import tomllib
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from formalimg._util.io import refuse_special_file
from formalimg.benchmarks.download.contents import FileContents, digest, matches_any, read_archive, read_folder
from formalimg.benchmarks.download.source import COMMIT, BenchmarkSource, PullError, redact_url, source

SOURCE_NOTE = "SOURCE.toml"  # The file beside the data that says what it is and where it comes from
ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz")
MAX_DOWNLOAD_BYTES = 300_000_000
DOWNLOAD_TIMEOUT_S = 900
_READ_TIMEOUT_S = 30
_CHUNK = 1 << 16
_FIRST_LINE = "# Made by `formalimg pull`. The files beside this one are as their authors published them.\n"


@dataclass(frozen=True)
class PullResult:
    """The result of a pull."""

    source: BenchmarkSource  # the benchmark
    folder: Path  # where it lies now
    origin: str  # where it came from
    commit: str  # the full id of its commit; empty if a plain folder or an archive could not tell
    # what shows that it is what was asked for: "digest", "archive" (that of the commit, as the authors' server gives
    # it), or "" if nothing does
    verified_by: str
    files: int  # how many files were kept
    bytes: int  # their size
    digest: str  # the digest of all files kept


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
            contents, location, commit = _fetch_contents(benchmark, str(origin or benchmark.repository), revision, work)
            if convert is not None:
                contents = convert(contents)
            verified_by = "archive" if commit and location == benchmark.repository else ""
            is_pinned = revision is None or benchmark.commit.startswith(revision)
            if benchmark.digest and is_pinned:
                data = {path: text for path, text in contents.items() if matches_any(path, benchmark.data)}
                if digest(data) != benchmark.digest:
                    raise PullError(
                        f"these are not the data files of {benchmark.name} at commit {benchmark.commit[:7]}: "
                        "pull without --from, or use them where they are"
                    )
                verified_by = "digest"
            size = sum(map(len, contents.values()))
            pulled = PullResult(benchmark, folder, location, commit, verified_by, len(contents), size, digest(contents))
            install(contents, _build_note(pulled), folder, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise PullError(f"cannot pull to {folder}: {error.strerror or error} ({error.filename})") from error
    return pulled


def _fetch_contents(
    benchmark: BenchmarkSource, origin: str, revision: str | None, work: Path
) -> tuple[FileContents, str, str]:
    """Return the data files of an origin, its address or path, and the commit that it states."""
    commit = revision or benchmark.commit
    if "://" in origin:
        path, location = work / "archive", redact_url(_require_safe(origin))
        is_archive = urlsplit(origin).path.endswith(ARCHIVE_SUFFIXES)
        _download(origin if is_archive else f"{location.removesuffix('.git')}/archive/{commit}.tar.gz", path)
    else:
        path = Path(origin).expanduser()
        refuse_special_file(path)
        location = str(path.resolve())
        if path.is_dir():
            if revision is not None or (path / "HEAD").is_file():
                raise PullError(
                    f"{origin} is a folder, and read as it is: for a commit of a repository, run "
                    f"`git archive -o data.tar.gz {commit}` there and give that archive"
                )
            return read_folder(benchmark, path), location, ""
        if not path.is_file():
            raise PullError(f"there is nothing at {origin}: give the address of a repository, a folder or an archive")
        if not path.name.endswith(ARCHIVE_SUFFIXES):
            raise PullError(f"{origin} is not an archive: it must end in {', '.join(ARCHIVE_SUFFIXES)}")
    contents, stated = read_archive(benchmark, path)
    if stated and not stated.startswith(commit):
        raise PullError(
            f"the archive is of commit {stated}, not of {commit}: take that one, or add --revision {stated[:7]}"
        )
    return contents, location, stated


def _require_safe(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise PullError(f"the address to pull from is not valid ({error}): check it") from error
    if parts.scheme not in ("https", "http"):
        raise PullError(f"cannot pull from {redact_url(address)}: give an https address, a folder or an archive")
    if parts.username is not None:
        raise PullError(f"cannot pull from {redact_url(address)}: remove the user name and password")
    return address


class _HttpsRedirects(HTTPRedirectHandler):
    """Follows redirects, but not from https to http."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        schemes = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in schemes or urlsplit(newurl).username is not None:
            raise PullError(f"refused: {redact_url(req.full_url)} redirects to an unsafe address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _download(url: str, to: Path) -> None:
    """Download a URL to a file; no credentials are sent."""
    safe_url = redact_url(url)
    deadline = time.monotonic() + DOWNLOAD_TIMEOUT_S
    length = 0
    try:
        request = Request(url, headers={"User-Agent": "formalimg"})
        with build_opener(_HttpsRedirects).open(request, timeout=_READ_TIMEOUT_S) as answer, to.open("wb") as file:
            size = answer.headers.get("Content-Length", "")
            expected = int(size) if size.isascii() and size.isdigit() else None
            while True:
                if max(length, expected or 0) > MAX_DOWNLOAD_BYTES:
                    raise PullError(f"refused: {safe_url} gives more than {MAX_DOWNLOAD_BYTES:,} bytes")
                if time.monotonic() > deadline:
                    raise PullError(f"{safe_url} took longer than {DOWNLOAD_TIMEOUT_S} s: try again")
                piece = answer.read1(_CHUNK)
                if not piece:
                    break
                length += file.write(piece)
    except urllib.error.HTTPError as error:
        raise PullError(f"cannot download {safe_url}: the server answers {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise PullError(f"cannot download {safe_url}: {error.reason}; check the address and the network") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise PullError(f"cannot download {safe_url}: {error or type(error).__name__}; try again") from error
    if expected is not None and length != expected:
        raise PullError(f"{safe_url} was interrupted after {length:,} of {expected:,} bytes: try again")


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


def note_text(facts: dict[str, str | int]) -> str:
    """Return the source note as TOML; its strings are JSON strings, except that one more character is escaped."""
    values = {key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for key, value in facts.items()}
    return _FIRST_LINE + "".join(f"{key} = {value}\n" for key, value in values.items())


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
    contents = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            contents[name] = b"no plain file"  # counts as changed
        elif path.is_file() and name != SOURCE_NOTE:
            contents[name] = path.read_bytes()
    try:
        recorded = tomllib.loads(note.read_text(encoding="utf-8")).get("digest")
    except ValueError:
        recorded = None
    if recorded != digest(contents):
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
