"""The example notebook as a page: its cells are executed here, and shown as notebooks show them."""

from __future__ import annotations

import ast
import contextlib
import html
import json
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"

_STYLE = """
body { margin: 0 auto; padding: 8px 28px 24px; max-width: 860px; font: 15px/1.5 system-ui, sans-serif; color: #1f2328 }
.cell { margin: 10px 0; padding: 8px 12px; background: #f6f8fa; border: 1px solid #d8dee4; border-radius: 3px;
        overflow: hidden; font: 12px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap }
"""


def notebook_page(work: Path, cells: int = 7) -> str:
    """Execute the first cells of the notebook in a folder, and return them with their results as a page."""
    work.mkdir(exist_ok=True)
    parts, names = [], {"__name__": "__main__"}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"][:cells]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(MarkdownIt("commonmark").render(source))
            continue
        parts.append(f'<div class="cell">{html.escape(source)}</div>')
        with contextlib.chdir(work):
            parts.append(_shown(_executed(source, names)))
    body = "".join(parts)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{_STYLE}</style><body>{body}</body></html>'


def _executed(source: str, names: dict[str, Any]) -> object:
    """Execute a cell, and return the value of the expression that it ends with."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def _shown(value: object) -> str:
    if value is None:
        return ""
    as_html = getattr(value, "_repr_html_", None)
    return str(as_html()) if as_html else f"<pre>{html.escape(repr(value))}</pre>"
