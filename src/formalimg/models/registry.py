"""Registry of model providers, which maps names such as `openai/gpt-4o` to models, and model presets."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models.base import Identified
from formalimg.types import ChatModel, ImageModel

PREFIX = "preset/"
_LOCAL = "http://127.0.0.1:8000/v1"  # where vLLM serves unless it is told otherwise


@dataclass(frozen=True)
class Preset:
    """A preset of an open model for use as a judge."""

    name: str  # how users write it, `preset/…`
    model: str  # the chat model that it stands for
    serve: str  # the command of a server for it
    protocol: str  # how it is meant to be asked
    boxes: str  # how it writes boxes
    certificate: str  # where its errors were measured, and what came out; empty where nobody did
    options: Mapping[str, str]  # its options, which those that are given override

    @property
    def summary(self) -> tuple[str, ...]:
        """Description of the preset, as lines of text."""
        certificate = self.certificate or "none was measured, so its errors are unknown: measure them with certify"
        settings = {"base_url": _LOCAL, **self.options}
        options = " ".join(
            f"-J '{key}={value}'" if " " in value else f"-J {key}={value}" for key, value in settings.items()
        )
        return (
            f"{self.model} {options}",
            f"protocol {self.protocol}, boxes {self.boxes}; certificate: {certificate}",
            f"serve it with: {self.serve}",
        )


def presets() -> tuple[Preset, ...]:
    """Return all presets, sorted by name."""
    return tuple(_load_presets()[name] for name in sorted(_load_presets()))


def expand_preset(name: str, options: Mapping[str, str] | None = None) -> tuple[str, Mapping[str, str]]:
    """Return the model and options of a preset; other names are returned unchanged."""
    chosen = options or {}
    if not name.startswith(PREFIX):
        return name, chosen
    preset = _load_presets().get(name)
    if preset is None:
        near = get_close_matches(name, _load_presets(), 1)
        advice = f"did you mean {near[0]}?" if near else f"choose from {', '.join(sorted(_load_presets()))}"
        raise FormalimgError(f"there is no {name}: {advice}")
    server = {} if os.environ.get("OPENAI_BASE_URL", "").strip() else {"base_url": _LOCAL}
    return preset.model, {**server, **preset.options, **chosen}


@cache
def _load_presets() -> Mapping[str, Preset]:
    text = (files("formalimg.models") / "presets.toml").read_text(encoding="utf-8")
    return {f"{PREFIX}{name}": Preset(f"{PREFIX}{name}", **entry) for name, entry in tomllib.loads(text).items()}


# Entry-point groups. An entry is named after the provider and loads a function that creates a model from the rest of
# the name and the options.
IMAGE_MODELS, CHAT_MODELS = "formalimg.image_models", "formalimg.chat_models"

AnyModel = TypeVar("AnyModel", bound=Identified)
Factory = TypeVar("Factory", bound=Callable[..., Any])

_ATTRIBUTE = "__formalimg_needs__"
_PLAIN_NAME = re.compile(r"builtin/[a-z]{1,16}")  # a name that no key can hide in


def open_image_model(name: str, options: Mapping[str, str] | None = None) -> ImageModel:
    """Open an image model by its name `provider/model`.

    Args:
        name: as users write it, such as `builtin/oracle` or `folder/path/to/images`.
        options: options of the model, as the provider defines them.
    """
    provider, model = _split_name(name, "builtin/reader")
    providers = image_model_providers()
    if provider not in providers and provider in chat_model_providers():
        raise FormalimgError(f"{provider}/… has no image models: its models answer questions, as judges or planners")
    factory: Callable[[str, Mapping[str, str]], ImageModel] = _load_factory(provider, model, providers)
    if not options and _PLAIN_NAME.fullmatch(name):
        return factory(model, {})
    return _open_without_keys(factory, name, model, options or {})


def open_chat_model(name: str, options: Mapping[str, str] | None = None) -> ChatModel:
    """Open a chat model by its name `provider/model`.

    Args:
        name: as users write it, such as `openai/gpt-4o`, `openai/Qwen/Qwen3-VL-8B-Instruct` or `preset/qwen3-vl-8b`.
        options: options of the model, as the provider defines them.
    """
    name, options = expand_preset(name, options)
    provider, model = _split_name(name, "openai/gpt-4o")
    providers = chat_model_providers()
    if provider not in providers and provider in image_model_providers():
        raise FormalimgError(f"{provider}/… has no chat models: its models make images")
    factory: Callable[[str, Mapping[str, str]], ChatModel] = _load_factory(provider, model, providers)
    return _open_without_keys(factory, name, model, options)


def image_model_providers() -> dict[str, EntryPoint]:
    """Return the entry points of all installed image model providers, by name."""
    return {entry.name: entry for entry in entry_points(group=IMAGE_MODELS)}


def chat_model_providers() -> dict[str, EntryPoint]:
    """Return the entry points of all installed chat model providers, by name."""
    return {entry.name: entry for entry in entry_points(group=CHAT_MODELS)}


def _split_name(name: str, example: str) -> tuple[str, str]:
    provider, _, model = name.partition("/")
    if not model:
        advice = f"write provider/model, as in {example}; `formalimg models` lists the providers"
        raise FormalimgError(f"cannot read the model {_mask(name)!r}: {advice}")
    return provider, model


def _load_factory(provider: str, model: str, providers: Mapping[str, EntryPoint]) -> Callable[..., Any]:
    if provider not in providers:
        near = get_close_matches(provider, providers, 1)
        advice = f"did you mean {near[0]}/{_mask(model)}?" if near else f"choose from {', '.join(sorted(providers))}"
        raise FormalimgError(f"unknown provider {_mask(provider)!r}: {advice}")
    try:
        factory: Callable[..., Any] = providers[provider].load()
    except (ImportError, AttributeError) as error:
        raise FormalimgError(
            f"the provider {provider!r} cannot be loaded from {providers[provider].value} ({error}): install it again"
        ) from error
    require_modules(provider, factory)
    return factory


def _open_without_keys(
    factory: Callable[[str, Mapping[str, str]], AnyModel], name: str, model: str, options: Mapping[str, str]
) -> AnyModel:
    """Open a model, with keys redacted from errors; raise one if a provider puts a key into the name or settings."""
    from formalimg.models.secrets import find_secrets, mask_secrets, mask_settings, redact  # built-in models need none

    mask_secrets(name)
    mask_settings(options)  # both register what they find
    try:
        opened = factory(model, options)
    except FormalimgError as error:
        text = redact(str(error))
        if text == str(error):
            raise
        raise FormalimgError(text) from None
    secrets = find_secrets()
    for field, value in (("name", opened.name), *opened.settings.items()):
        if isinstance(value, str) and any(secret in value for secret in secrets):
            owner = "its name" if field == "name" else f"its setting {field}"
            raise FormalimgError(
                f"{mask_secrets(opened.name)} holds a key in {owner}, which is stored with the results: give the key "
                "in an environment variable that the provider reads"
            )
    return opened


def _mask(text: str) -> str:
    from formalimg.models.secrets import mask_secrets  # here, because built-in models have no keys

    return mask_secrets(text)


@dataclass(frozen=True)
class Provider:
    """An installed model provider."""

    name: str  # prefix of the names of its models
    images: bool  # whether it has image models
    answers: bool  # whether it has chat models, for judges, planners and writers
    package: str  # the distribution it comes with
    summary: tuple[str, ...]  # what it offers, one line each
    missing: tuple[str, ...]  # what to do before it can be used
    finds: bool = False  # whether it finds objects in images, for judges
    reads: bool = False  # whether it reads text in images, for judges

    def to_json(self) -> dict[str, object]:
        """Return the provider as a JSON-compatible dictionary."""
        kinds = {"images": self.images, "answers": self.answers, "finds": self.finds, "reads": self.reads}
        texts = {"package": self.package, "summary": list(self.summary), "missing": list(self.missing)}
        return {"name": self.name, **kinds, **texts, "ready": not self.missing}


def list_providers() -> list[Provider]:
    """Return all installed providers, sorted by name. Their modules are imported, but no model is called."""
    images, chats = image_model_providers(), chat_model_providers()
    return [_describe_provider(name, images.get(name), chats.get(name)) for name in sorted({*images, *chats})]


def _describe_provider(name: str, images: EntryPoint | None, chats: EntryPoint | None) -> Provider:
    entries = [entry for entry in (images, chats) if entry is not None]
    summary: list[str] = []
    missing: list[str] = []
    for entry in entries:
        try:
            factory = entry.load()
        except Exception as error:  # somebody else's package may be broken in any way, and the others are not
            missing.append(f"repair {entry.value}, which cannot be loaded ({type(error).__name__}: {error})")
            continue
        summary.append((factory.__doc__ or "").strip().partition("\n")[0])
        missing.extend(requirements_of(factory).missing())
    package = entries[0].dist.name if entries[0].dist else ""
    offers, steps = (tuple(filter(None, dict.fromkeys(texts))) for texts in (summary, missing))
    return Provider(name, images is not None, chats is not None, package, offers, steps)


def list_presets() -> list[Provider]:
    """Return the presets of open chat models, sorted by name, with the missing requirements of each."""
    required = chat_requirements()
    providers = []
    for preset in presets():
        requirements = required.get(preset.model.partition("/")[0], Requirements())
        missing = (requirements.install,) if requirements.missing_modules() else ()
        providers.append(Provider(preset.name, False, True, "formalimg", preset.summary, missing))
    return providers


def chat_requirements() -> dict[str, Requirements]:
    """Return the requirements of all chat model providers that can be loaded, by name."""
    requirements: dict[str, Requirements] = {}
    for name, entry in sorted(chat_model_providers().items()):
        try:
            requirements[name] = requirements_of(entry.load())
        except Exception:  # somebody else's package may be broken in any way; `formalimg models` says so
            continue
    return requirements


@dataclass(frozen=True)
class Requirements:
    """Packages and API keys that a provider requires."""

    modules: tuple[str, ...] = ()  # modules that are imported when the model is used
    install: str = ""  # the command that installs them
    keys: tuple[str, ...] = ()  # environment variables, one of which must hold an API key
    unless: str = ""  # when no key is needed

    def missing_modules(self) -> list[str]:
        """Return the modules that are not installed."""
        absent = []
        for module in self.modules:
            try:
                if find_spec(module) is None:
                    absent.append(module)
            except (ImportError, ValueError):  # a parent package is not installed
                absent.append(module)
        return absent

    def missing(self) -> list[str]:
        """Return the remaining setup steps; empty if the provider can be used."""
        from formalimg.models.secrets import find_api_key

        steps = [self.install or f"install {', '.join(self.modules)}"] if self.missing_modules() else []
        if self.keys and find_api_key(self.keys) is None:
            steps.append(f"set {' or '.join(self.keys)}" + (f" (not needed {self.unless})" if self.unless else ""))
        return steps


def requires(
    *, modules: Sequence[str] = (), install: str = "", keys: Sequence[str] = (), unless: str = ""
) -> Callable[[Factory], Factory]:
    """Declare the requirements of a model factory, which `formalimg models` displays.

    Missing modules are reported before the factory is called. Missing keys are not: the user's own server may need
    none.

    Args:
        modules: modules that are imported when the model is used.
        install: the command that installs them, such as `pip install 'formalimg[openai]'`.
        keys: environment variables, one of which must hold an API key.
        unless: when no key is needed, in a few words, such as `for a server of your own`.
    """

    def decorate(factory: Factory) -> Factory:
        setattr(factory, _ATTRIBUTE, Requirements(tuple(modules), install, tuple(keys), unless))
        return factory

    return decorate


def requirements_of(factory: Callable[..., Any]) -> Requirements:
    """Return the requirements that `requires` declared for a factory; empty if none were declared."""
    requirements = getattr(factory, _ATTRIBUTE, None)
    return requirements if isinstance(requirements, Requirements) else Requirements()


def require_modules(provider: str, factory: Callable[..., Any]) -> None:
    """Raise an error if the modules required by a factory are not installed."""
    required = requirements_of(factory)
    absent = required.missing_modules()
    if absent:
        advice = required.install or f"install {', '.join(absent)}"
        raise FormalimgError(f"{provider}/… needs {', '.join(absent)}: {advice}")
