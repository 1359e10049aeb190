"""Tables of question graphs: means over images and over questions, by tag and category; the first row of DPG."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from formalimg.benchmarks.loader import load
from formalimg.judges.question_judge import QuestionGraphJudge
from formalimg.models.python_function import CallableModel
from formalimg.reports.comparison import compare
from formalimg.reports.tables.model import number_in
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import open_run
from formalimg.stats.observations import MissingPolicy
from formalimg.types import Table
from tests.benchmarks.test_question_files import DSG_COLUMNS
from tests.benchmarks.test_suite_kinds import draw_anything
from tests.support.concept_items import NOTHING, answers_by
from tests.support.scripted_chat import ScriptedChat

DPG = f"""{DSG_COLUMNS},question_natural_language
0,A red cup,cup,1,0,entity,whole,entity - whole (cup),Is there a cup?
0,A red cup,red,2,PARENT,attribute,color,"attribute - color (cup, red)",Is the cup red?
0,A red cup,table,3,2,relation,spatial,"relation (cup, table)",Is the red cup on it?
partiprompts0,Two dogs,dogs,1,0,entity,whole,entity - whole (dogs),Are there dogs?
"""
ANSWERS = {"Is there a cup?": "yes", "Is the cup red?": "no", "Is the red cup on it?": "yes", "Are there dogs?": "yes"}


def _tables(folder: Path, items: Path, answers: dict[str, str], **how: str) -> dict[str, Table]:
    chat = ScriptedChat({1: NOTHING}, answers_by(answers), name="lab/eyes")
    config = RunConfig(load("questions", items), CallableModel(draw_anything, name="lab/painter"), size=64)
    if not folder.exists():
        execute(config, folder, QuestionGraphJudge(chat))
    with contextlib.closing(open_run(folder)) as run:
        (section,) = compare([run], **how).sections  # type: ignore[arg-type]
    return {table.name: table for table in section.tables}


def _numbers(table: Table) -> dict[str, list[float | None]]:
    found = {}
    for row in table.rows:
        cells = [number_in(table, row, place) for place in (2, 3)]
        found[str(row.cells[1])] = [
            None if cell is None or cell.value is None else round(cell.value, 6) for cell in cells
        ]
    return found


@pytest.mark.parametrize(("parent", "official"), [("0", [(0 + 1) / 2, 1 / 3]), ("1", [1.0, 1.0])])
def test_dpg_with_its_first_row_and_as_the_code_has_it(tmp_path: Path, parent: str, official: list[float]) -> None:
    (tmp_path / "dpg.csv").write_text(DPG.replace("PARENT", parent))
    ours = _numbers(_tables(tmp_path / "run", tmp_path / "dpg.csv", ANSWERS)["scores"])
    # There is a cup; what follows from the red that is not there fails.
    assert ours == {"all": pytest.approx([(1 / 3 + 1) / 2, 2 / 4], abs=1e-6)}
    # Without its row the item is scored by the other questions; it is dropped if one of them depends on it.
    theirs = _tables(tmp_path / "run", tmp_path / "dpg.csv", ANSWERS, profile="official-code")
    assert _numbers(theirs["scores"]) == {"all": pytest.approx(official, abs=1e-6)}


def test_means_by_tag_and_category(tmp_path: Path) -> None:
    checks = {"C-A-001": ("Cups", ["a", "b"]), "C-A-002": ("Cups", ["c"]), "C-B-001": ("Dogs", ["d", "e"])}
    records = {
        name: {
            "Main Class": "Composition",
            "Sub Class": kind,
            "Prompt": name,
            "Checklist": [{"question": f"Is it {one}?", "tags": ["even" if one in "bd" else "odd"]} for one in asked],
        }
        for name, (kind, asked) in checks.items()
    }
    (tmp_path / "C.json").write_text(json.dumps(records))
    answers = {"Is it a?": "yes", "Is it b?": "no", "Is it c?": "yes", "Is it d?": "yes", "Is it e?": "perhaps"}
    tables = _tables(tmp_path / "run", tmp_path / "C.json", answers)
    assert _numbers(tables["scores"]) == {
        "all": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Cups": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Composition": [0.75, pytest.approx(2 / 3, abs=1e-6)],
        "Dogs": [None, None],
    }
    assert _numbers(tables["questions by category"]) == {"even": [0, 1], "odd": [1, 2]}
    missing: MissingPolicy = "fail"
    counted = _numbers(_tables(tmp_path / "run", tmp_path / "C.json", answers, missing=missing)["scores"])
    assert counted["all"] == pytest.approx([0.5, 2 / 5])
    assert counted["Dogs"] == [0, 0]
