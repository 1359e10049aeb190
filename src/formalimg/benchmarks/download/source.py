"""Sources of published benchmarks, pinned by commit in `sources.toml`, here and in the folders of benchmarks."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from formalimg.benchmarks.registry import FOLDERS, suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match

COMMIT = re.compile(r"[0-9a-f]{7,40}")  # An id of a commit, whole (40 digits) or shortened


class PullError(FormalimgError):
    """Raised if data could not be pulled or was rejected; nothing has been written."""

    def __init__(self, message: str) -> None:
        # Messages quote names out of archives and answers of servers, which can hold anything.
        readable = "".join(character if character.isprintable() else "·" for character in message)
        super().__init__(readable if len(readable) <= 500 else f"{readable[:250]}…{readable[-250:]}")


@dataclass(frozen=True)
class BenchmarkSource:
    """A public repository with the pinned commit and the patterns of its data files."""

    name: str  # what the user calls it
    title: str  # what it is, in words
    repository: str  # its address
    commit: str  # the pinned commit
    licence: str  # the licence as the authors state it, and where they do
    data: tuple[str, ...]  # patterns of the files to keep
    papers: tuple[str, ...]  # patterns of the files to keep beside them, such as the licence
    max_files: int  # more files than this are refused
    max_bytes: int  # more bytes than this are refused
    digest: str = ""  # the digest of the data files, if it is known


def source(name: str) -> BenchmarkSource:
    """Return the source of a benchmark."""
    sources = _read_sources()
    if name in sources:
        return sources[name]
    if name in suite_names():
        names = "|".join(sources_of(name))
        advice = (
            f"pull its data with `formalimg pull {names}`" if names else "its items ship with formalimg, or are yours"
        )
        raise PullError(f"{name} is a suite, not published data: {advice}")
    near = closest_match(name, tuple(sources))
    advice = f"did you mean {near}?" if near else f"choose from {', '.join(sources)}"
    raise PullError(f"unknown benchmark {name!r}: {advice}")


def source_names() -> tuple[str, ...]:
    """Return the names of the benchmarks that can be pulled."""
    return tuple(_read_sources())


def suites_by_source() -> dict[str, tuple[str, ...]]:
    """Return the suites that read the pulled data, by source name."""
    readers = {name: (suite(name).source, *suite(name).reads) for name in suite_names()}
    return {name: tuple(reader for reader in readers if name in readers[reader]) for name in _read_sources()}


def sources_of(suite: str) -> tuple[str, ...]:
    """Return the names of the sources that can be pulled for a suite."""
    return tuple(name for name, suites in suites_by_source().items() if suite in suites)


@cache
def _read_sources() -> dict[str, BenchmarkSource]:
    paths = (files("formalimg.benchmarks") / folder / "sources.toml" for folder in ("download", *FOLDERS))
    texts = (path.read_text(encoding="utf-8") for path in paths if path.is_file())
    return {
        name: BenchmarkSource(
            **{**fields, "name": name, "data": tuple(fields["data"]), "papers": tuple(fields["papers"])}
        )
        for text in texts
        for name, fields in tomllib.loads(text).items()
    }


def redact_url(url: str) -> str:
    """Return a URL without its potentially secret parts: user, query and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
