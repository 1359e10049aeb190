"""Protocols and data types shared by models, judges, benchmarks and readers of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from formalimg.benchmarks.hooks import BenchmarkHooks, PartTerms
from formalimg.errors import FormalimgError

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from formalimg.benchmarks.authoring.task import Authoring
    from formalimg.benchmarks.record import ItemFindings, ItemForm
    from formalimg.human_eval.protocol import RatingRules
    from formalimg.judges.base import Grounding, LoadedImage, UnscoredReason
    from formalimg.judges.clause_sentences import SceneSentence
    from formalimg.judges.preflight import KnownDrawing
    from formalimg.models.base import ImageRequest, ImageResult, Message, Reply
    from formalimg.reports.comparison_model import HowCounted, SeenRun
    from formalimg.reports.published import ExportedRun
    from formalimg.reports.tables.model import Column, Placement, TableRow
    from formalimg.runs.database import PlannedItem, RunCost
    from formalimg.runs.manifest import RunManifest
    from formalimg.runs.queries import ImageOutcome
    from formalimg.runs.reader import Judged, StoredRun

Spec_co = TypeVar("Spec_co", covariant=True)
AnswerType = TypeVar("AnswerType", bound="BaseModel")
Setting: TypeAlias = str | int | float | bool | None  # stored and hashed into keys; never a secret


@dataclass(frozen=True)
class Item(Generic[Spec_co]):
    """One instruction of a suite."""

    suite: str
    id: str  # valid as a file name
    level: int  # difficulty, such as K
    prompt: str  # the text for the image model
    spec: Spec_co  # what the image must show, in the type of the benchmark
    tags: tuple[str, ...] = ()
    version: str = ""  # of the suite; empty for data without one


class Concurrent(Protocol):
    """A model or judge with a concurrency limit; equal names and settings identify the same one."""

    @property
    def name(self) -> str: ...  # as users write it, `provider/model`
    @property
    def settings(self) -> Mapping[str, Setting]: ...  # all that shapes the results, besides the input
    @property
    def concurrency(self) -> int: ...


class ImageModel(Concurrent, Protocol):
    """Text in, image out. A failed image is a result, but a `FormalimgError` ends the run."""

    @property
    def batch(self) -> int: ...  # preferred number of requests per call
    @property
    def sees_spec(self) -> bool: ...  # only baselines that mark the ceiling may see `Item.spec`
    def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]: ...  # in order


class ChatModel(Concurrent, Protocol):
    """Text and images in, a parsed answer or `Unanswered` out."""

    async def ask(self, messages: Sequence[Message], answer_type: type[AnswerType]) -> Reply[AnswerType]: ...


@dataclass(frozen=True)
class Part:
    """A graded part of a verdict: a clause, a question or a dimension."""

    name: str  # what was checked, such as the text of a clause
    kind: str  # object, attribute, relation, …
    score: float  # 0 to 1
    weight: float = 1.0
    about: tuple[str, ...] = ()  # the words by which failures are grouped
    reason: str = ""
    p_yes: float | None = None  # the probability of the expected answer, where the judge's server tells


@dataclass(frozen=True)
class Verdict:
    """The judgement of an image. An explanation is stored in the evidence under `explanation`."""

    passed: bool
    parts: tuple[Part, ...] = ()
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0  # US dollars; None if the price is unknown

    @property
    def score(self) -> float:
        """Weighted mean of the part scores; 1 if and only if every part is fully shown."""
        weight = sum(part.weight for part in self.parts)
        return sum(part.score * part.weight for part in self.parts) / weight if weight else float(self.passed)


@dataclass(frozen=True)
class Unscored:
    """A missing verdict with its reason. It is never counted as 0 and never omitted from the counts."""

    reason: UnscoredReason  # refused, not understood, …
    detail: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    cost: float | None = 0.0


class Judge(Concurrent, Protocol):
    """Item and image in, verdict out. Undecidable images are `Unscored`, never guessed."""

    async def judge(self, item: Item[object], image: LoadedImage) -> Verdict | Unscored: ...


@runtime_checkable
class Grounder(Concurrent, Protocol):
    """Image in, scene out. The grounder must detect the given classes and may report others."""

    async def ground(self, image: LoadedImage, classes: Sequence[str]) -> Grounding | Unscored: ...


class RunRecord(Protocol):
    """A run folder opened read-only without a lock, even while the run is being written."""

    @property
    def folder(self) -> Path: ...
    @property
    def manifest(self) -> RunManifest: ...
    @property
    def items(self) -> Mapping[str, PlannedItem]: ...  # by id, in the order of the suite
    def suite_items(self) -> Sequence[Item[object]]: ...  # with their specifications
    def outcomes(self) -> Sequence[ImageOutcome]: ...  # of each planned image, by item and sample
    def spent(self) -> RunCost: ...
    def image_seconds(self) -> Sequence[float]: ...
    def judged(self, images: Sequence[tuple[str, int]] | None = None) -> Iterator[Judged]: ...


@dataclass(frozen=True)
class Table:
    """A table that can be rendered in every output format."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]  # published ones last
    notes: tuple[str, ...] = ()  # the caption, then remarks
    placement: Placement = "more"
    interval_note: str = ""


@dataclass(frozen=True, kw_only=True)
class Benchmark(BenchmarkHooks, ABC):
    """Data and hooks of a benchmark. Hooks import their code when called; None means not supported."""

    name: str  # on the command line
    title: str
    level: str  # what its levels are called, such as K
    terms: PartTerms
    part_kinds: tuple[str, ...]  # in the order in which they are listed
    bands: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # groups of levels that are averaged
    epsilon: float | None = None  # the rate that a model has to hold for its generalizability
    level_names: Mapping[int, str] = field(default_factory=dict)
    source: str = ""  # the published benchmark it belongs to
    vocabulary: str = ""  # of its formulas
    world: Literal["", "icons", "drawn"] = ""  # what built-in models draw for it
    has_style_text: bool = False  # a text about the style of image may precede prompts
    is_grounded: bool = False  # images become scenes, and logic verifies them

    @property
    @abstractmethod
    def form(self) -> ItemForm: ...  # the fields of its items in records
    def read_published(self, path: Path, findings: ItemFindings) -> list[Item[Any]]:  # the authors' files
        findings.add(str(path), f"{self.name} has no published files: give an items.jsonl")
        return []

    def write_published(self, items: Sequence[Item[Any]], folder: Path) -> None:  # in the authors' form
        raise FormalimgError(f"{self.name} has no published form: write its items as items.jsonl")

    def drawn_items(self) -> list[Item[Any]] | None: ...  # to certify judges by; None: those of the package
    def item_lines(self, item: Item[Any]) -> Iterable[str]:  # an item and what it requires, for reading
        return (item.prompt, str(item.spec))

    def census_lines(self, items: Sequence[Item[Any]]) -> Iterable[str] | None: ...  # what items are made of
    def authoring(self) -> Authoring | None: ...  # how a chat model writes new items
    @abstractmethod
    def open_judge(self, name: str | None, options: Mapping[str, str], protocol: str) -> Judge: ...  # of images
    def preflight_drawings(self, judge: Judge) -> tuple[KnownDrawing, KnownDrawing] | None: ...  # shown before a run
    def explain_failure(self, part: Part, verdict: Verdict) -> Sequence[SceneSentence] | None: ...  # in English
    def tables(self, runs: Sequence[SeenRun], how: HowCounted) -> Sequence[Table] | None: ...  # below the main one
    def export_run(self, run: StoredRun, folder: str | Path, name: str) -> ExportedRun | None: ...  # in its layout
    def rating(self) -> RatingRules | None: ...  # how people rate its images
