"""Runs as datasets: pushed with the real client of the Hub to a server that keeps what comes, and read back."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from formalimg.reports.sharing.bundle_verification import verify_bundle
from tests.support.command import formalimg as command
from tests.support.loopback import Fault, Loopback, scripted
from tests.support.loopback.hub import Hub

TOKEN = "hf_planted0a1b2c3d4e5f6789wxyz"
ADDRESS = "hf://datasets/lab/reader-on-knolling"


@pytest.fixture
def hub() -> Hub:
    return Hub(TOKEN)


@pytest.fixture
def server(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Loopback:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return Loopback(dialects=(hub.dialect(),))


def test_a_pushed_run_has_images_verdicts_manifest_and_card(
    hub: Hub, server: Loopback, reader_run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / reader_run.name
    shutil.copytree(reader_run, copy)
    (copy / "images" / "stray.png").write_bytes(b"of no item, and so no part of the run")
    with server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        said = command("share", "push", str(copy), "--to", ADDRESS, "--license", "cc-by-4.0", "--private")
        assert said.code == 0, said.err
        assert f"{server.url}/datasets/lab/reader-on-knolling" in said.out
    files = hub.datasets["lab/reader-on-knolling"]
    assert hub.private == {"lab/reader-on-knolling"}
    images = {path.name: path.read_bytes() for path in (reader_run / "images").glob("*.png")}
    assert {name: files[f"images/{name}"] for name in images} == images
    rows = [json.loads(line) for line in files["images/metadata.jsonl"].splitlines()]
    assert [row["file_name"] for row in rows] == [
        json.loads(line)["file_name"] for line in (reader_run / "images/metadata.jsonl").read_bytes().splitlines()
    ]
    assert {row["passed"] for row in rows} == {True, False, None}
    assert all(bool(row["unscored"]) == (row["passed"] is None) for row in rows)
    assert "images/stray.png" not in files
    assert all(bool(row["what_failed"]) == (row["passed"] is False) for row in rows)
    assert files["run.toml"] == (reader_run / "run.toml").read_bytes()
    (tmp_path / "bundle.zip").write_bytes(files["bundle.zip"])
    assert verify_bundle(tmp_path / "bundle.zip").findings == []
    card = files["README.md"].decode()
    assert card.startswith('---\nlicense: "cc-by-4.0"\n')
    assert verify_bundle(tmp_path / "bundle.zip").digest in card
    linked = re.findall(r"!\[.*?\]\((.*?)\)", card)
    assert linked
    assert set(linked) <= set(files)
    assert TOKEN not in "".join(data.decode("latin-1") for data in files.values())


def test_pushing_again_leaves_nothing_of_before(
    hub: Hub, server: Loopback, reader_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        assert command("share", "push", str(reader_run), "--to", ADDRESS).code == 0
        hub.datasets["lab/reader-on-knolling"]["NOTES.md"] = b"kept by its owner"
        assert command("share", "push", str(reader_run), "--to", ADDRESS, "--no-images").code == 0
    files = hub.datasets["lab/reader-on-knolling"]
    assert not [path for path in files if path.startswith("images/")]
    assert files["NOTES.md"] == b"kept by its owner"
    assert len(files["verdicts.jsonl"].splitlines()) == len(list((reader_run / "images").glob("*.png")))
    assert len(hub.commits) == 2


@pytest.mark.parametrize(
    "address", ["datasets/a/b", "hf://models/a/b", "hf://datasets/a", "hf://datasets/a/b/c", "hf://datasets/../b"]
)
def test_addresses_that_are_none(address: str, reader_run: Path) -> None:
    said = command("share", "push", str(reader_run), "--to", address)
    assert said.code == 2
    assert "hf://datasets/OWNER/NAME" in said.err


def test_what_goes_wrong_is_one_line_without_the_token(
    hub: Hub, reader_run: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Loopback(
        faults=scripted([Fault("403", message="you may not write here")]), dialects=(hub.dialect(),)
    ) as closed:
        monkeypatch.setenv("HF_ENDPOINT", closed.url)
        said = command("share", "push", str(reader_run), "--to", ADDRESS)
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert TOKEN not in said.err
    monkeypatch.delenv("HF_TOKEN")
    nobody = command("share", "push", str(reader_run), "--to", ADDRESS)
    assert nobody.code == 2
    assert "HF_TOKEN" in nobody.err
