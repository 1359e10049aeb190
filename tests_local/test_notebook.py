"""The example notebook in a real kernel: it runs, shows progress below its cells, and renders readably."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs pip install 'formalimg[notebook]'")
nbclient = pytest.importorskip("nbclient", reason="needs pip install 'formalimg[notebook]'")

_NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The outputs of each cell, by its id."""
    notebook = nbformat.read(_NOTEBOOK, 4)
    place = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    nbclient.NotebookClient(notebook, timeout=300, resources=place).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def _html(outputs: list[Any]) -> str:
    return "".join(output.data.get("text/html", "") for output in outputs if "data" in output)


def test_nothing_is_written_to_standard_error(executed: dict[str, list[Any]]) -> None:
    assert [one for outputs in executed.values() for one in outputs if one.get("name") == "stderr"] == []


def test_progress_is_one_line_that_ends_with_what_was_done(executed: dict[str, list[Any]]) -> None:
    line, _ = executed["evaluate"]
    assert line.output_type == "display_data"
    expected = r"knolling, mirror-painter, long style text: 40/40 made, 40 judged in \d+:\d\d"
    assert re.fullmatch(expected, line.data["text/plain"])
    assert executed["function-judge"][0].data["text/plain"].startswith("judging knolling, mirror-painter, by python/")


def test_table_curve_failures_and_figure_are_shown(executed: dict[str, list[Any]]) -> None:
    assert "mirror-painter" in _html(executed["evaluate"])
    assert 'class="curve"' in _html(executed["evaluate"])
    assert _html(executed["failures"]).count("data:image/webp;base64,") == 3
    assert "judged by python/balanced" in _html(executed["function-judge"])
    assert _html(executed["plot"]).startswith("<svg")


def test_a_run_with_nothing_left_to_do_says_so(tmp_path: Path) -> None:
    call = "formalimg.run(model='builtin/scatter', levels=[1], per_level=1, size=256, folder='run')"
    cells = [nbformat.v4.new_code_cell(f"import formalimg\n{call}"), nbformat.v4.new_code_cell(call)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    lines = [cell.outputs[0].data["text/plain"] for cell in notebook.cells]
    assert lines[0].startswith("knolling, builtin/scatter: 1/1 made, 1 judged in 0:0")
    assert lines[1] == "knolling, builtin/scatter: all done before"
