"""Tokens, hosts, pages of other sites, and paths that lead outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from formalimg import FormalimgError
from formalimg.drawing.icon_scene import draw
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.server.http_server import serve_rewards
from formalimg.rewards.server.request_body import Limits
from formalimg.rewards.server.score_request import ImageRoot
from tests.rewards_server.servers import CUP, asked, knolling, visitor

TOKEN = "a-token-that-is-long-enough"


def test_without_its_token_nobody_is_answered() -> None:
    server = visitor(token=TOKEN)
    for sent in ({}, {"authorization": "Bearer a-token-that-is-long-enougH"}, {"authorization": TOKEN}):
        for path in ("/v1/about", "/metrics", "/nowhere"):
            answer = server.get(path, headers=sent)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert server.post("/v1/score", json=asked({"scene": CUP}), headers=sent).status_code == 401
        assert TOKEN not in answer.text
    known = {"authorization": f"Bearer {TOKEN}", "host": "gpu-17.example"}
    assert server.post("/v1/score", json=asked({"scene": CUP}), headers=known).status_code == 200
    assert server.get("/healthz").status_code == 200


def test_without_a_token_only_this_machine_is_answered_and_no_page_of_a_browser() -> None:
    server = visitor()
    for host, status in {"127.0.0.1:8424": 200, "localhost": 200, "[::1]:1": 200, "rebound.example": 403}.items():
        assert server.get("/v1/about", headers={"host": host}).status_code == status
    sent = asked({"scene": CUP})
    assert server.post("/v1/score", json=sent, headers={"origin": "https://example.org"}).status_code == 403
    for origin in ("null", "http://[::1", "", "http://"):
        assert server.post("/v1/score", json=sent, headers={"origin": origin}).status_code == 403


def test_pages_of_other_sites_are_refused_without_an_origin_too() -> None:
    image = {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    for path in ("/v1/about", "/metrics", "/docs"):
        assert visitor().get(path, headers=image).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert visitor().get("/docs", headers=link).status_code == 200


@pytest.mark.parametrize("token", [None, "short", "with a space in its middle", "ünsendable-token-of-some-length"])
def test_no_server_is_opened_to_others_without_a_token_that_will_do(token: str | None) -> None:
    with pytest.raises(FormalimgError, match="token"):
        serve_rewards(
            lambda _: pytest.fail("it must not start"),
            host="0.0.0.0",
            port=0,
            token=token,
            limits=Limits(),
            on_progress=print,
        )


def test_paths_are_read_below_the_root_only(tmp_path: Path) -> None:
    item = knolling()[0]
    inside, outside = tmp_path / "root", tmp_path / "outside.png"
    (inside / "deep").mkdir(parents=True)
    draw(item.spec.witness, 128).save(inside / "deep" / "a.png")
    draw(item.spec.witness, 128).save(outside)
    (inside / "link.png").symlink_to(outside)
    (inside / "folder").symlink_to(tmp_path)
    (inside / "fine.png").symlink_to(inside / "deep" / "a.png")
    (inside / "loop.png").symlink_to(inside / "loop.png")
    (tmp_path / "root2").mkdir()
    draw(item.spec.witness, 128).save(tmp_path / "root2" / "b.png")
    server = visitor(Scorer(items={"knolling": [item]}), root=ImageRoot(inside))

    def answered(path: str) -> tuple[int, float | None, str]:
        answer = server.post("/v1/score", json=asked({"path": path}, item={"suite": "knolling", "id": item.id}))
        told = answer.json()
        if answer.status_code != 200:
            return answer.status_code, None, told["error"]
        return 200, told["results"][0]["score"], told["results"][0]["reason"]

    for path in ("deep/a.png", str(inside / "deep" / "a.png"), "deep/../deep/a.png", "fine.png"):
        assert answered(path)[:2] == (200, 1.0)
    hidden = ("../outside.png", str(outside), "link.png", "folder/outside.png", "../root2/b.png", "../nothing-there")
    # Whether anything is there is not to be told apart.
    assert {answered(path) for path in hidden} == {(403, None, answered("/etc/passwd")[2])}
    assert answered("a\0b")[0] == answered("loop.png")[0] == 403
    for path in ("deep/none.png", "deep", "."):
        status, score, reason = answered(path)
        assert (status, score) == (200, None)
        assert reason.startswith("unreadable image")
        assert str(tmp_path) not in reason


def test_paths_through_the_outside_do_not_tell_what_is_there(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "a.png").write_bytes(b"mine")
    (tmp_path / "secret").symlink_to(inside / "deep")
    (tmp_path / "named").symlink_to(inside)
    root = ImageRoot(inside)
    for path in (
        "../none/../inside/a.png",
        "../secret/../inside/a.png",
        str(tmp_path / "secret" / ".." / "inside" / "a.png"),
    ):
        assert root.read(path, 10) == b"mine"  # links on the way are not followed
    for path in ("../secret/../a.png", "../none/../a.png", str(tmp_path / "named" / "a.png")):
        with pytest.raises(OSError, match="outside"):
            root.read(path, 10)
    assert ImageRoot(tmp_path / "named").read(str(tmp_path / "named" / "a.png"), 10) == b"mine"
    assert root.read("deep/../a.png", 10) == root.read(str(inside / "a.png"), 10) == b"mine"


def test_a_root_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match="--root"):
        ImageRoot(tmp_path / "none")


def test_a_folder_that_is_exchanged_for_a_link_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = tmp_path / "root" / "deep", tmp_path / "outside"
    inside.mkdir(parents=True)
    outside.mkdir()
    (inside / "a.png").write_bytes(b"mine")
    (outside / "a.png").write_bytes(b"secret")
    root = ImageRoot(tmp_path / "root")
    assert root.read("deep/a.png", 10) == b"mine"
    resolved = root.resolve("deep/a.png")
    monkeypatch.setattr(root, "resolve", lambda path: resolved)  # as it was a moment ago
    inside.rename(tmp_path / "moved")
    inside.symlink_to(outside)
    with pytest.raises(OSError, match="link"):
        root.read("deep/a.png", 10)
