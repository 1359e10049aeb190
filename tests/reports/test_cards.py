"""Model cards: numbers that the report has, figures that are there, commands that run, and no options in captions."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from contextlib import closing
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import formalimg
from formalimg.cli.commands import app
from formalimg.reports.comparison import compare
from formalimg.reports.sharing.bundle_verification import verify_bundle
from formalimg.reports.sharing.cards import model_card, plain_caption, reproduction
from formalimg.runs.reader import open_run
from tests.support.command import formalimg as command
from tests.support.loopback import Fault, Loopback, scripted
from tests.support.loopback.hub import Hub
from tests.support.sizes import tries
from tests.support.values import not_none

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
STORED_RUNS = sorted(path.parent.name for path in GOLDEN.glob("*/run.toml"))


def test_a_card_has_the_numbers_figures_and_failures(reader_run: Path, tmp_path: Path) -> None:
    said = command("share", "card", str(reader_run), "--out", str(tmp_path / "docs" / "card.md"))
    assert said.code == 0, said.err
    text = (tmp_path / "docs" / "card.md").read_text(encoding="utf-8")
    with closing(open_run(reader_run)) as run:
        overall = compare([run]).sections[0].rows[0].summary.overall
    assert f"**{100 * not_none(overall.value):.1f} %** of {overall.scored} images" in text
    assert text.startswith("## ")
    images = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert images
    assert all((tmp_path / "docs" / image).is_file() for image in images)
    assert "### What fails" in text
    assert "### How to reproduce" in text


@pytest.mark.parametrize("name", STORED_RUNS[:: tries(3, 1)])
def test_captions_name_no_options_and_commands_have_options_that_exist(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(GOLDEN / name, folder)
    text = model_card(folder).text
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert not re.search(r"\s--[a-z]", prose)
    assert "(missing:" not in prose
    assert "{" not in re.sub(r"“.*?”", "", prose)
    group = typer.main.get_command(app)
    for line in re.findall(r"^formalimg .*$", text, re.MULTILINE):
        _, called, *words = shlex.split(line)
        group.commands[called].make_context(called, words)  # type: ignore[attr-defined]  # a group of commands


@given(
    st.lists(
        st.sampled_from(["Rates are here.", "See --human for more.", "Do it with formalimg items census.", "All 5."])
    )
)
def test_plain_captions_keep_every_other_sentence(sentences: list[str]) -> None:
    plain = plain_caption(" ".join(sentences), is_whole=False)
    assert plain.split(". ") == ". ".join(one for one in sentences if one in ("Rates are here.", "All 5.")).replace(
        "..", "."
    ).split(". ")


def test_the_rule_for_missing_verdicts_is_told_only_where_some_are_missing() -> None:
    caption = "Pass rate. Images without a verdict are left out of the rates (missing: exclude). Judged by x."
    assert plain_caption(caption, is_whole=True) == "Pass rate. Judged by x."
    assert plain_caption(caption, is_whole=False) == (
        "Pass rate. Images without a verdict are left out of the rates. Judged by x."
    )


def test_the_command_of_a_card_asks_for_the_same_items(tmp_path: Path) -> None:
    done = formalimg.run(
        "knolling", "builtin/scatter", "builtin/icons", levels=[1, 2, 4], per_level=2, size=256, seed=7, progress=False,
        folder=tmp_path / "first",
    )  # fmt: skip
    with closing(open_run(done.folder)) as run:
        (line,) = reproduction(run).commands
        digest = run.manifest.items_digest
    assert "--levels 1-2,4 --per-level 2" in line
    program, name, *words = shlex.split(line)
    assert program == "formalimg"
    assert command(name, *words, "--out", str(tmp_path / "second")).code == 0
    with closing(open_run(tmp_path / "second")) as again:
        assert again.manifest.items_digest == digest
        assert again.manifest.model == done.run.manifest.model
        assert [one.outcome for one in again.judged()] == [one.outcome for one in done.run.judged()]
        assert [one.sha256 for one in again.judged()] == [one.sha256 for one in done.run.judged()]


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
