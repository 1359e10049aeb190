"""Data from a git repository: objects are fetched and read, without checking out or running anything.

Credentials are never requested for or looked up, configuration of the user and the machine is left aside, and hooks,
filters and submodules have no occasion to act, since there is never a working tree.
"""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.benchmarks.download.contents import FileCollector, FileContents
from formalimg.benchmarks.download.source import BenchmarkSource, PullError

MAX_FETCH_BYTES = 500_000_000
FETCH_TIMEOUT_S = 900
"""Seconds after which a fetch is stdin up."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "credential.helper=",
    "core.fsmonitor=false",
    "core.bigFileThreshold=16m",  # what is larger is streamed, not held in memory
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=60",
    "protocol.version=2",
)
_PASSED_ON = re.compile(
    r"PATH|LANG|(https?|all|no)_proxy|SSL_CERT_(FILE|DIR)|GIT_SSL_CAINFO|SYSTEMROOT|TE?MP", re.IGNORECASE
)


class CommitContents(NamedTuple):
    """The data files of a commit, with the commit's full id."""

    contents: FileContents
    commit: str


def read_git(source: BenchmarkSource, address: str, commit: str, work: Path) -> CommitContents:
    """Return the data files of a commit; the address is a URL or a local folder."""
    git = _Git(address, work, source.archive)
    if "://" not in address:
        git.refuse_partial_clone(Path(address))
    full = commit if len(commit) == 40 else git.resolve(commit)
    repository = git.fetch_commit(full)
    return CommitContents(_read_tree(git, repository, full, source), full)


class _Git:
    """Runs git for one address, with every automatic action disabled."""

    def __init__(self, address: str, work: Path, archive: str) -> None:
        scheme = address.partition("://")[0] if "://" in address else "file"
        self.address = address if scheme != "file" or "://" in address else Path(address).resolve().as_uri()
        self.work = work
        self.archive = archive
        self.environment = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)} | {
            "HOME": str(work),  # no .netrc, no .gitconfig
            "GIT_ALLOW_PROTOCOL": "http:https" if scheme == "http" else scheme,
            "GIT_ASKPASS": "",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "SSH_ASKPASS": "",
        }

    def refuse_partial_clone(self, repository: Path) -> None:
        """Raise an error if a local repository would fetch missing objects by a command in its configuration."""
        names = self.run("-C", str(repository.resolve()), "config", "--list", "--name-only").decode("utf-8", "replace")
        if re.search(r"^(extensions\.partialclone|remote\..*\.(promisor|uploadpack|vcs))$", names, re.MULTILINE):
            raise PullError(f"refused: {repository} is only part of a repository: give a full clone")

    def resolve(self, short: str) -> str:
        """Return the full id of a commit, searching branch and tag tips before the whole history."""
        tips = {line.split("\t")[0] for line in self.run("ls-remote", "--", self.address).decode().splitlines()}
        matches = {tip for tip in tips if tip.startswith(short)}
        if len(matches) == 1:
            return matches.pop()
        repository = self._repository("history")
        self.run(
            *("-C", str(repository), "fetch", "--quiet", "--no-tags", "--filter=tree:0", "origin"),
            *("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"),
        )
        try:
            named = ("-C", str(repository), "rev-parse", "--quiet", "--verify", f"{short}^{{commit}}")
            return self.run(*named).decode().strip()
        except PullError as error:
            raise self._unknown(short) from error

    def fetch_commit(self, full: str) -> Path:
        """Return a bare repository that holds the commit and its files."""
        repository = self._repository("commit")
        try:
            self.run("-C", str(repository), "fetch", "--quiet", "--no-tags", "--depth=1", "origin", full)
        except PullError as error:
            if not re.search("not our ref|unadvertised object|remote ref|shallow", str(error)):
                raise
            # An old server gives only what its branches and tags name: take those, and look inside.
            repository = self._repository("all")
            refs = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
            self.run("-C", str(repository), "fetch", "--quiet", "--no-tags", "origin", *refs)
        try:
            self.run("-C", str(repository), "cat-file", "-e", f"{full}^{{commit}}")
        except PullError as error:
            raise self._unknown(full) from error
        return repository

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return git's output; raise a one-line error if git fails, times out or fetches too much."""
        options = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = ["git", *options, *arguments]
        try:
            process = subprocess.Popen(
                command,
                cwd=self.work,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that its own helpers end with it
            )
        except FileNotFoundError as error:
            raise PullError(f"git is not installed: install it, or add --from {self.archive}") from error
        try:
            out, complaint = self._awaited(process, stdin)
        finally:
            _end_process(process)
        if process.returncode:
            raise PullError(
                f"cannot fetch from {self.address}: {_find_reason(complaint)}; check the address and the network"
            )
        return out

    def _awaited(self, process: subprocess.Popen[bytes], stdin: bytes) -> tuple[bytes, bytes]:
        deadline = time.monotonic() + FETCH_TIMEOUT_S
        while True:
            try:
                return process.communicate(stdin, timeout=0.5)
            except subprocess.TimeoutExpired:
                stdin = b""  # was taken over by the first call
                if time.monotonic() > deadline:
                    raise PullError(
                        f"gave up after {FETCH_TIMEOUT_S} s: {self.address} is too slow, try again"
                    ) from None
                if _folder_size(self.work) > MAX_FETCH_BYTES:
                    raise PullError(f"refused: {self.address} holds more than {MAX_FETCH_BYTES:,} bytes") from None

    def _repository(self, name: str) -> Path:
        path = self.work / f"{name}.git"
        self.run("init", "--quiet", "--bare", "--template=", str(path))
        self.run("-C", str(path), "config", "remote.origin.url", self.address)
        return path

    def _unknown(self, commit: str) -> PullError:
        return PullError(f"{self.address} has no commit {commit}: check the address, or name another with --revision")


def _read_tree(git: _Git, repository: Path, commit: str, source: BenchmarkSource) -> FileContents:
    keeper = FileCollector(source)
    listed = git.run("-C", str(repository), "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    entries = [_parse_entry(line) for line in listed.split(b"\0") if line]
    chosen = [entry for entry in entries if keeper.wants(entry.name)]
    for entry in chosen:
        if entry.mode not in ("100644", "100664", "100755"):
            raise PullError(f"refused: {entry.name!r} is a link or another repository, not a file")
    if len(chosen) > source.max_files or sum(entry.size for entry in chosen) > source.max_bytes:
        raise PullError(f"refused: more files or bytes of data than {source.name} ever had")
    requested = "".join(f"{entry.object}\n" for entry in chosen).encode()
    answer = io.BytesIO(git.run("-C", str(repository), "cat-file", "--batch", stdin=requested))
    for entry in chosen:
        header = answer.readline().decode().split()
        if header != [entry.object, "blob", str(entry.size)]:
            raise PullError(f"the repository is damaged at {entry.name!r}: fetch it anew")
        keeper.keep(entry.name, entry.size, io.BytesIO(answer.read(entry.size)))
        answer.read(1)
    return keeper.contents()


class _TreeEntry(NamedTuple):
    mode: str
    object: str
    size: int
    name: str


def _parse_entry(line: bytes) -> _TreeEntry:
    facts, _, name = line.partition(b"\t")
    mode, _, identity, size = facts.decode("ascii").split()
    return _TreeEntry(mode, identity, 0 if size == "-" else int(size), name.decode("utf-8", "surrogateescape"))


def _find_reason(complaint: bytes) -> str:
    """Return the most informative line of git's error output."""
    lines = [line.strip() for line in complaint.decode("utf-8", "replace").splitlines() if line.strip()]
    informative = [line for line in lines if line.startswith(("fatal:", "error:", "ERR", "remote:"))]
    return (informative or lines or ["git failed"])[0].removeprefix("fatal: ").removeprefix("error: ")


def _folder_size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118  # called often, over many files
            except FileNotFoundError:
                continue  # git has just moved it
    return total


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """End git and its helpers if they are still running, and close the pipes."""
    if process.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
    streams: Sequence[io.IOBase | None] = (process.stdin, process.stdout, process.stderr)  # type: ignore[assignment]
    for stream in streams:
        if stream is not None:
            stream.close()
