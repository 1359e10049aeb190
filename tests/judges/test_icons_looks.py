"""What the embedded grounder compares objects with is what the package draws."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from formalimg.judges.grounders.icon_templates import LOOKS_FILE, draw_looks, drawn_kinds


def test_the_looks_that_ship_are_those_that_are_drawn() -> None:
    drawn = draw_looks()
    with (files("formalimg.judges.grounders") / LOOKS_FILE).open("rb") as file, np.load(file) as shipped:
        assert len(drawn_kinds()) == len(shipped["bold"]) == len(shipped["fine"])
        for name, fresh in drawn._asdict().items():
            # Another version of the library that draws may round a shade differently, and nothing more.
            assert np.abs(shipped[name].astype(int) - fresh.astype(int)).max() <= 8, name
