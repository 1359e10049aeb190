"""Pulling from git repositories: the pinned commit's data, whatever else the repository does."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from formalimg.benchmarks.download import git as git_source
from formalimg.benchmarks.download.pull import pull
from formalimg.benchmarks.download.source import BenchmarkSource, PullError
from tests.benchmarks.test_pull_archives import GOOD, OTHER, SOURCE, kept, make_folder
from tests.support.sizes import only_in_full


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def commit(folder: Path, files: dict[str, bytes]) -> str:
    make_folder(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "data")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "a repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


@pytest.fixture
def pinned(repository: Path) -> BenchmarkSource:
    first = commit(repository, GOOD | OTHER)
    commit(repository, {"data/1.json": b"later", "data/later.json": b"{}"})
    return replace(SOURCE, commit=first)


def refused(tiny: BenchmarkSource, tmp_path: Path, origin: Path | str, revision: str | None = None) -> str:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(PullError) as caught:
        pull(tiny, tmp_path / "out", origin, revision)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_pinned_commit_is_taken_not_the_newest(repository: Path, pinned: BenchmarkSource, tmp_path: Path) -> None:
    (repository / "data" / "1.json").write_text("not even committed")
    pulled = pull(pinned, tmp_path / "out", repository)
    files = kept(tmp_path / "out")
    note = files.pop("SOURCE.toml").decode()
    assert files == GOOD
    assert (pulled.commit, pulled.verified_by) == (pinned.commit, "commit")
    assert f'commit = "{pinned.commit}"' in note
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a repository", "out"]


def test_a_short_commit_is_found_in_the_history_and_at_the_tip(
    repository: Path, pinned: BenchmarkSource, tmp_path: Path
) -> None:
    short = replace(pinned, commit=pinned.commit[:7])
    pulled = pull(short, tmp_path / "old", repository)
    assert (pulled.commit, pulled.verified_by) == (pinned.commit, "short commit")
    tip = git(repository, "rev-parse", "HEAD")
    assert pull(short, tmp_path / "new", repository, tip[:9]).commit == tip
    assert (tmp_path / "new" / "data" / "1.json").read_bytes() == b"later"


def test_bare_repositories_and_tags(repository: Path, pinned: BenchmarkSource, tmp_path: Path) -> None:
    git(repository, "checkout", "--quiet", "--orphan", "aside")
    aside = commit(repository, {"data/aside.json": b"{}"})
    git(repository, "tag", "--annotate", "--message", "x", "v1")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "branch", "--delete", "--force", "aside")
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    pulled = pull(pinned, tmp_path / "out", tmp_path / "bare.git", aside[:7])
    assert pulled.commit == aside


def test_an_old_server_that_gives_only_branches(
    repository: Path, pinned: BenchmarkSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [setting for setting in git_source._SETTINGS if not setting.startswith("protocol.version")]
    monkeypatch.setattr(git_source, "_SETTINGS", (*settings, "protocol.version=0"))
    assert pull(pinned, tmp_path / "out", repository).commit == pinned.commit
    assert "has no commit" in refused(pinned, tmp_path, repository, "f" * 40)


def test_a_commit_that_is_not_there(repository: Path, pinned: BenchmarkSource, tmp_path: Path) -> None:
    for missing in ("0123456", "f" * 40):
        assert f"has no commit {missing}" in refused(pinned, tmp_path, repository, missing)
    assert "is not a commit" in refused(pinned, tmp_path, repository, "--upload-pack=x")
    assert "is not a commit" in refused(pinned, tmp_path, repository, "main")
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    assert "has no commit" in refused(pinned, tmp_path, repository, tree)


def test_places_that_are_no_repository(pinned: BenchmarkSource, tmp_path: Path) -> None:
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert "cannot fetch from" in refused(pinned, tmp_path, tmp_path / "broken")
    assert "there is nothing at" in refused(pinned, tmp_path, tmp_path / "missing")
    (tmp_path / "file.txt").write_text("")
    assert "is not an archive" in refused(pinned, tmp_path, tmp_path / "file.txt")
    for address in ("ssh://example.org/x", "ext::sh -c touch%20/tmp/x", "file:///etc", "ftp://example.org/x.zip"):
        assert "\n" not in refused(pinned, tmp_path, address)
    message = refused(pinned, tmp_path, "https://ada:secret@example.org/x?token=hidden")
    assert "leave the user and password out" in message
    assert "secret" not in message
    assert "hidden" not in message


def test_without_git(
    pinned: BenchmarkSource, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert f"git is not installed: install it, or add --from {pinned.archive}" in refused(pinned, tmp_path, repository)


def test_links_and_submodules_among_the_data(repository: Path, pinned: BenchmarkSource, tmp_path: Path) -> None:
    (repository / "unwanted").symlink_to("/etc/passwd")
    fine = commit(repository, {})
    pull(pinned, tmp_path / "fine", repository, fine)
    (repository / "data" / "link.json").symlink_to("/etc/passwd")
    linked = commit(repository, {})
    assert "is a link" in refused(pinned, tmp_path, repository, linked)
    (repository / "data" / "link.json").unlink()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{fine},data/module.json")
    git(repository, "commit", "--quiet", "--message", "module")
    assert "another repository" in refused(pinned, tmp_path, repository, git(repository, "rev-parse", "HEAD"))


def test_attributes_and_filters_change_nothing(repository: Path, tmp_path: Path) -> None:
    """`git archive` would obey the first line, a checkout the others."""
    attributes = b"data/1.json export-ignore\ndata/2.json export-subst\n*.json text eol=crlf filter=evil\n"
    files = {"data/1.json": b"{}\n", "data/2.json": b"$Format:%H$\n", ".gitattributes": attributes}
    pinned = replace(SOURCE, commit=commit(repository, files))
    pull(pinned, tmp_path / "out", repository)
    assert (tmp_path / "out" / "data" / "1.json").read_bytes() == b"{}\n"
    assert (tmp_path / "out" / "data" / "2.json").read_bytes() == b"$Format:%H$\n"


def test_nothing_of_the_repository_runs(
    repository: Path, pinned: BenchmarkSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\necho "$0" >> "{ran}"\nexit 1\n')
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change", "fsmonitor-watchman"):
        (hooks / hook).write_bytes(script.read_bytes())
        (hooks / hook).chmod(0o755)
    for setting in ("core.fsmonitor", "uploadpack.packObjectsHook", "filter.evil.smudge", "core.sshCommand"):
        git(repository, "config", setting, str(script))
    # What the user has set up for git is not asked either: a helper could hand out a password.
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[credential]\n\thelper = {script}\n[core]\n\taskPass = {script}\n")
    for name in ("GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, str(script))
    monkeypatch.setenv("HOME", str(home))
    ran.unlink(missing_ok=True)  # the configuring above may have run it
    pull(pinned, tmp_path / "out", repository)
    assert not ran.exists()


def test_a_repository_that_would_fetch_by_its_own_command(
    repository: Path, pinned: BenchmarkSource, tmp_path: Path
) -> None:
    """A partial clone brings what it lacks by a command that its own configuration may name."""
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\ntouch "{tmp_path / "ran"}"\n')
    script.chmod(0o755)
    for setting, value in (
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", str(repository)),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", str(script)),
    ):
        git(repository, "config", setting, value)
    blob = git(repository, "rev-parse", f"{pinned.commit}:data/1.json")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert "only part of a repository" in refused(pinned, tmp_path, repository)


@only_in_full
def test_too_much_in_a_repository(repository: Path, pinned: BenchmarkSource, tmp_path: Path) -> None:
    many = commit(repository, {f"data/{number}.json": b"" for number in range(11)})
    assert "more files or bytes" in refused(pinned, tmp_path, repository, many)
    huge = commit(repository, {"data/1.json": bytes(50_000_000)})
    assert "more files or bytes" in refused(replace(pinned, max_files=100), tmp_path, repository, huge)


def test_a_fetch_that_never_ends_is_ended_with_all_its_helpers(
    repository: Path, pinned: BenchmarkSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text('#!/bin/sh\n/bin/sleep 30 & echo $! > "$HOME/../helper"; wait\n')
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(slow))
    for limit, value, says in (("FETCH_TIMEOUT_S", 0, "gave up after"), ("MAX_FETCH_BYTES", -1, "holds more than")):
        with monkeypatch.context() as limited:
            limited.setattr(git_source, limit, value)
            with pytest.raises(PullError, match=says):
                pull(pinned, tmp_path / "out", repository)
        assert not _runs(int((tmp_path / "helper").read_text()))
    assert not (tmp_path / "out").exists()


def _runs(process: int) -> bool:
    for _ in range(50):
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
                return False  # ended, and waiting for somebody to ask how
        except (ProcessLookupError, FileNotFoundError):
            return False
        time.sleep(0.05)
    return True
