"""The parts of the reference that come from the code: commands and options, public names and packages, screens.

    python -m tools.docs_reference

`commands.md` and `api.md` are stored as lists, so that they can be read without a site. The site extends the first by
every option, links the second to pages of names, and lists the tags of odd records; `tools.docs_hooks` asks for them.
Those are not stored.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import cleandoc, getdoc
from pathlib import Path
from typing import Any

import typer

import formalimg
from formalimg.benchmarks.odd_records import ODD_TAGS
from formalimg.cli.commands import COMMANDS, app
from tools.docs_images.pages import SHOTS, Shot

DOCS = Path(__file__).parents[1] / "docs"
COMMAND_LIST, API_LIST = Path("reference/commands.md"), Path("reference/api.md")
API, SCREENS = Path("reference/api"), Path("reference/screens.md")
ARCHITECTURE = Path("explanation/architecture.md")
DATA = Path("reference/data.md")
TAG_LIST = "<!-- tags of odd records: the site lists them here -->"

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


API_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Score, reward, verify": ("evaluate", "score", "reward", "verify"),
    "Runs": ("run", "judge", "load", "Condition", "Item"),
    "Results": ("Evaluation", "Failures", "Failure", "Scores", "Score", "Verification"),
    "Formulas": ("parse", "check", "clauses", "complexity", "solve"),
    "Scenes": ("Scene", "SceneObject", "Box", "draw"),
    "Errors": ("FormalimgError", "FormulaError", "SceneError", "Problem"),
}
"""The names of `formalimg` by task, the most used first."""


def write_pages() -> list[Path]:
    """Write what is stored of the generated reference, and return the pages that changed."""
    changed = []
    for name, text in stored_pages():
        path = DOCS / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def stored_pages() -> Iterator[tuple[Path, str]]:
    """Yield the path below docs/ and the text of every page that the code determines and the repository keeps."""
    yield COMMAND_LIST, command_list()
    yield API_LIST, api_list()
    yield ARCHITECTURE, _counted_core()


def site_pages() -> Iterator[tuple[Path, str]]:
    """Yield the path below docs/ and the text of every page that only the site has."""
    yield API / "formalimg.md", _root_package_page()
    for package in PACKAGES:
        yield _package_page_path(package), _package_page(package)
    yield SCREENS, _screens_page()


def site_version(page: Path, markdown: str) -> str:
    """Return the text of a stored page as the site shows it."""
    if page == COMMAND_LIST:
        return f"{command_list(linked=True)}\n{command_details()}"
    if page == DATA:
        return markdown.replace(TAG_LIST, odd_tag_table())
    return api_list(linked=True) if page == API_LIST else markdown


def odd_tag_table() -> str:
    """Return the table of all tags of odd records."""
    rows = (f"| `{tag}` | {meaning} |" for tag, meaning in ODD_TAGS.items())
    return "\n".join(["| tag | meaning, and how such records are handled |", "| --- | --- |", *rows])


def _counted_core() -> str:
    """Return the page on the architecture, with the lines that the files of the core have now."""
    source = Path(formalimg.__file__).parent

    def count(row: re.Match[str]) -> str:
        return f"{row[1]}{len((source / row[2]).read_text(encoding='utf-8').splitlines())}{row[3]}"

    return re.sub(r"(\| \d+ \| `([\w./]+\.py)` \| )\d+( \|)", count, (DOCS / ARCHITECTURE).read_text(encoding="utf-8"))


def command_list(*, linked: bool = False) -> str:
    """Return the page of all commands; `linked` to their details."""
    lines = [
        "# Command line",
        "",
        "All commands of `formalimg`, and the guides to them. "
        + ("Each command leads to its options." if linked else "`formalimg COMMAND --help` lists the options."),
    ]
    for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
        lines += ["", f"## {section}", ""]
        for name, entry in COMMANDS.items():
            if entry.section == section:
                lines += [_command_line(words, command, linked) for words, command in _commands_below(name)]
    lines += [
        "",
        "`formalimg --version` prints the version. Exit codes are listed under "
        "[architecture](../explanation/architecture.md#exit-codes), defaults under [configuration](configuration.md).",
    ]
    return "\n".join(lines) + "\n"


def _command_line(words: tuple[str, ...], command: Any, linked: bool) -> str:
    name = f"`{' '.join(words)}`"
    if linked:
        name = f"[{name}](#{'-'.join(words)})"
    if len(words) == 1:
        folder = COMMAND_LIST.parent
        guides = ", ".join(f"[{_title(page)}]({os.path.relpath(page, folder)})" for page in GUIDES[words[0]])
        return f"- {name}: {COMMANDS[words[0]].summary} {guides}"
    entries = COMMANDS[words[0]].commands or {}
    summary = entries[words[1]].summary if words[1:] == (words[1],) and words[1] in entries else command.short_help
    return f"  - {name}: {summary}"


@cache
def command_details() -> str:
    """Return the part of the page of commands that only the site has: every option, each with an anchor."""
    lines: list[str] = []
    for name in COMMANDS:
        for words, command in _commands_below(name):
            lines += ["", f"{'##' if len(words) == 1 else '###'} {' '.join(words)}"]
            for paragraph in _paragraphs(command.help):
                lines += ["", paragraph]
            if hasattr(command, "help_sections"):
                lines += _option_lines(words, command)
    return "\n".join(lines[1:]) + "\n"


def _option_lines(words: tuple[str, ...], command: Any) -> Iterator[str]:
    """Yield the call of a command, and its options in sections as definition lists."""
    context = command.make_context(" ".join(("formalimg", *words)), [], resilient_parsing=True)
    usage = " ".join(("formalimg", *words, *command.collect_usage_pieces(context)))
    yield from ("", f"Usage: `{usage}`")
    if command.example:
        yield from ("", "```sh", command.example, "```")
    for title, entries in command.help_sections(context).items():
        yield from ("", f"**{title}**", "", '<dl class="options">')
        for param, name, text in entries:
            if param.name not in ("help", "verbose"):
                anchor = option_anchor(words, param)
                term = f'<a href="#{anchor}"><code>{html.escape(name)}</code></a>'
                meaning = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
                yield f'<dt id="{anchor}">{term}</dt><dd>{meaning}</dd>'
        yield "</dl>"


def option_anchor(words: tuple[str, ...], param: Any) -> str:
    """Return the anchor of a parameter: `run--per-level`, `score-prompt-file`."""
    if param.param_type_name == "argument":
        return "-".join((*words, param.name)).lower()
    option = next((name for name in param.opts if name.startswith("--")), param.opts[0])
    return f"{'-'.join(words)}{option}"


def all_parameters() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every parameter of every command, with the words of the command."""
    for name in COMMANDS:
        for words, command in _commands_below(name):
            if hasattr(command, "help_sections"):
                context = command.make_context("formalimg", [], resilient_parsing=True)
                yield from (
                    (words, param)
                    for entries in command.help_sections(context).values()
                    for param, _, _ in entries
                    if param.name not in ("help", "verbose")
                )


def _commands_below(name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the words of a command and the command, and those of all commands of a group, outermost first."""

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield words, command
        for inner, below in getattr(command, "commands", {}).items():
            yield from walk(below, (*words, inner))

    group: Any = typer.main.get_command(app)
    yield from walk(group.commands[name], (name,))


def _paragraphs(text: str | None) -> list[str]:
    return [re.sub(r"\s+", " ", part) for part in cleandoc(text or "").split("\n\n")]


def _title(page: str) -> str:
    heading = (DOCS / page).read_text(encoding="utf-8").partition("\n")[0]
    return heading.removeprefix("# ")


def api_list(*, linked: bool = False) -> str:
    """Return the page of all public names and packages; `linked` to the pages of the site."""

    def linked_name(name: str) -> str:
        return f"[`{name}`](api/formalimg.md#formalimg.{name})" if linked else f"`{name}`"

    lines = [
        "# Python API",
        "",
        "Everything that `import formalimg` offers, by task, and the public packages below it. "
        "[Python and notebooks](../guides/notebooks.md) shows how they are used.",
    ]
    for title, names in API_GROUPS.items():
        lines += ["", f"## {title}", ""]
        lines += [f"- {linked_name(name)}: {_summary(getattr(formalimg, name))}" for name in names]
    lines += ["", "## Packages", ""]
    paths = [_package_page_path(package) for package in PACKAGES]
    if linked:
        lines += [f"- [`{path.stem}`](api/{path.name}): {_summary(import_module(path.stem))}" for path in paths]
    else:
        lines.append(f"{', '.join(f'`{path.stem}`' for path in paths)}; `help()` describes each.")
    lines += ["", "Other packages are internal: their names may change without notice."]
    return "\n".join(lines) + "\n"


def _root_package_page() -> str:
    lines = ["# formalimg", "", _summary(formalimg)]
    for title, names in API_GROUPS.items():
        members = ", ".join(names)
        lines += ["", f"## {title}", "", "::: formalimg", "    options:", f"      members: [{members}]"]
        lines += ["      heading_level: 3"]
    return "\n".join(lines) + "\n"


def _package_page_path(package: str) -> Path:
    return API / f"formalimg.{package}.md"


def _package_page(package: str) -> str:
    name = _package_page_path(package).stem
    return f"# {name}\n\n{_summary(import_module(name))}\n\n::: {name}\n"


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
