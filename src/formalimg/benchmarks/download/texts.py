"""Prompts of published scripts, extracted from the authors' source files on the user's machine and never shipped.

`published_texts.toml` in the folder of a benchmark lists the file, function and variable that contain each prompt.
"""

from __future__ import annotations

import ast
import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from formalimg._util.io import cache_folder
from formalimg.benchmarks.download.contents import FileContents, matches_any
from formalimg.benchmarks.download.pull import PullResult, pull
from formalimg.benchmarks.download.source import BenchmarkSource, PullError, source
from formalimg.benchmarks.registry import FOLDERS
from formalimg.prompts import USER_LINE, exact_prompt

_FILE = "published_texts.toml"
_Named: TypeAlias = dict[str, list[ast.expr]]


@dataclass(frozen=True)
class PublishedText:
    """The location of a prompt in the authors' source files."""

    name: str  # the name of our prompt whose place it takes
    file: str  # the source file
    parts: tuple[str, ...] = ()  # what it is made of, as `read_text` reads them; empty for the whole file
    is_template: bool = False  # whether the script fills it with `str.format`, so that it doubles its braces already


def pull_texts(
    name: str, to: str | Path | None = None, origin: str | Path | None = None, revision: str | None = None
) -> PullResult:
    """Pull the prompts of a published benchmark, each as a text file that replaces ours."""
    benchmark = source(name)
    if not has_texts(name):
        raise PullError(f"{name} has no prompts that we know of: choose from those of {', '.join(load_texts())}")
    commit, texts = load_texts()[name]
    benchmark = replace(
        benchmark,
        title=f"{benchmark.title.partition(':')[0]}: the prompts in its scripts",
        commit=commit,
        data=tuple(dict.fromkeys(text.file for text in texts)),
        papers=("LICENSE*",),
        digest="",
    )

    def extract(contents: FileContents) -> FileContents:
        papers = {path: data for path, data in contents.items() if matches_any(path, benchmark.papers)}
        return papers | {f"{text.name}.txt": _extract_text(text, contents, benchmark) for text in texts}

    return pull(benchmark, to or texts_folder(name), origin, revision, convert=extract)


def texts_folder(name: str) -> Path:
    """Return the folder in which published protocols look for a benchmark's pulled prompts."""
    return cache_folder() / "texts" / name


def find_pulled_texts(name: str) -> Path | None:
    """Return the folder with a benchmark's pulled prompts; None if they have not been pulled."""
    return folder if has_texts(name) and (folder := texts_folder(name)).is_dir() else None


def has_texts(name: str) -> bool:
    """Return whether the location of a benchmark's prompts is known."""
    return name in load_texts()


def _extract_text(text: PublishedText, contents: FileContents, benchmark: BenchmarkSource) -> bytes:
    if text.file not in contents:
        raise PullError(f"there is no {text.file} in it: pull {benchmark.name} --texts from the authors' repository")
    try:
        words = read_text(contents[text.file], text.parts, is_template=text.is_template)
    except ValueError as error:
        raise PullError(f"{text.file}, {text.name}: {error}; check where it comes from") from error
    # The commit is in the note: the same text is the same prompt.
    return exact_prompt(words, benchmark.repository.removeprefix("https://").partition("/")[2])


@cache
def load_texts() -> Mapping[str, tuple[str, tuple[PublishedText, ...]]]:
    """Return the commit and the prompts of each benchmark that has any, by name."""
    paths = (files("formalimg.benchmarks") / folder / _FILE for folder in FOLDERS)
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in paths if path.is_file()]
    return {
        table["benchmark"]: (
            table["commit"],
            tuple(
                PublishedText(name, **{**fields, "parts": tuple(fields.get("parts", ()))})
                for name, fields in table["texts"].items()
            ),
        )
        for table in tables
    }


_SELECTOR = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(?:\[([0-9]+)\])?")
_MAX_BYTES = 2_000_000
_MAX_DEPTH = 200


def read_text(data: bytes, parts: Sequence[str], *, is_template: bool = False) -> str:
    """Extract a text from a source file, as a format string whose fields have names."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"the file has more than {_MAX_BYTES:,} bytes")
    if not parts:
        return _escape_braces(data.decode("utf-8"))
    named: _Named = {}
    try:
        for name, value in _walk_bindings(ast.parse(data), ""):
            named.setdefault(name, []).append(value)
        text = "".join(_read_part(part, named, is_template) for part in parts)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is not Python that can be read ({type(error).__name__})") from None
    list(string.Formatter().parse(text))  # raises, if braces do not match
    return text


def _read_part(part: str, named: _Named, is_template: bool) -> str:
    if part == "[user]":
        return USER_LINE
    if part.startswith("{"):
        return part
    selector = _SELECTOR.fullmatch(part)
    if selector is None:
        raise ValueError(f"{part!r} names no text")
    values = [value for value in named.get(selector[1], ()) if _is_text(value)]
    number = int(selector[2] or 0)
    if number >= len(values):
        raise ValueError(f"there is no text {part}")
    return _resolve_text(values[number], named, is_template)


def _walk_bindings(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names, keys and arguments with their values, after their functions, in source order."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((scope + target.id, value) for target in targets if isinstance(target, ast.Name))
        case (
            ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            | ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value)
            | ast.keyword(arg=str(name), value=value)
        ):
            yield scope + name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield scope + key.value, value
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope = f"{scope}{name}."
    for child in ast.iter_child_nodes(node):
        yield from _walk_bindings(child, scope)


def _is_text(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Attribute(value=inner, attr="format" | "strip" | "lstrip" | "rstrip")):
            return _is_text(inner)
    return False


def _resolve_text(value: ast.expr, named: _Named, is_template: bool, depth: int = 0) -> str:
    if depth > _MAX_DEPTH:
        raise ValueError("it refers to itself")
    match value:
        case ast.Constant(value=str(text)):
            return text if is_template else _escape_braces(text)
        case ast.JoinedStr(values=values) if not is_template:
            return "".join(map(_format_part, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return "".join(_resolve_text(side, named, is_template, depth + 1) for side in (left, right))
        case ast.Call(func=ast.Attribute(value=inner, attr="format")) if not is_template and _is_text(inner):
            return _resolve_text(inner, named, True, depth + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="strip" | "lstrip" | "rstrip" as strip), args=[]) if (
            _is_text(inner)
        ):
            return str(getattr(_resolve_text(inner, named, is_template, depth + 1), strip)())
        case ast.Name(id=name) if len(named.get(name, ())) == 1 and _is_text(named[name][0]):  # of the module
            return _resolve_text(named[name][0], named, is_template, depth + 1)
    return _name_field(value)


def _format_part(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return _escape_braces(text)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _name_field(value)
    raise ValueError(f"a field has its own format, in line {part.lineno}")


def _name_field(value: ast.expr) -> str:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return f"{{{name}}}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(number))):
            return f"{{{name}_{number}}}"
        case ast.Call(args=[inner, *_]):
            return _name_field(inner)
    raise ValueError(f"a field has no name, in line {value.lineno}")


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
