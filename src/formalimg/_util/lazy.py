"""Laziness: names of a package that are imported on first access, and attributes that are computed on first access."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    import functools
    from collections.abc import Callable, Mapping, Sequence

    lazy_property = functools.cached_property
else:

    class lazy_property:  # noqa: N801 - named as the decorator that it is
        """`functools.cached_property` without its lock, which costs half a microsecond, and which Python 3.12 dropped.

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
