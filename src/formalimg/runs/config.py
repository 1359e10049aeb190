"""Configuration of a run: `RunOptions` as passed by the user, and `RunConfig` for a single model."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from formalimg import __version__
from formalimg.benchmarks.conditions import Condition, StyleText
from formalimg.benchmarks.filed_items import require_valid
from formalimg.benchmarks.loader import LoadedItems, open_items
from formalimg.benchmarks.odd_records import count_odd, odd_text
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.errors import FormalimgError
from formalimg.models.base import PremadeImageModel
from formalimg.runs.manifest import Identity, RunManifest, require_storable_settings, utc_now
from formalimg.runs.parties import MAX_FAILURES, EngineOptions, Safeguards, preflight_by_default
from formalimg.runs.plan import RequestBuilder, Selection, default_style, require_supported
from formalimg.scenes.scene import Scene
from formalimg.types import ChatModel, ImageModel, Item, Judge

if TYPE_CHECKING:
    from formalimg.runs.rewriting import Rewriter, RewriteStore

MIN_SIZE = 16  # The smallest width and height that can be requested, in pixels
MAX_SIZE = 16_384  # The largest width and height that can be requested, in pixels
MAX_SAMPLES = 1000  # The largest number of images of one item
MAX_SEED = 2**63 - 1
"""The largest base seed, and the smallest with a minus sign: what a database and random generators take."""

_MAX_NAME = 80

TaskName = Literal["image", "layout"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class RunConfig:
    """The configuration of a run of one model."""

    items: Sequence[Item[object]]  # the whole suite, in its order
    model: ImageModel  # the image model
    selection: Selection = field(default_factory=Selection)  # which items to take
    samples: int = 1  # images per item
    seed: int = 1  # the base seed from which the seeds of all images follow
    size: int = 1024  # width and height to request, in pixels
    made_with: str = ""  # the version of formalimg, for the record
    condition: Condition = field(default_factory=Condition)  # how an item is presented to the model
    layouts: Mapping[str, Scene] = field(default_factory=dict)  # of the items, by id, if the condition needs them
    budget: float | None = None  # spending limit of this run folder in US dollars; None for no limit
    task: TaskName = "image"  # what the model is asked for: an image, or a layout
    layouts_from: str = ""  # where the layouts come from, for the record
    images: str = ""  # the URL on an object store for the images; empty for the run folder, or where existing ones are
    rewriter: Rewriter | None = None  # rewrites the prompts, if the condition says so
    adaptive: str = ""  # the design of an adaptive run, for the record; empty for others
    odd: str | None = field(default=None, repr=False)  # the odd records of the data, by tag; None if not counted yet
    origin: str = ""  # `authors` for items read from files as their authors publish them; else empty
    # the selected items by their position in the suite; None if they have not been selected
    selected: Mapping[int, Item[object]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.samples <= MAX_SAMPLES:
            raise FormalimgError(f"{self.samples} samples cannot be made: ask for 1 to {MAX_SAMPLES:,}")
        if not -MAX_SEED <= self.seed <= MAX_SEED:
            raise FormalimgError(f"a seed of {self.seed} cannot be stored: give one of at most {MAX_SEED}")
        if not isinstance(self.size, int) or not MIN_SIZE <= self.size <= MAX_SIZE:
            raise FormalimgError(f"a size of {self.size!r} cannot be requested: give {MIN_SIZE} to {MAX_SIZE} pixels")
        require_budget(self.budget)
        if self.images:
            _check_url(self.images)
        suites = {item.suite for item in self.items}
        if len(suites) != 1:
            raise FormalimgError("a run takes items of one suite" if suites else "there are no items to run")
        if self.condition.style != "none" and not suite(self.items[0].suite).has_style_text:
            styled = ", ".join(name for name in suite_names() if suite(name).has_style_text)
            raise FormalimgError(f"there is only {styled} has a style text: use style none")
        require_supported(self.model, self.items[0].suite)
        if self.condition.form == "rewritten" and self.rewriter is None:
            raise FormalimgError("rewriting prompts needs a chat model: name one with --rewriter")
        if self.rewriter is not None and isinstance(self.model, PremadeImageModel):
            raise FormalimgError(f"{self.model.name} serves images that exist: use --condition plain, nothing is sent")
        require_storable_settings(self._identity)
        if self.condition.form == "image-layout" and not getattr(self.model, "takes_images", False):
            raise FormalimgError(
                f"{self.model.name} takes no reference image: choose another condition than image-layout"
            )

    def generator(self, rewrites: RewriteStore | None = None) -> ImageModel:
        """Return the image model, wrapped in the rewriter if there is one."""
        if self.rewriter is None:
            return self.model
        from formalimg.runs.rewriting import RewritingModel  # here, because most runs rewrite nothing

        prompts = _ItemValues(self.items, lambda item: item.prompt)
        return RewritingModel(self.model, self.rewriter, prompts, rewrites)

    @property
    def _identity(self) -> Identity:
        rewriting = {} if self.rewriter is None else self.rewriter.settings
        return Identity(self.model.name, {**self.model.settings, **rewriting})

    def selected_items(self) -> Mapping[int, Item[object]]:
        """Return the selected items, keyed by position in the suite."""
        return self.selection.of(self.items) if self.selected is None else self.selected

    @property
    def requests(self) -> RequestBuilder:
        """The builder of requests to the image model."""
        return RequestBuilder(self.generator(), self.condition, self.layouts, self.size)

    def manifest(self) -> RunManifest:
        """Build the manifest for a new run folder."""
        first = self.items[0]
        return RunManifest(
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
            odd=LoadedItems(list(self.items)).odd if self.odd is None else self.odd,
            adaptive=self.adaptive,
            origin=self.origin,
        )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """All options of a run, shared by `formalimg.run` and the command line."""

    suite: str
    items: str | Path | Iterable[Item[Any]] | None = None
    levels: Collection[int] | None = None
    per_level: int | None = None
    adaptive: bool | float = False
    against: str | Path | None = None
    samples: int = 1
    seed: int = 1
    size: int = 1024
    task: TaskName = "image"  # what models are asked for: an image, or a layout
    condition: Condition | None = None
    style: Literal["auto"] | StyleText = "auto"
    layouts: Mapping[str, Scene] | None = None
    layouts_from: str = "given"  # where given layouts come from, for the record
    rewriter: ChatModel | None = None
    budget: float | None = None
    preflight: bool | None = None
    max_failures: int = MAX_FAILURES
    engine: EngineOptions = field(default_factory=EngineOptions)  # where models and judges work
    images: str | None = None  # the URL on an object store below which each run has its images; None for the run folder
    runs: Path = Path("runs")  # the folder of the run folders
    folder: Path | None = None
    restart: bool = False  # whether an earlier run in the folder is moved aside
    made_with: str = f"formalimg {__version__}"  # the version of formalimg, for the record

    @cached_property
    def _loaded(self) -> LoadedItems:
        if self.items is None or isinstance(self.items, str | Path):
            return open_items(self.suite, self.items)
        return LoadedItems(list(self.items))

    @cached_property
    def selected(self) -> Mapping[int, Item[Any]]:
        """The selected items, validated and keyed by position in the suite."""
        selected = self.selection.of(self._loaded.items)
        require_valid(selected.values())
        return selected

    @property
    def suite_items(self) -> Sequence[Item[Any]]:
        """All items of the suite in order, after validating the selected ones."""
        return self._loaded.items if self.selected else ()

    @property
    def odd(self) -> str:
        """A one-line count of irregular records in the data by tag, or an empty string."""
        return self._loaded.odd

    @property
    def selected_odd(self) -> str:
        """A one-line count of irregular and skipped records in the selection, or an empty string."""
        return odd_text(count_odd((item.tags for item in self.selected.values()), len(self._loaded.skipped)))

    @property
    def selection(self) -> Selection:
        """The criteria for selecting items."""
        return Selection(self.levels, self.per_level)

    def folder_of(self, model: ImageModel) -> Path:
        """Return the run folder for a model: the configured folder, or one named after suite, model and condition."""
        if self.folder is not None:
            return self.folder
        condition = "layout" if self.task == "layout" else self.condition.name if self.condition else ""
        kind = "adaptive" * (self.adaptive is not False)
        kind += f" against {Path(self.against).absolute().name}" if self.against else ""
        return self.runs / run_name(self.suite, model.name, " ".join(filter(None, [condition, kind])))

    def config(self, model: ImageModel) -> RunConfig:
        """Build the run configuration for a model."""
        condition = self._condition(model)
        layouts: Mapping[str, Scene] = {}
        if condition.needs_layout:
            layouts = self._witnesses if self.layouts is None else self.layouts
        return RunConfig(
            self.suite_items,
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
            images=images_url(self.images, self.folder_of(model)) if self.images else "",
            rewriter=self._rewriter(condition),
            odd=self.odd,
            origin=self._loaded.origin,
            selected=self.selected,
        )

    def safeguards(self, judges: Sequence[Judge], on_notice: Callable[[str], None]) -> Safeguards:
        """Return the safeguards of a run, with a pre-flight for the additional judges."""
        preflight = preflight_by_default() if self.preflight is None else self.preflight
        return Safeguards(preflight, self.max_failures, judges, on_notice)

    def _condition(self, model: ImageModel) -> Condition:
        condition = self.condition or Condition()
        if self.style != "auto":
            return replace(condition, style=self.style)
        if self.task == "image" and condition.style == "none":
            return replace(condition, style=default_style(self.suite, model))
        return condition

    def _rewriter(self, condition: Condition) -> Rewriter | None:
        if self.rewriter is None:
            return None
        if condition.rewriting is None:
            raise FormalimgError("a rewriter rewrites prompts: choose --condition rewritten too, or leave it out")
        from formalimg.runs.rewriting import Rewriter  # here, because most runs rewrite nothing

        return Rewriter(self.rewriter, condition.rewriting)

    @cached_property
    def _witnesses(self) -> Mapping[str, Scene]:
        return _ItemValues(self.suite_items, lambda item: item.spec.witness)


class _ItemValues(Mapping[str, Value]):
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


def require_budget(budget: float | None) -> None:
    """Raise an error if the budget is negative or NaN."""
    if budget is not None and not budget >= 0:
        raise FormalimgError(f"invalid budget {budget}: give 0 or more US dollars")


def run_name(suite: str, model: str, condition: str = "") -> str:
    """Return a folder name for a run, safe on any file system."""
    plain = re.sub(r"[^a-z0-9.]+", "-", f"{suite}-{model}-{condition}".lower()).strip("-.")
    if len(plain) <= _MAX_NAME and re.fullmatch(r"[a-z0-9./_-]+", model):
        return plain
    return f"{plain[:_MAX_NAME]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def images_url(url: str, folder: Path) -> str:
    """Return the URL for the images of a run, below a base URL shared by all runs."""
    return _check_url(f"{_check_url(url)}/{folder.absolute().name}")


def _check_url(url: str) -> str:
    from formalimg.models.secrets import mask_secrets  # these here, because most runs need none
    from formalimg.runs.image_store import check_url

    if mask_secrets(url) != url:
        raise FormalimgError(
            "the address of images holds a key, and it would be written into run.toml: give the bare address, and the "
            "key in the environment or in fsspec's configuration"
        )
    return check_url(url)
