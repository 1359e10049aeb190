"""Write the generated pages of the reference: the help of every command, one page for each public package, all screens.

    python -m tools.docs_reference

The pages are kept in the repository, so that they can be read without a site; a test compares them with the code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import formalimg
from formalimg.cli.commands import COMMANDS, app
from tools.docs_images.pages import SHOTS, Shot

DOCS = Path(__file__).parents[1] / "docs"
CLI, API, SCREENS = Path("reference/cli"), Path("reference/api"), Path("reference/screens.md")
ARCHITECTURE = Path("explanation/architecture.md")

GUIDES: Mapping[str, tuple[str, ...]] = {
    "run": ("guides/score-a-checkpoint.md", "guides/runs.md", "guides/conditions.md", "guides/adaptive.md"),
    "plan": ("guides/adaptive.md",),
    "judge": ("guides/runs.md", "guides/vllm.md", "reference/judges.md"),
    "score": ("guides/scoring.md",),
    "report": ("guides/reports.md", "guides/paper-table.md", "explanation/numbers.md"),
    "gate": ("guides/gate.md",),
    "view": ("guides/viewing.md",),
    "serve": ("guides/reward-server.md", "guides/rl.md"),
    "export": ("guides/exporting.md", "guides/premade-images.md"),
    "pull": ("reference/data.md", "reference/papers.md"),
    "import": ("guides/importing.md",),
    "agree": ("guides/agreement.md",),
    "annotate": ("guides/human-judges.md",),
    "certify": ("explanation/certification.md", "explanation/grounding.md"),
    "suites": ("reference/papers.md",),
    "models": ("reference/models.md",),
    "doctor": ("guides/troubleshooting.md",),
    "formula": ("explanation/semantics.md", "explanation/solving.md", "guides/translate.md"),
    "items": ("reference/data.md", "guides/synthesis.md", "guides/writing.md", "guides/captions.md"),
    "share": ("guides/sharing.md",),
    "cf-world": ("guides/diagnosis.md",),
    "config": ("reference/configuration.md",),
}
"""The pages that say what each command is for."""

SITES = {
    "viewer": "guides/viewing.md",
    "report": "guides/reports.md",
    "rating": "guides/human-judges.md",
    "review": "guides/writing.md",
}
"""What the names of screenshots begin with, and the guides to these pages."""

PACKAGES = (
    "benchmarks",
    "benchmarks.cfworld",
    "benchmarks.conceptmix",
    "benchmarks.geneval",
    "benchmarks.geneval2",
    "benchmarks.t2i_compbench",
    "drawing",
    "errors",
    "human_eval",
    "human_eval.agreement",
    "judges",
    "language",
    "logic",
    "models",
    "models.builtin",
    "reports",
    "reports.results",
    "reports.sharing",
    "reports.tables",
    "rewards",
    "rewards.server",
    "rewards.trainers",
    "runs",
    "scenes",
    "scoring",
    "stats",
)
"""The packages that have a page, beside `formalimg` itself."""


def write_pages() -> list[Path]:
    """Write all generated pages, remove those of commands and packages that are gone, and return what has changed."""
    pages = dict(generated_pages())
    changed = []
    for path in [*(DOCS / CLI).glob("*.md"), *(DOCS / API).glob("*.md")]:
        if path.relative_to(DOCS) not in pages:
            path.unlink()
            changed.append(path)
    for name, text in pages.items():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def generated_pages() -> Iterator[tuple[Path, str]]:
    """Yield the path below docs/ and the text of every generated page."""
    yield CLI / "index.md", _command_index()
    for name in COMMANDS:
        yield CLI / f"{name}.md", _command_page(name)
    yield API / "index.md", _api_index()
    for package in ("", *PACKAGES):
        yield _package_page_path(package), _package_page(package)
    yield SCREENS, _screens_page()
    yield ARCHITECTURE, _counted_core()


def _counted_core() -> str:
    """Return the page on the architecture, with the lines that the files of the core have now."""
    source = Path(formalimg.__file__).parent

    def count(row: re.Match[str]) -> str:
        return f"{row[1]}{len((source / row[2]).read_text(encoding='utf-8').splitlines())}{row[3]}"

    return re.sub(r"(\| \d+ \| `([\w./]+\.py)` \| )\d+( \|)", count, (DOCS / ARCHITECTURE).read_text(encoding="utf-8"))


def help_text(*words: str) -> str:
    """Return what `formalimg WORDS --help` prints in a terminal of 80 columns."""
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="formalimg", env={"COLUMNS": "80"})
    if result.exit_code != 0:
        raise RuntimeError(f"formalimg {' '.join(words)} --help failed") from result.exception
    return "\n".join(line.rstrip() for line in result.output.splitlines())


def _command_index() -> str:
    lines = [
        "# Command line",
        "",
        "All commands of `formalimg`, each with the output of its `--help` and the pages that say what it is for.",
    ]
    for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
        lines += ["", f"## {section}", "", "| command | what it does | read more |", "| --- | --- | --- |"]
        for name, entry in COMMANDS.items():
            if entry.section == section:
                lines.append(f"| [`{name}`]({name}.md) | {entry.summary} | {_guide_links(name)} |")
    lines += [
        "",
        "`formalimg --version` prints the version, `--verbose` logs retries and waits, and the exit code says "
        "[how a command ended](../../explanation/architecture.md#exit-codes). "
        "Defaults come from [`formalimg.toml`](../configuration.md).",
    ]
    return "\n".join(lines) + "\n"


def _command_page(name: str) -> str:
    lines = [f"# formalimg {name}", "", COMMANDS[name].summary, "", f"Read more: {_guide_links(name)}."]
    group: Any = typer.main.get_command(app)
    for words in _commands_below(group.commands[name], (name,)):
        if len(words) > 1:
            lines += ["", f"{'#' * len(words)} formalimg {' '.join(words)}"]
        lines += ["", "```text", help_text(*words), "```"]
    return "\n".join(lines) + "\n"


def _commands_below(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and of all commands of a group, outermost first."""
    yield words
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands_below(inner, (*words, name))


def _guide_links(name: str) -> str:
    return ", ".join(f"[{_title(page)}]({os.path.relpath(page, CLI)})" for page in GUIDES[name])


def _title(page: str) -> str:
    heading = (DOCS / page).read_text(encoding="utf-8").partition("\n")[0]
    return heading.removeprefix("# ")


def _package_page_path(package: str) -> Path:
    return API / f"{'.'.join(filter(None, ('formalimg', package)))}.md"


def _package_page(package: str) -> str:
    name = _package_page_path(package).stem
    return f"# {name}\n\n{_summary(import_module(name))}\n\n::: {name}\n"


def _api_index() -> str:
    lines = [
        "# Python API",
        "",
        "Everything that `import formalimg` offers, and the packages below it. The site shows signatures and "
        "docstrings; [Python and notebooks](../../guides/notebooks.md) shows how they are used.",
        "",
        "## Names of `formalimg`",
        "",
        "| name | what it is |",
        "| --- | --- |",
    ]
    lines += [
        f"| [`{name}`](formalimg.md#formalimg.{name}) | {_summary(getattr(formalimg, name))} |"
        for name in formalimg.__all__
        if not name.startswith("_")
    ]
    lines += ["", "## Packages", "", "| package | what it is |", "| --- | --- |"]
    for package in PACKAGES:
        path = _package_page_path(package)
        lines.append(f"| [`{path.stem}`]({path.name}) | {_summary(import_module(path.stem))} |")
    lines += ["", "Other packages are internal: their names may change without notice."]
    return "\n".join(lines) + "\n"


def _screens_page() -> str:
    lines = [
        "# Screens",
        "",
        "Every page of the viewer, the reports, the studies and the review, on a desktop and a phone, in light and in "
        "dark colours. `make docs-images` takes these screenshots of runs of the built-in models; click to enlarge.",
    ]
    for kind, guide in SITES.items():
        lines += [
            "",
            f"## {kind.capitalize()}",
            "",
            f"Read more: [{_title(guide)}]({os.path.relpath(guide, SCREENS.parent)}).",
        ]
        for shot in SHOTS:
            if shot.title and shot.name.startswith(kind):
                lines += ["", f"### {shot.title}", "", shot.purpose, "", *_screen_images(shot)]
    return "\n".join(lines) + "\n"


def _screen_images(shot: Shot) -> Iterator[str]:
    """Yield the lines of a page's images: desktop and phone side by side, light above dark."""
    for screen in shot.screens:
        image = f"../images/{shot.name}{screen.suffix}.png"
        words = f"{shot.title}, {'dark' if screen.dark else 'light'}{', on a phone' if screen.size else ''}"
        width = "23%" if screen.size else "74%"  # of the same height, where the page has that of the window
        yield f'<a href="{image}"><img src="{image}" alt="{words}" width="{width}" align="top" loading="lazy"></a>'
        if screen.size and screen != shot.screens[-1]:
            yield ""


def _summary(documented: object) -> str:
    """Return the first paragraph of a docstring on one line."""
    return re.sub(r"\s+", " ", (getdoc(documented) or "").partition("\n\n")[0]).replace("|", r"\|")


if __name__ == "__main__":
    for changed in write_pages():
        print(changed.relative_to(DOCS.parent))
