"""The labels of real generated images: complete, and as their README says."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "benchmarks" / "real_images"
_OBJECTS = re.compile(r"(\d+ [a-z -]+( \([a-z, ]+\))?(; |$))*")


def rows() -> list[dict[str, str]]:
    with (FOLDER / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_both_models_have_the_same_prompts() -> None:
    ids = {model: [row["id"] for row in rows() if row["model"] == model] for model in ("sd-1.4", "sd-2.1")}
    assert len(rows()) == 170
    assert len(set(ids["sd-1.4"])) == 85
    assert ids["sd-1.4"] == ids["sd-2.1"]
    counts = Counter(row["category"] for row in rows() if row["model"] == "sd-1.4")
    assert counts == {"Colors": 25, "Counting": 19, "Positional": 20, "Text": 21}


def test_readings_differ_where_the_readme_says() -> None:
    different = [row for row in rows() if row["pass_1"] != row["pass_2"]]
    assert [(row["model"], row["id"]) for row in different] == [("sd-1.4", "8"), ("sd-1.4", "9"), ("sd-1.4", "115")]
    assert all(row["pass"] == row["pass_1"] for row in rows() if row not in different)
    assert "agree on 167 of 170" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_cell_can_be_read() -> None:
    for row in rows():
        assert row["pass"] in ("yes", "no")
        assert all(_OBJECTS.fullmatch(row[name]) for name in ("objects_1", "objects_2")), row
        assert (row["text_exact"] != "") == (row["category"] == "Text"), row
        assert row["usable"] == "yes" or row["pass"] == "no"
