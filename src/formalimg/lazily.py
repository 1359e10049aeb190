"""Names that are loaded when first asked for, so that programs start at once and pay only for what they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def lazily(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose larger modules are loaded later.

    Args:
        package: the package's full name.
        names: what is to be found in which of its modules.
    """
    module_of = {name: module for module, inside in names.items() for name in inside}

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return get
