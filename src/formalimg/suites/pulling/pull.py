"""Bring a published benchmark to a folder of this machine."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from formalimg.suites.pulling.addresses import plain_url
from formalimg.suites.pulling.archives import SUFFIXES, from_archive
from formalimg.suites.pulling.errors import PullError
from formalimg.suites.pulling.folders import from_folder
from formalimg.suites.pulling.git import from_git
from formalimg.suites.pulling.keeping import Contents, digest
from formalimg.suites.pulling.names import wanted
from formalimg.suites.pulling.placing import note_text, place, require_free
from formalimg.suites.pulling.sources import COMMIT, Source, source


@dataclass(frozen=True)
class Pulled:
    """What was brought.

    Attributes:
        source: the benchmark.
        folder: where it lies now.
        origin: where it came from.
        commit: the full id of its commit; empty if a plain folder or an archive could not tell.
        proven: what shows that it is what was asked for: "digest", "commit", "short commit" (which an honest
            repository keeps to, but a dishonest one can imitate), or "" if nothing does.
        files: how many files were kept.
        bytes: their size.
        digest: the digest of all files kept.
    """

    source: Source
    folder: Path
    origin: str
    commit: str
    proven: str
    files: int
    bytes: int
    digest: str


class _Brought(NamedTuple):
    contents: Contents
    origin: str
    commit: str
    by_git: bool


def pull(name: str | Source, to: str | Path, origin: str | Path | None = None, revision: str | None = None) -> Pulled:
    """Bring the data files of a published benchmark to a folder.

    Args:
        name: `formalimg`, `cf-world` or `conceptmix`, or a source of your own.
        to: the folder to make. It must not exist, be empty, or be as an earlier pull left it.
        origin: take it from here, not from the authors' repository: a git address (https, or a folder with a
            repository), a plain folder, or an archive (.zip, .tar.gz, .tgz) by path or http address.
        revision: take this commit, not the pinned one; 7 to 40 hex digits.

    Raises:
        PullError: if it could not be brought or was refused; nothing is written then.
    """
    asked = source(name) if isinstance(name, str) else name
    if revision is not None and not COMMIT.fullmatch(revision):
        raise PullError(f"{revision!r} is no commit: give 7 to 40 digits and letters a to f")
    folder = Path(to).resolve()
    try:
        require_free(folder)
        above = next(parent for parent in folder.parents if parent.is_dir())
        work = Path(tempfile.mkdtemp(prefix=".formalimg-pull-", dir=above))
        try:
            brought = _bring(asked, str(origin or asked.repository), revision or asked.commit, work)
            pulled = _described(asked, folder, brought, revision)
            place(brought.contents, _note(pulled), folder, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise PullError(f"cannot pull to {folder}: {error.strerror or error} ({error.filename})") from error
    return pulled


def _bring(asked: Source, origin: str, commit: str, work: Path) -> _Brought:
    if "://" in origin:
        try:
            parts = urlsplit(origin)
        except ValueError as error:
            raise PullError(f"the address to pull from is not valid ({error}): check it") from error
        if parts.scheme not in ("https", "http"):
            raise PullError(f"cannot pull from {plain_url(origin)}: give an https address, a folder or an archive")
        if parts.username is not None:
            raise PullError(f"cannot pull from {plain_url(origin)}: leave the user and password out, they are not used")
        if parts.path.endswith(SUFFIXES):
            from formalimg.suites.pulling.download import download  # few pulls need the network of Python

            archive = work / "archive"
            download(origin, archive)
            return _unpacked(asked, archive, plain_url(origin), commit)
        contents, full = from_git(asked, origin, commit, work)
        return _Brought(contents, plain_url(origin), full, True)
    path = Path(origin).expanduser()
    if path.is_dir():
        shown = str(path.resolve())
        if _is_repository(path):
            contents, full = from_git(asked, str(path), commit, work)
            return _Brought(contents, shown, full, True)
        return _Brought(from_folder(asked, path), shown, "", False)
    if not path.is_file():
        raise PullError(f"there is nothing at {origin}: give a git address, a folder or an archive")
    if not path.name.endswith(SUFFIXES):
        raise PullError(f"{origin} is no archive: it must end in {', '.join(SUFFIXES)}")
    return _unpacked(asked, path, str(path.resolve()), commit)


def _unpacked(asked: Source, archive: Path, origin: str, commit: str) -> _Brought:
    contents, told = from_archive(asked, archive)
    if told and not told.startswith(commit):
        raise PullError(
            f"the archive is of commit {told}, not of {commit}: take that one, or add --revision {told[:7]}"
        )
    return _Brought(contents, origin, told, False)


def _described(asked: Source, folder: Path, brought: _Brought, revision: str | None) -> Pulled:
    """What was brought, after a look at whether it is what was pinned."""
    contents = brought.contents
    data = {name: text for name, text in contents.items() if wanted(name, asked.data)}
    pinned = revision is None or asked.commit.startswith(revision) or revision.startswith(asked.commit)
    if asked.digest and pinned and digest(data) != asked.digest:
        raise PullError(
            f"these are not the data files of {asked.name} at commit {asked.commit[:7]}: pull without --from, "
            "or use them from where they lie"
        )
    if asked.digest and pinned:
        proven = "digest"
    elif brought.by_git:
        proven = "commit" if len(revision or asked.commit) == 40 else "short commit"
    else:
        proven = ""
    size = sum(map(len, contents.values()))
    return Pulled(asked, folder, brought.origin, brought.commit, proven, len(contents), size, digest(contents))


def _note(pulled: Pulled) -> str:
    return note_text(
        {
            "name": pulled.source.name,
            "title": pulled.source.title,
            "repository": pulled.source.repository,
            "pulled_from": pulled.origin,
            "commit": pulled.commit,
            "pinned_commit": pulled.source.commit,
            "proven_by": pulled.proven,
            "licence": pulled.source.licence,
            "files": pulled.files,
            "bytes": pulled.bytes,
            "digest": pulled.digest,
        }
    )


def _is_repository(path: Path) -> bool:
    """Is a folder a git repository, with files (`.git` inside) or bare?"""
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())
