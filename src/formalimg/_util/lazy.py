"""Lazy imports of a package's exports, and attributes computed on first access."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    import functools
    from collections.abc import Callable, Iterator

    lazy_property = functools.cached_property
else:

    class lazy_property:  # noqa: N801 - named as the decorator that it is
        """`functools.cached_property` without its slow lock, which Python 3.12 removed.

        Two threads may both compute the attribute: it must not matter which of the two results is kept.
        """

        def __init__(self, compute):
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._compute(instance)
            return value


def lazy_exports(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that exports the names imported under `if TYPE_CHECKING:`.

    Nothing is imported before a name is used, and each name is written where type checkers read it anyway.
    """
    module_of: dict[str, str] = {}

    def get(name: str) -> object:
        module = sys.modules[package]
        if name not in module.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not module_of:
            module_of.update(_imported_names(str(module.__file__)))
        return getattr(import_module(module_of[name]), name)

    def list_names() -> list[str]:
        module = sys.modules[package]
        return sorted({*module.__all__, *(name for name in vars(module) if name.startswith("__"))})

    return get, list_names


def _imported_names(path: str) -> Iterator[tuple[str, str]]:
    """Yield each name that a file imports from a module, together with the module."""
    import ast  # here, because programs that import from modules never need it

    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to import than all of this
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((alias.name, node.module) for alias in node.names)
