"""Model cards: numbers that the report has, figures that are there, commands that run, and no options in captions."""

from __future__ import annotations

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
from formalimg.reports.sharing.cards import model_card, plain_caption, reproduction
from formalimg.runs.reader import open_run
from tests.support.command import formalimg as command
from tests.support.sizes import tries

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
STORED_RUNS = sorted(path.parent.name for path in GOLDEN.glob("*/run.toml"))


def test_a_card_has_the_numbers_figures_and_failures(reader_run: Path, tmp_path: Path) -> None:
    said = command("share", "card", str(reader_run), "--out", str(tmp_path / "docs" / "card.md"))
    assert said.code == 0, said.err
    text = (tmp_path / "docs" / "card.md").read_text(encoding="utf-8")
    with closing(open_run(reader_run)) as run:
        overall = compare([run]).sections[0].rows[0].summary.overall
    assert overall.value is not None
    assert f"**{100 * overall.value:.1f} %** of {overall.scored} images" in text
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
