"""The last line of a command: it can be typed as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from formalimg.cli.streams import print_next


@pytest.mark.parametrize(
    ("named", "others", "said"),
    [
        (["a"], ["b"], "formalimg report runs/a --details"),
        (["a", "b"], [], "formalimg report runs/* --details"),
        (["a", "b"], ["c"], "formalimg report runs/a runs/b --details"),
        (["knolling-a", "knolling-b"], ["natural-a"], "formalimg report runs/knolling-* --details"),
        (["my run"], [], "formalimg report 'runs/my run' --details"),
    ],
)
def test_folders_are_named_as_short_as_a_shell_allows(
    named: list[str],
    others: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [*named, *others]:
        (Path("runs") / name).mkdir(parents=True)
    print_next("report", [Path("runs") / name for name in named], "--details")
    assert capsys.readouterr().out == f"next: {said}\n"
    assert shlex.split(said)
