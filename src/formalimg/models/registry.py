"""From a name such as `builtin/oracle` to a model: providers are found by entry points, ours like anyone else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.chat import ChatModel
from formalimg.models.image import ImageModel
from formalimg.models.secrets import find_key

IMAGE_MODELS = "formalimg.image_models"
"""The entry-point group of image models. An entry's name is the provider's; it loads to an `OpenImageModel`."""

CHAT_MODELS = "formalimg.chat_models"
"""The entry-point group of chat models. An entry's name is the provider's; it loads to an `OpenChatModel`."""

OpenImageModel: TypeAlias = Callable[[str, Mapping[str, str]], ImageModel]
"""What a provider of image models offers: from the rest of the name and the options to a model."""

OpenChatModel: TypeAlias = Callable[[str, Mapping[str, str]], ChatModel]
"""What a provider of chat models offers: from the rest of the name and the options to a model."""

Model = TypeVar("Model")


def open_image_model(name: str, options: Mapping[str, str] | None = None) -> ImageModel:
    """The image model of this name, `provider/model`.

    Args:
        name: as users write it, such as `builtin/oracle` or `folder/path/to/images`.
        options: settings of the model, as the provider understands them.

    Raises:
        FormalimgError: if there is no such provider or model, something it needs is missing, or an option is wrong.
    """
    provider, model = _split(name, "builtin/reader")
    known = image_model_providers()
    if provider not in known and provider in chat_model_providers():
        raise FormalimgError(f"{provider}/… makes no images: its models answer questions, as judges or planners")
    opening: OpenImageModel = _loaded(provider, model, known)
    return opening(model, options or {})


def open_chat_model(name: str, options: Mapping[str, str] | None = None) -> ChatModel:
    """The chat model of this name, `provider/model`.

    Args:
        name: as users write it, such as `openai/gpt-4o` or `openai/Qwen/Qwen3-VL-8B-Instruct`.
        options: settings of the model, as the provider understands them.

    Raises:
        FormalimgError: if there is no such provider or model, something it needs is missing, or an option is wrong.
    """
    provider, model = _split(name, "openai/gpt-4o")
    known = chat_model_providers()
    if provider not in known and provider in image_model_providers():
        raise FormalimgError(f"{provider}/… answers no questions: its models make images")
    opening: OpenChatModel = _loaded(provider, model, known)
    return opening(model, options or {})


def image_model_providers() -> dict[str, EntryPoint]:
    """All providers of image models that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=IMAGE_MODELS)}


def chat_model_providers() -> dict[str, EntryPoint]:
    """All providers of chat models that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=CHAT_MODELS)}


def _split(name: str, example: str) -> tuple[str, str]:
    provider, slash, model = name.partition("/")
    if not slash or not model:
        raise FormalimgError(f"cannot read the model {name!r}: write provider/model, as in {example}")
    return provider, model


def _loaded(provider: str, model: str, known: Mapping[str, EntryPoint]) -> Callable[[str, Mapping[str, str]], Model]:
    if provider not in known:
        near = get_close_matches(provider, known, 1)
        advice = f"did you mean {near[0]}/{model}?" if near else f"known are {', '.join(sorted(known))}"
        raise FormalimgError(f"unknown provider {provider!r}: {advice}")
    try:
        opening: Callable[[str, Mapping[str, str]], Model] = known[provider].load()
    except (ImportError, AttributeError) as error:
        raise FormalimgError(
            f"the provider {provider!r} cannot be loaded from {known[provider].value} ({error}): install it again"
        ) from error
    require_modules(provider, opening)
    return opening


@dataclass(frozen=True)
class Provider:
    """A provider of models.

    Attributes:
        name: how the names of its models begin.
        images: does it make images?
        answers: does it answer questions, as a judge, planner or writer?
        package: what it came with.
        summary: what it offers, in one line each.
        missing: what is to be done before it can be used.
    """

    name: str
    images: bool
    answers: bool
    package: str
    summary: tuple[str, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The provider as plain data."""
        return {
            "name": self.name,
            "images": self.images,
            "answers": self.answers,
            "package": self.package,
            "summary": list(self.summary),
            "missing": list(self.missing),
            "ready": not self.missing,
        }


def installed_providers() -> list[Provider]:
    """All providers that are installed, by name. Nobody is called; only their modules are loaded."""
    images, chats = image_model_providers(), chat_model_providers()
    return [_provider(name, images.get(name), chats.get(name)) for name in sorted({*images, *chats})]


def _provider(name: str, images: EntryPoint | None, chats: EntryPoint | None) -> Provider:
    entries = [entry for entry in (images, chats) if entry is not None]
    summary: list[str] = []
    missing: list[str] = []
    for entry in entries:
        try:
            opening = entry.load()
        except Exception as error:  # somebody else's package may be broken in any way, and the others are not
            missing.append(f"mend {entry.value}, which cannot be loaded ({type(error).__name__}: {error})")
            continue
        summary.append(_first_line(opening))
        missing.extend(needs_of(opening).missing())
    package = entries[0].dist.name if entries[0].dist else ""
    return Provider(name, images is not None, chats is not None, package, _once(summary), _once(missing))


def _first_line(opening: Callable[..., Any]) -> str:
    return (opening.__doc__ or "").strip().partition("\n")[0]


def _once(lines: list[str]) -> tuple[str, ...]:
    return tuple(line for line in dict.fromkeys(lines) if line)


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
