"""Pulling archives from a web server, and what servers can do wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import Request

import pytest

from formalimg.benchmarks.download import pull as pulling
from formalimg.benchmarks.download.pull import pull
from formalimg.benchmarks.download.source import PullError, source
from formalimg.benchmarks.loader import load
from tests.benchmarks.test_pull_archives import GOOD, SOURCE, kept, make_folder, make_tar, make_zip


class Site(BaseHTTPRequestHandler):
    """Serves a folder; some paths misbehave."""

    def __init__(self, folder: Path, seen: list[dict[str, str]], *arguments: Any) -> None:
        self.folder, self.seen = folder, seen
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        path = self.path.partition("?")[0]
        match path:
            case "/moved.zip":
                self.answer(302, {"Location": "/a.zip"})
            case "/away.zip":
                self.answer(302, {"Location": "file:///etc/passwd"})
            case "/circle.zip":
                self.answer(302, {"Location": "/circle.zip"})
            case "/locked.zip":
                self.answer(401, {"WWW-Authenticate": "Basic realm=x"})
            case "/cut.zip":
                self.answer(200, {"Content-Length": "5000"}, b"PK half of it")
            case "/huge.zip":
                self.answer(200, {"Content-Length": str(10**12)}, b"PK")
            case "/endless.zip":
                self.answer(200, {}, b"PK" + bytes(500_000))
            case "/nonsense.zip":
                self.wfile.write(b"this is not HTTP\r\n\r\n")
            case "/slow.zip":
                self.answer(200, {"Content-Length": "100"}, b"PK")
                with suppress(OSError):  # the other side has left
                    for _ in range(15):
                        time.sleep(0.1)
                        self.wfile.write(b"x")
            case _ if (self.folder / path[1:]).is_file():
                data = (self.folder / path[1:]).read_bytes()
                self.answer(200, {"Content-Length": str(len(data))}, data)
            case _:
                self.answer(404, {})

    def answer(self, code: int, headers: dict[str, str], data: bytes = b"") -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def seen() -> list[dict[str, str]]:
    return []


@pytest.fixture
def site(tmp_path: Path, seen: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "site"
    folder.mkdir()
    make_zip(folder / "a.zip", GOOD)
    make_tar(folder / "a.tar.gz", GOOD)
    (folder / "page.zip").write_text("<html>sign in</html>")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, folder, seen))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "moved.zip", "a.zip?token=hidden"])
def test_an_archive_by_its_address(name: str, site: str, tmp_path: Path, seen: list[dict[str, str]]) -> None:
    pulled = pull(SOURCE, tmp_path / "out", f"{site}/{name}")
    files = kept(tmp_path / "out")
    note = files.pop("SOURCE.toml").decode()
    assert files == GOOD
    assert pulled.origin == f"{site}/{name.partition('?')[0]}"
    assert "hidden" not in note
    assert all("Authorization" not in headers and "Cookie" not in headers for headers in seen)


def test_a_repository_by_its_address(site: str, tmp_path: Path) -> None:
    """The archive of the commit is taken, as GitHub gives it; that of the authors' own server counts as verified."""
    (tmp_path / "site" / "tiny" / "archive").mkdir(parents=True)
    for commit, files in (("a" * 40, GOOD), ("b" * 40, GOOD | {"data/1.json": b"later"})):
        packed = {f"tiny-{commit}/{name}": data for name, data in files.items()}
        make_tar(tmp_path / "site" / "tiny" / "archive" / f"{commit}.tar.gz", packed, comment=commit)
    (tmp_path / "site" / "tiny" / "archive" / "bbbbbbb.tar.gz").symlink_to(f"{'b' * 40}.tar.gz")
    authors = replace(SOURCE, repository=f"{site}/tiny")
    pulled = pull(authors, tmp_path / "out")
    assert kept(tmp_path / "out").items() >= GOOD.items()
    assert (pulled.origin, pulled.commit, pulled.verified_by) == (f"{site}/tiny", "a" * 40, "archive")
    newer = pull(authors, tmp_path / "newer", revision="b" * 7)
    assert (newer.commit, newer.verified_by) == ("b" * 40, "archive")
    assert (tmp_path / "newer" / "data" / "1.json").read_bytes() == b"later"
    fork = pull(SOURCE, tmp_path / "fork", f"{site}/tiny.git")
    assert (fork.origin, fork.commit, fork.verified_by) == (f"{site}/tiny.git", "a" * 40, "")
    with pytest.raises(PullError, match="the server answers 404"):
        pull(authors, tmp_path / "none", revision="c" * 40)


def test_origins_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bare.git").mkdir()
    (tmp_path / "bare.git" / "HEAD").write_text("ref: refs/heads/main")
    (tmp_path / "file.txt").write_text("")
    make_folder(tmp_path / "folder", GOOD)
    for origin, revision, says in (
        (tmp_path / "missing", None, "there is nothing at"),
        (tmp_path / "file.txt", None, "is not an archive"),
        (tmp_path / "bare.git", None, f"`git archive -o data.tar.gz {'a' * 40}` there and give that archive"),
        (tmp_path / "folder", "b" * 7, "`git archive -o data.tar.gz bbbbbbb` there and give that archive"),
        (tmp_path / "folder", "main", "is not a commit"),
        (tmp_path / "folder", "--upload-pack=x", "is not a commit"),
        ("ssh://example.org/x", None, "give an https address"),
        ("ext::sh -c touch%20/tmp/x", None, "there is nothing at"),
        ("file:///etc", None, "give an https address"),
        ("ftp://example.org/x.zip", None, "give an https address"),
        ("https://ada:secret@example.org/x?token=hidden", None, "remove the user name and password"),
    ):
        with pytest.raises(PullError) as caught:
            pull(SOURCE, tmp_path / "out", origin, revision)
        message = str(caught.value)
        assert says in message
        assert not {"\n", "secret", "hidden"} & {message, *message.replace(":", " ").replace("=", " ").split()}
        assert not (tmp_path / "out").exists()


def test_the_lists_of_prompts_that_are_pulled_can_be_loaded(site: str, tmp_path: Path) -> None:
    found = source("t2i-compbench")
    folder = f"T2I-CompBench-{found.commit}"
    lists = {"color_val.txt": b"a red cup and a blue dog\n", "numeracy_val.txt": b"two cups\n", "complex.txt": b"x\n"}
    files = {f"{folder}/examples/dataset/{name}": text for name, text in lists.items()}
    files |= {f"{folder}/License.txt": b"MIT", f"{folder}/UniDet_eval/numeracy_eval.py": b"boom"}
    make_tar(tmp_path / "site" / "lists.tar.gz", files, comment=found.commit)
    pulled = pull(replace(found, digest=""), tmp_path / "out", f"{site}/lists.tar.gz")
    assert (pulled.commit, pulled.files) == (found.commit, 4)
    assert not (tmp_path / "out" / "UniDet_eval").exists()
    assert [item.id for item in load("t2i-compbench", tmp_path / "out")] == ["color-0000", "numeracy-0000"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none.zip", "the server answers 404"),
        ("locked.zip", "the server answers 401"),
        ("away.zip", "is not allowed"),
        ("circle.zip", "cannot download"),
        ("cut.zip", "was interrupted after 13 of 5,000 bytes"),
        ("huge.zip", "more than"),
        ("endless.zip", "more than"),
        ("nonsense.zip", "cannot download"),
        ("slow.zip", "took longer than"),
        ("page.zip", "neither a .zip nor a .tar.gz"),
        ("repository", "the server answers 404"),
    ],
)
def test_servers_that_do_not_give_it(
    name: str, says: str, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "MAX_DOWNLOAD_BYTES", 300_000)
    if name == "slow.zip":
        monkeypatch.setattr(pulling, "DOWNLOAD_TIMEOUT_S", 0.3)
    with pytest.raises(PullError, match=says) as caught:
        pull(SOURCE, tmp_path / "out", f"{site}/{name}")
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("unsafe", ["http://example.org/a.zip", "https://ada:secret@example.org/a.zip"])
def test_a_secure_address_does_not_lead_to_an_unsafe_one(unsafe: str) -> None:
    request = Request("https://example.org/a.zip")
    redirecting = pulling._HttpsRedirects()
    with pytest.raises(PullError, match="unsafe address"):
        redirecting.redirect_request(request, BytesIO(), 302, "", HTTPMessage(), unsafe)
    assert redirecting.redirect_request(request, BytesIO(), 302, "", HTTPMessage(), "https://example.org/b.zip")


def test_no_server_at_all(tmp_path: Path, site: str) -> None:
    nobody = "http://127.0.0.1:1"
    for address in (
        f"{nobody}/a.zip",
        f"{nobody}/repository",
        "http:///a.zip",
        "http://[::1/a.zip",
        "https://:0/a.tgz",
    ):
        with pytest.raises(PullError) as caught:
            pull(SOURCE, tmp_path / "out", address)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
