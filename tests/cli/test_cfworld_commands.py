"""Commands on CF-World: what a census counts, and that warnings about what cannot count come first."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from formalimg.cli.commands import app
from tests.benchmarks.cfworld.test_tidying import ASKED, GROUP, repository


def formalimg(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A sound group, and one that has no questions above L1."""
    some = [{**asked, "id": str(10 + int(asked["id"])), "source_id": "1"} for asked in ASKED[:3]]
    bare = {key: value for key, value in GROUP.items() if key != "ap_l2"} | {"id": "1", "prompt_l1": " A boat floats."}
    return repository(tmp_path / "published data", [GROUP, bare], [*ASKED, *some])


def test_a_census_of_published_groups_tells_everything_once(published: Path) -> None:
    said = formalimg("items", "census", "cf-world", "--items", published).stdout
    assert "6 items of cf-world in 2 groups (L1: 2, L2: 2, L3: 2)" in said
    without = "  no-questions 2 (no questions were published: unscored): "
    assert f"{without}physics-classical-mechanics-1-l2, physics-classical-mechanics-1-l3\n" in said
    assert said.count("physics-classical-mechanics-1-l2") == 1
    assert said.count("12 questions") == said.count("blanks at the edges: 1") == 1
    assert said.count("no questions") == 1
    assert "prompts" not in said


def test_directions_of_rules_are_counted_in_one_line() -> None:
    lines = formalimg("items", "census", "cf-world-rules").stdout.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("rules are changed in ")
    assert "without a field" not in formalimg("items", "census", "cf-world-attributes").stdout


@pytest.mark.parametrize("is_judged", [True, False])
def test_what_cannot_count_is_told_at_the_start(is_judged: bool, published: Path, tmp_path: Path) -> None:
    images = tmp_path / "pictures"
    images.mkdir()
    for number in (0, 1):
        for level in (1, 2, 3):
            (images / f"physics-classical-mechanics-{number}-l{level}.png").write_bytes(b"")

    def warnings(*more: object) -> list[str]:
        judge = ("--judge", "openai/q", "-J", "base_url=http://127.0.0.1:9/v1") if is_judged else ("--no-judge",)
        asked = ("run", "cf-world", "-m", f"folder/{images}", *judge, "--items", published, "--dry-run", *more)
        done = formalimg(*asked)
        assert done.exit_code == 0, done.output
        return [line for line in done.stderr.splitlines() if "count" in line or "scored" in line]

    silent = (
        "2 prompts without questions cannot be scored; "
        f"`formalimg items census cf-world --items '{published}'` lists what was tidied up"
    )
    gate = "level 1 is left out: L2 and L3 count only where the run has L1 of their group, which is the gate"
    # The path of the data has "count" in it.
    census = f"`formalimg items census cf-world --items '{published}'`"
    odd = f"odd records among the items: no-questions 2; {census} lists them"
    assert warnings() == [silent, odd]
    assert warnings("--levels", "1") == []
    assert warnings("--levels", "2,3") == [gate, silent, odd]
    assert warnings("--levels", "3", "--per-level", 1) == [gate]


def test_items_of_ones_own_may_lack_some_factual_prompts(published: Path, tmp_path: Path) -> None:
    from formalimg.benchmarks.loader import load
    from formalimg.benchmarks.registry import suite

    items = load("cf-world", published)
    kept = [item for item in items if item.id != "physics-classical-mechanics-0-l1"]
    first, _ = suite("cf-world").warnings(kept, "`census`") or ()
    assert first.startswith("level 1 of 1 group is left out")
    probe = [item for item in items if item.level == 2]
    about_probe = suite("cf-world-denominalised").warnings(probe, "`census`") or ()
    assert not [warning for warning in about_probe if "level 1" in warning]
