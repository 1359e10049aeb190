"""`formalimg certify` prints what was measured, and its exit code says whether it is enough."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from formalimg.cli import app
from tests.support.command import formalimg


def test_the_table_and_the_exit_code() -> None:
    result = formalimg("certify", "--scenes", "1", "--others", "2", "--require", "0.97")
    assert result.code == 0, result.err
    assert result.out.startswith("builtin/icons: 1 scene")
    assert "published parser" in result.out
    assert result.out.endswith("images that are no drawings: 2 of 2 refused\n")


def test_json() -> None:
    result = CliRunner().invoke(
        app, ["certify", "builtin/icons", "--scenes", "1", "--others", "0", "--seed", "5", "--json"]
    )
    certificate = json.loads(result.output)
    assert (certificate["grounder"], certificate["scenes"], certificate["seed"]) == ("builtin/icons", 1, 5)
    assert certificate["readings"][0]["precision"] == 1


def test_an_unknown_grounder_is_the_users_mistake() -> None:
    result = formalimg("certify", "builtin/eyes")
    assert result.code == 2
    assert "builtin/icons" in result.err
