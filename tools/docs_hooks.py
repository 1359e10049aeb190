"""What the documentation site needs besides docs/: pages of the root, files that pages link to, and exported names.

MkDocs knows the files of docs/ only. In the repository, links out of docs/ are relative, so that they work wherever
Markdown is shown; here, they lead to copies inside the site.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe
from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # hooks are loaded by their path

from tools.docs_reference import DOCS, site_pages, site_version  # noqa: E402

ROOT_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
}
"""Pages of the root, and where the site has them."""

SEARCH_BOOSTS = {
    "reference/suites/geneval.md": 4,  # before GenEval 2, which begins with the same letters
    "reference/suites/": 2,
    "reference/api/": 0.5,
    "project/": 0.5,
    "guides/index.md": 0.5,
    "guides/runs.md": 2,
}
"""Weights of pages in search, by the beginning of their paths; the first that fits counts."""
THEME = "src/formalimg/reports/templates/theme.css"
"""The colours and sizes of the report and the viewer, which the site has as well."""

_log = get_plugin_logger("formalimg")

_FENCE = re.compile(r"^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<place>#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root, those generated from the code, and the theme."""
    files.append(File.generated(config, "assets/theme.css", abs_src_path=str(ROOT / THEME)))
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    for path, text in site_pages() if Path(config.docs_dir) == DOCS else ():
        files.append(File.generated(config, path.as_posix(), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links out of docs/ lead to where the site has what they name; code blocks stay as they are."""
    written = {site: name for name, site in ROOT_PAGES.items()}
    place = written.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    boosts = [boost for prefix, boost in SEARCH_BOOSTS.items() if page.file.src_uri.startswith(prefix)]
    page.meta["search"] = {"boost": boosts[0] if boosts else 1}
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]  # here: a header in the file would be shown by other readers

    def resolve(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), link["target"]))
        if target.startswith("docs/") and place.startswith("docs/"):
            return link[0]  # checked by MkDocs itself
        found = _site_path(target, config, files)
        return posixpath.relpath(found, posixpath.dirname(page.file.src_uri) or ".") + (link["place"] or "")

    markdown = site_version(Path(page.file.src_uri), markdown)
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(resolve, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(resolve, markdown[end:])])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Complain about pages that a reader of the repository sees otherwise: its renderer follows CommonMark."""
    if ":::" in (page.markdown or ""):  # filled from docstrings
        return
    plain = MarkdownIt("commonmark").enable("table").render(page.markdown)
    for tag in ("li", "td", "pre", "blockquote", "img", "h2", "h3"):
        there, here = (len(re.findall(rf"<{tag}\b", text)) for text in (plain, html))
        if there != here:
            _log.warning("%s: %d <%s> in CommonMark, but %d here", page.file.src_uri, there, tag, here)
    if re.search(r"<code>[^<]*\\\|", html):
        _log.warning("%s: \\| inside code in a table is shown with its backslash", page.file.src_uri)


_SEARCH = '<div class="md-search" data-md-component="search" role="dialog">'
_NAVIGATION = re.compile(
    r'(<nav class="md-nav" data-md-level="\d" )aria-labelledby="(?P<id>__nav_[\d_]+)_label"(?P<more>[^>]*>\s*'
    r'<label class="md-nav__title" for="(?P=id)">\s*<span class="md-nav__icon md-icon"></span>\s*'
    r"(?P<title>[^<]+?)\s*</label>)"
)
_EMPTY_HEAD = re.compile(r"<th([^>]*)></th>")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name what the theme leaves without a name: the search, lists of pages, and empty corners of tables."""
    return on_post_template(output, page.file.src_uri, config)


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for pages that are made of a template alone."""
    named = output_content.replace(_SEARCH, f'{_SEARCH[:-1]} aria-label="Search">')
    named = _EMPTY_HEAD.sub(r"<td\1></td>", named)
    return _NAVIGATION.sub(r'\1aria-label="\g<title>"\g<more>', named)


def on_post_build(config: MkDocsConfig) -> None:
    """Complain about names that packages export and their pages do not have; let search find names such as W&B."""
    _unescape_names(Path(config.site_dir, "search", "search_index.json"))
    for page in Path(config.site_dir, "reference", "api").glob("formalimg*.html"):
        shown = set(re.findall(r'id="([\w.]+)"', page.read_text(encoding="utf-8")))
        for name in getattr(import_module(page.stem), "__all__", ()):
            if not name.startswith("_") and f"{page.stem}.{name}" not in shown:
                _log.warning("%s.%s is exported, but %s does not show it", page.stem, name, page.name)


def _unescape_names(index: Path) -> None:
    """Write W&amp;B as it is typed: search compares what is typed with the escaped text."""
    if index.exists():
        text = json.dumps(json.loads(index.read_text(encoding="utf-8")), separators=(",", ":"))
        index.write_text(re.sub(r"(?<=[A-Z])&amp;(?=[A-Z])", "&", text), encoding="utf-8")


def _site_path(target: str, config: MkDocsConfig, files: Files) -> str:
    """Return where the site has a file of the repository; a file that is no page is copied into it."""
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if target == "README.md":
        return "index.md"
    if target in ROOT_PAGES:
        return ROOT_PAGES[target]
    copy = f"files/{target}"
    # What is not there becomes a link to nothing, which fails the build.
    if (ROOT / target).is_file() and files.get_file_from_path(copy) is None:
        files.append(File.generated(config, copy, content=(ROOT / target).read_bytes()))
    return copy


class ExportedNames(griffe.Extension):  # type: ignore[misc]
    """Shows what packages export: names that a module of the same name hides, and those that have no docstring."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Let `formalimg.logic.checks` be the function and not the module, in all packages."""
        for module in _modules(pkg):
            if module.docstring:  # its page begins with the summary
                module.docstring.value = module.docstring.value.partition("\n\n")[2]
            for name in map(str, module.exports or ()):
                member = module.members.get(name)
                if member and not member.is_alias and member.is_module and name in member.members:
                    module.set_member(name, griffe.Alias(name, member.members[name], parent=module))

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Show the fields of named tuples as a signature, as those of dataclasses are."""
        if "__init__" not in cls.members and any(str(base).endswith("NamedTuple") for base in cls.bases):
            kind = griffe.ParameterKind.positional_or_keyword
            fields = [
                griffe.Parameter(field.name, annotation=field.annotation, kind=kind, default=field.value)
                for field in cls.members.values()
                if field.is_attribute and field.annotation and "property" not in field.labels
            ]
            parameters = griffe.Parameters(griffe.Parameter("self", kind=kind), *fields)
            cls.set_member("__init__", griffe.Function("__init__", parameters=parameters, returns="None"))

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show type aliases and constants with their value alone; members of classes are explained by the class."""
        if attr.docstring is None and attr.parent and attr.parent.is_module and not attr.name.startswith("_"):
            kind = "A constant." if attr.name.isupper() else "A type."
            attr.docstring = griffe.Docstring(kind, parent=attr)


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a module and all modules below it, the innermost first."""
    for member in list(module.members.values()):
        if not member.is_alias and member.is_module:
            yield from _modules(member)
    yield module
