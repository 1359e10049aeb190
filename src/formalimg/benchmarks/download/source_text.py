"""Texts in Python source, read by `ast` as data: constants, f-strings, concatenations and `str.format` templates.

A text is returned as a format string: fields in braces, braces of its own doubled, every other character as the script
would send it. A field has the name of what the script puts there: `{task['prompt']}` is `{prompt}`, `{json.dumps(x)}`
is `{x}`, `{names[0]}` is `{names_0}`.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping, Sequence

from formalimg.prompts import USER_LINE

_SELECTOR = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)(?:\[([0-9]+)\])?")
_MAX_BYTES = 2_000_000
_MAX_DEPTH = 200

_Named = dict[str, list[ast.expr]]


def read_text(data: bytes, parts: Sequence[str], *, is_template: bool = False) -> str:
    """Return a text of a source file."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"the file has more than {_MAX_BYTES:,} bytes")
    if not parts:
        return _escape(data.decode("utf-8"))
    try:
        tree = ast.parse(data)
        named = _named_texts(tree)
        text = "".join(_part(part, named, is_template=is_template) for part in parts)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is not Python that can be read ({type(error).__name__})") from None
    list(string.Formatter().parse(text))  # raises, if braces do not match
    return text


def _part(part: str, named: Mapping[str, list[ast.expr]], *, is_template: bool) -> str:
    if part == "[user]":
        return USER_LINE
    if part.startswith("{"):
        return part
    selected = _SELECTOR.fullmatch(part)
    if selected is None:
        raise ValueError(f"{part!r} names no text")
    found = [value for value in named.get(selected[1], ()) if _is_text(value)]
    number = int(selected[2] or 0)
    if number >= len(found):
        raise ValueError(f"there is no text {part}")
    return _resolve(found[number], named, is_template=is_template)


def _named_texts(tree: ast.Module) -> _Named:
    """Return the values of names, keys and arguments, by the functions they are in, in the order of the source."""
    named: _Named = {}
    for scope, name, value in _bindings(tree, ""):
        named.setdefault(f"{scope}{name}", []).append(value)
    return named


def _bindings(node: ast.AST, scope: str) -> Iterator[tuple[str, str, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield scope, target.id, value
        case (
            ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            | ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value)
        ):
            yield scope, name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield scope, key.value, value
        case ast.keyword(arg=str(name), value=value):
            yield scope, name, value
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            scope = f"{scope}{name}."
    for child in ast.iter_child_nodes(node):
        yield from _bindings(child, scope)


def _is_text(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Attribute(value=inner, attr="format" | "strip" | "lstrip" | "rstrip")):
            return _is_text(inner)
    return False


def _resolve(value: ast.expr, named: Mapping[str, list[ast.expr]], *, is_template: bool, depth: int = 0) -> str:
    if depth > _MAX_DEPTH:
        raise ValueError("it refers to itself")
    match value:
        case ast.Constant(value=str(text)):
            return text if is_template else _escape(text)
        case ast.JoinedStr(values=values) if not is_template:
            return "".join(_joined(part) for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = (_resolve(side, named, is_template=is_template, depth=depth + 1) for side in (left, right))
            return "".join(both)
        case ast.Call(func=ast.Attribute(value=inner, attr="format")) if not is_template and _is_text(inner):
            return _resolve(inner, named, is_template=True, depth=depth + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="strip" | "lstrip" | "rstrip" as strip), args=[]) if (
            _is_text(inner)
        ):
            return str(getattr(_resolve(inner, named, is_template=is_template, depth=depth + 1), strip)())
        case ast.Name(id=name) if len(named.get(name, ())) == 1 and _is_text(named[name][0]):  # of the module
            return _resolve(named[name][0], named, is_template=is_template, depth=depth + 1)
    return _field(value)


def _joined(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return _escape(text)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _field(value)
    raise ValueError(f"a field is formatted in a way of its own, in line {part.lineno}")


def _field(value: ast.expr) -> str:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return f"{{{name}}}"
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(number))):
            return f"{{{name}_{number}}}"
        case ast.Call(args=[inner, *_]):
            return _field(inner)
    raise ValueError(f"what is put in there has no name, in line {value.lineno}")


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
