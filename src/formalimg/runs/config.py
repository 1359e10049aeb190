"""Run configuration: `RunConfig` with its limits, and the one builder that the command line and `evaluate` share."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from formalimg.errors import FormalimgError
from formalimg.models import ChatModel, Concurrent, ImageModel, PremadeImageModel, mask_secrets
from formalimg.runs.manifest import (
    MAX_INTEGER,
    MIN_INTEGER,
    Identity,
    RunManifest,
    require_storable_settings,
    utc_now,
)
from formalimg.runs.plan import RequestBuilder, Selection, default_style, require_supported
from formalimg.scenes import Scene
from formalimg.suites import (
    Condition,
    Item,
    LoadedItems,
    count_odd,
    odd_text,
    open_items,
    require_valid,
    suite,
    suite_names,
)

if TYPE_CHECKING:
    from formalimg.runs.rewriting import Rewriter, RewriteStore

MIN_SIZE = 16
"""The smallest width and height that can be requested, in pixels."""

MAX_SIZE = 16_384
"""The largest width and height that can be requested, in pixels."""

MAX_SAMPLES = 1000
"""The largest number of images of one item."""

MAX_SEED = 2**63 - 1
"""The largest base seed, and the smallest with a minus sign: what a database and random generators take."""

_MAX_NAME = 80

TaskName = Literal["image", "layout"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run.

    Attributes:
        items: the whole suite, in its order.
        model: the image model.
        selection: which items to take.
        samples: images per item.
        seed: the base seed from which the seeds of all images follow.
        size: width and height to request, in pixels.
        made_with: the version of formalimg, for the record.
        condition: how an item is presented to the model.
        layouts: the layouts of the items, by id, if the condition needs them.
        budget: spending limit of this run folder in US dollars; None for no limit.
        task: what the model is asked for: an image, or a layout.
        layouts_from: where the layouts come from, for the record.
        images: the URL on an object store for the images; empty for the run folder, or for where existing ones are.
        skipped: how many records of published data no item could be made of, for the record.
        rewriter: rewrites the prompts, if the condition says so.
        adaptive: the design of an adaptive run, for the record; empty for others.
    """

    items: Sequence[Item[object]]
    model: ImageModel
    selection: Selection = field(default_factory=Selection)
    samples: int = 1
    seed: int = 1
    size: int = 1024
    made_with: str = ""
    condition: Condition = field(default_factory=Condition)
    layouts: Mapping[str, Scene] = field(default_factory=dict)
    budget: float | None = None
    task: TaskName = "image"
    layouts_from: str = ""
    images: str = ""
    skipped: int = 0
    rewriter: Rewriter | None = None
    adaptive: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise FormalimgError(f"{self.samples} samples cannot be made: ask for 1 to {MAX_SAMPLES:,}")
        if not -MAX_SEED <= self.seed <= MAX_SEED:
            raise FormalimgError(f"a seed of {self.seed} cannot be stored: give one of at most {MAX_SEED}")
        if not isinstance(self.size, int) or not MIN_SIZE <= self.size <= MAX_SIZE:
            raise FormalimgError(f"a size of {self.size!r} cannot be requested: give {MIN_SIZE} to {MAX_SIZE} pixels")
        if not MIN_INTEGER <= self.seed <= MAX_INTEGER:
            raise FormalimgError("the seed is too large: give an integer of 64 bits")
        require_budget(self.budget)
        if self.images:
            _check_url(self.images)
        suites = {item.suite for item in self.items}
        if len(suites) != 1:
            raise FormalimgError("a run takes items of one suite" if suites else "there are no items to run")
        if self.condition.style != "none" and not suite(self.items[0].suite).has_style_text:
            styled = ", ".join(name for name in suite_names() if suite(name).has_style_text)
            raise FormalimgError(f"there is a text about the style of {styled} only: use style none for others")
        require_supported(self.model, self.items[0].suite)
        self._require_rewriter()
        require_storable_settings(self._identity)
        if self.condition.form == "image-layout" and not getattr(self.model, "takes_images", False):
            raise FormalimgError(
                f"{self.model.name} cannot be given an image to go by: choose another condition than image-layout"
            )

    def _require_rewriter(self) -> None:
        if self.condition.form == "rewritten" and self.rewriter is None:
            raise FormalimgError("somebody has to rewrite the prompts: name a chat model with --rewriter")
        if self.rewriter is not None and isinstance(self.model, PremadeImageModel):
            raise FormalimgError(f"{self.model.name} serves images that exist: use --condition plain, nothing is sent")

    def generator(self, rewrites: RewriteStore | None = None) -> ImageModel:
        """Return the model that generates the images: the image model, behind its rewriter if there is one.

        Args:
            rewrites: the texts of the run folder; None if nothing is generated.
        """
        if self.rewriter is None:
            return self.model
        from formalimg.runs.rewriting import RewritingModel  # here, because most runs rewrite nothing

        prompts = _ItemValues(self.items, lambda item: item.prompt)
        return RewritingModel(self.model, self.rewriter, prompts, rewrites)

    @property
    def _identity(self) -> Identity:
        rewriting = {} if self.rewriter is None else self.rewriter.settings
        return Identity(self.model.name, {**self.model.settings, **rewriting})

    @property
    def requests(self) -> RequestBuilder:
        """Builds the requests to the model."""
        return RequestBuilder(self.generator(), self.condition, self.layouts, self.size)

    def manifest(self, stored: RunManifest | None = None) -> RunManifest:
        """Return the manifest of the run, merged with the one that the folder already has."""
        first = self.items[0]
        manifest = RunManifest(
            suite=first.suite,
            suite_version=first.version,
            items_digest="",  # the store knows all items that were ever planned
            model=self._identity,
            judge=None,
            samples=self.samples,
            seed=self.seed,
            size=self.size,
            created=utc_now(),
            made_with=self.made_with,
            condition=self.condition.name,
            style=self.condition.style,
            prompts=", ".join(f"{name} ({version})" for name, version in self.condition.versions.items()),
            task=self.task,
            layouts=self.layouts_from if self.condition.needs_layout else "",
            images=self.images,
            images_id=secrets.token_hex(8) if self.images else "",
            odd=_odd_records(self.items, self.skipped),
            adaptive=self.adaptive,
        )
        if stored is None:
            return manifest
        return replace(
            manifest,
            judge=stored.judge,
            created=stored.created,
            samples=max(manifest.samples, stored.samples),
            images=stored.images,
            images_id=stored.images_id,
        )


@dataclass(frozen=True)
class RunBuilder:
    """Builds the `RunConfig` and the folder of each model's run, from the options that the runs of a call share.

    Attributes:
        suite: the benchmark.
        source: where the items are, or the items; None for the default suite.
        levels, per_level: which items to take, as in `Selection`.
        condition: how items are presented to models; None for the prompt alone.
        auto_style: whether the style text of the condition is replaced by the one that suits the model.
        layouts: the layouts of the items, by id, if the condition needs them; None for the solver's witnesses.
        layouts_from: where given layouts come from, for the record.
        images: the URL on an object store below which each run has its images; None for the run folder.
        rewriter: the chat model that rewrites the prompts, if the condition says so.
        kind: what names of folders say besides, such as `adaptive`.
        made_with, samples, seed, size, budget, task: as in `RunConfig`.
    """

    suite: str
    made_with: str
    source: str | Path | Iterable[Item[Any]] | None = None
    levels: Collection[int] | None = None
    per_level: int | None = None
    samples: int = 1
    seed: int = 1
    size: int = 1024
    condition: Condition | None = None
    auto_style: bool = False
    layouts: Mapping[str, Scene] | None = None
    layouts_from: str = "given"
    budget: float | None = None
    task: TaskName = "image"
    images: str | None = None
    rewriter: ChatModel | None = None
    kind: str = ""

    @cached_property
    def items(self) -> Sequence[Item[Any]]:
        """The whole suite, opened on first access; the selected items are checked, others when they are used."""
        items = self._loaded.items
        require_valid(self.selection.of(items).values())
        return items

    @cached_property
    def _loaded(self) -> LoadedItems:
        if self.source is None or isinstance(self.source, str | Path):
            return open_items(self.suite, self.source)
        return LoadedItems(list(self.source))

    @property
    def odd(self) -> str:
        """The odd records of the data, counted by tag, as one line; empty if there are none."""
        return _odd_records(self._loaded.items, len(self._loaded.skipped))

    @property
    def selection(self) -> Selection:
        """Which items to take."""
        return Selection(self.levels, self.per_level)

    def folder(self, model: ImageModel, runs: Path) -> Path:
        """Return the folder of a model's run, named after suite, model and condition."""
        condition = self.condition.name if self.condition else ""
        own = "layout" if self.task == "layout" else condition
        return runs / run_name(self.suite, model.name, " ".join(filter(None, [own, self.kind])))

    def config(self, model: ImageModel, folder: Path) -> RunConfig:
        """Return the configuration of a model's run in this folder.

        Raises:
            FormalimgError: if an option is out of its limits, or does not suit the suite or the model.
        """
        condition = self.condition or Condition()
        if self.auto_style:
            condition = replace(condition, style=default_style(self.suite, model))
        layouts: Mapping[str, Scene] = {}
        if condition.needs_layout:
            layouts = self._witnesses if self.layouts is None else self.layouts
        return RunConfig(
            self.items,
            model,
            self.selection,
            samples=self.samples,
            seed=self.seed,
            size=self.size,
            made_with=self.made_with,
            condition=condition,
            layouts=layouts,
            budget=self.budget,
            task=self.task,
            layouts_from="solver" if self.layouts is None else self.layouts_from,
            images=images_url(self.images, folder) if self.images else "",
            skipped=len(self._loaded.skipped),
            rewriter=self._rewriter(condition),
        )

    def _rewriter(self, condition: Condition) -> Rewriter | None:
        if self.rewriter is None:
            return None
        if condition.rewriting is None:
            raise FormalimgError("a rewriter rewrites prompts: choose --condition rewritten too, or leave it out")
        from formalimg.runs.rewriting import Rewriter

        return Rewriter(self.rewriter, condition.rewriting)

    @cached_property
    def _witnesses(self) -> Mapping[str, Scene]:
        return _ItemValues(self.items, lambda item: item.spec.witness)


class _ItemValues(Mapping[str, Value]):
    """Something of each item that has it, by id; computed when it is needed, and not kept."""

    def __init__(self, items: Iterable[Item[Any]], value_of: Callable[[Item[Any]], Value | None]) -> None:
        self._items = {item.id: item for item in items}
        self._value_of = value_of

    def __getitem__(self, id_: str) -> Value:
        value = self._value_of(self._items[id_])
        if value is None:
            raise KeyError(id_)
        return value

    def __iter__(self) -> Iterator[str]:
        return (id_ for id_, item in self._items.items() if self._value_of(item) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _odd_records(items: Iterable[Item[object]], skipped: int) -> str:
    return odd_text(count_odd((item.tags for item in items), skipped))


def require_budget(budget: float | None) -> None:
    """Refuse a budget that is negative or NaN, which no cost ever reaches."""
    if budget is not None and not budget >= 0:
        raise FormalimgError(f"a budget of {budget} cannot be kept: give 0 or more US dollars")


def run_name(suite: str, model: str, condition: str = "") -> str:
    """Return the name of a run's folder: suite, model and condition, fit for any file system."""
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{suite}-{model}-{condition}".lower()).strip("-.")
    if len(plain) <= _MAX_NAME and re.fullmatch(r"[a-z0-9./_-]+", model):
        return plain
    return f"{plain[:_MAX_NAME]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def images_url(url: str, folder: Path) -> str:
    """Return the URL of the images of the run in a folder, below a URL for all runs.

    Raises:
        FormalimgError: if the URL is not supported, or holds what may be a secret.
    """
    return _check_url(f"{_check_url(url)}/{folder.absolute().name}")


def _check_url(url: str) -> str:
    from formalimg.runs.remote_image_store import check_url  # here, because most runs need none

    if mask_secrets(url) != url:
        raise FormalimgError(
            "the address of images holds a key, and it would be written into run.toml: give the bare address, and the "
            "key in the environment or in fsspec's configuration"
        )
    return check_url(url)


Party = TypeVar("Party", bound=Concurrent)


@dataclass(frozen=True)
class Reopenable(Generic[Party]):
    """A model or judge that is open in this process, and the factory by which other processes open the same.

    Attributes:
        instance: the one that is open in this process.
        factory: opens another. It must be importable (a function, or a `functools.partial` of one with plain values),
            so that it can be called on another machine.
    """

    instance: Party
    factory: Callable[[], Party]

    @classmethod
    def open(cls, factory: Callable[[], Party]) -> Reopenable[Party]:
        """Open it here."""
        return cls(factory(), factory)
