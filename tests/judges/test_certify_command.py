"""`formalimg certify` prints what was measured, and its exit code says whether it is enough."""

from __future__ import annotations

import json

from tests.support.command import formalimg


def test_the_table_and_the_exit_code() -> None:
    result = formalimg("certify", "--scenes", "2", "--others", "2", "--require", "0.97")
    assert result.code == 0, result.err
    assert result.out.startswith("builtin/icons: 2 scenes of ")
    assert "published parser" in result.out
    assert result.out.endswith("pictures that are no drawings: 2 of 2 refused\n")


def test_json() -> None:
    result = formalimg("certify", "builtin/icons", "--scenes", "1", "--others", "0", "--seed", "5", "--json")
    certificate = json.loads(result.out)
    assert (certificate["grounder"], certificate["scenes"], certificate["seed"]) == ("builtin/icons", 1, 5)
    assert certificate["readings"][0]["precision"] == 1


def test_an_unknown_grounder_is_the_users_mistake() -> None:
    result = formalimg("certify", "builtin/eyes")
    assert result.code == 2
    assert "builtin/icons" in result.err
