"""What a provider needs before it can be used: packages and keys, said by the provider itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.secrets import find_key

Opening = TypeVar("Opening", bound=Callable[..., Any])

_ATTRIBUTE = "__formalimg_needs__"


@dataclass(frozen=True)
class Needs:
    """What must be there.

    Attributes:
        modules: names of modules that are imported when the model is used.
        install: the command that installs them.
        keys: variables of which one must hold a key.
        unless: when no key is needed, in a few words.
    """

    modules: tuple[str, ...] = ()
    install: str = ""
    keys: tuple[str, ...] = ()
    unless: str = ""

    def missing_modules(self) -> list[str]:
        """Those that are not installed."""
        return [module for module in self.modules if not _is_installed(module)]

    def missing(self) -> list[str]:
        """What is still to be done, each in a few words; nothing if the provider can be used."""
        found = [self.install or f"install {', '.join(self.modules)}"] if self.missing_modules() else []
        if self.keys and find_key(self.keys) is None:
            found.append(f"set {' or '.join(self.keys)}" + (f" (not needed {self.unless})" if self.unless else ""))
        return found


def needs(
    *, modules: Sequence[str] = (), install: str = "", keys: Sequence[str] = (), unless: str = ""
) -> Callable[[Opening], Opening]:
    """Say beside the function that opens a provider's models what it needs; `formalimg models` shows it.

    What is not installed is noticed before the function is called. Keys are not: a server of one's own may want none.

    Args:
        modules: names of modules that are imported when the model is used.
        install: the command that installs them, such as `pip install 'formalimg[openai]'`.
        keys: variables of which one must hold a key.
        unless: when no key is needed, in a few words, such as `for a server of your own`.
    """

    def noted(opening: Opening) -> Opening:
        setattr(opening, _ATTRIBUTE, Needs(tuple(modules), install, tuple(keys), unless))
        return opening

    return noted


def needs_of(opening: Callable[..., Any]) -> Needs:
    """What was said beside a function; nothing if it was not."""
    found = getattr(opening, _ATTRIBUTE, None)
    return found if isinstance(found, Needs) else Needs()


def require_modules(provider: str, opening: Callable[..., Any]) -> None:
    """Make sure that everything is installed.

    Raises:
        FormalimgError: if it is not; the message holds the command that installs it.
    """
    needed = needs_of(opening)
    absent = needed.missing_modules()
    if absent:
        advice = needed.install or f"install {', '.join(absent)}"
        raise FormalimgError(f"{provider}/… needs {', '.join(absent)}: {advice}")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a package above it is not there
        return False
