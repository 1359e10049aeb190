"""Lazy exports: names of a package that are imported on first access, so that the command line starts quickly."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def lazy_exports(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose larger modules are imported on first access.

    The package also gets a `__dir__`, so that `dir` and tab completion show what it exports and nothing else.

    Args:
        package: the full name of the package.
        names: the exported names by module, relative to the package.
    """
    module_of = {name: module for module, inside in names.items() for name in inside}
    module = sys.modules[package]

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    def listed() -> list[str]:
        own = vars(module)
        return sorted({*own.get("__all__", ()), *(name for name in own if name.startswith("__"))})

    vars(module).setdefault("__dir__", listed)
    return get
