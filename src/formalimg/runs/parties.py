"""The model and judges of a run, opened locally or on Ray workers, and the safeguards.

Safeguards keep a run from spending in vain: models and judges are tried before it begins, and it stops after failures
in a row.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from formalimg.errors import FormalimgError
from formalimg.judges.base import DECLINED
from formalimg.models.base import PremadeImageModel
from formalimg.runs.database import VerdictRow
from formalimg.runs.plan import require_supported
from formalimg.types import ChatModel, Concurrent, ImageModel, Item, Judge

if TYPE_CHECKING:
    from formalimg.judges.factory import Protocol
    from formalimg.runs.defaults.settings import Words

JudgeFunction: TypeAlias = Callable[[Any, Item[Any]], Any]
"""Takes a PIL image and an item; see `CallableJudge` for what it may return."""

_log = logging.getLogger(__name__)

Component = TypeVar("Component", bound=Concurrent)


@dataclass(frozen=True)
class Reopenable(Generic[Component]):
    """A model or judge opened in this process, with a factory that opens it in other processes."""

    instance: Component  # the one that is open in this process
    # opens another. It must be importable (a function, or a `functools.partial` of one with plain values), so that it
    # can be called on another machine
    factory: Callable[[], Component]

    @classmethod
    def open(cls, factory: Callable[[], Component]) -> Reopenable[Component]:
        """Open a model or judge with the factory."""
        return cls(factory(), factory)

    @classmethod
    def here(cls, instance: Component) -> Reopenable[Component]:
        """Wrap an existing model or judge that is only usable in this process."""
        return cls(instance, lambda: instance)


def open_model(
    name: str,
    options: Mapping[str, str],
    suite: str,
    *,
    task: str = "image",
    protocol: Protocol = "default",
    prompts: Path | None = None,
) -> Reopenable[ImageModel]:
    """Open the model that generates the images of a suite, or plans layouts."""
    if task == "layout":
        from formalimg.models.builtin.planner import open_planner

        prompts = prompts or _authors_texts(suite, protocol)
        return Reopenable.open(partial(open_planner, name, options, prompts, published=protocol != "default"))
    from formalimg.models.registry import open_image_model

    model = Reopenable.open(partial(open_image_model, name, options))
    require_supported(model.instance, suite)
    return model


def open_judges(
    suite: str,
    model: str,
    names: Sequence[str] | None,
    options_of: Callable[[int, str | None], Mapping[str, str]],
    *,
    task: str = "image",
    protocol: Protocol = "default",
    prompts: Path | None = None,
    making: bool = True,
    words: Words = "command",
    on_notice: Callable[[str], None] = lambda text: None,
) -> list[Reopenable[Judge]]:
    """Open the judges by name, or the default judge for the model's images if there are no names."""
    from formalimg.judges.factory import open_judge
    from formalimg.runs.defaults.settings import default_judge

    prompts = prompts or _authors_texts(suite, protocol)
    default = None if names else default_judge(suite, model, task=task, protocol=protocol, making=making, words=words)
    if default is not None:
        names = [default.name]
        on_notice(str(default))
    judges = []
    for number, name in enumerate(names or [None], 1):
        options = {**(default.options if default else {}), **options_of(number, name)}
        # Prompt texts of the user are an option as well, of judges that send any.
        if prompts is not None and name is not None and not name.startswith(("builtin/", "detector/")):
            options.setdefault("prompts", str(prompts))
        judges.append(Reopenable.open(partial(open_judge, suite, name, options, task, protocol)))
    return judges


def _authors_texts(suite: str, protocol: Protocol) -> Path | None:
    if protocol == "default":
        return None
    from formalimg.benchmarks.download.texts import find_pulled_texts
    from formalimg.benchmarks.registry import suite as suite_of

    return find_pulled_texts(suite_of(suite).source)


def model_of(model: str | ImageModel, options: Mapping[str, object] | None) -> ImageModel:
    """Return the image model passed to a call by name or as an object."""
    if isinstance(model, str):
        from formalimg.models.options import option_texts
        from formalimg.models.registry import open_image_model

        return open_image_model(model, option_texts(options or {}))
    if options:
        raise FormalimgError(f"model_options are for models by name: give them to {model.name} when it is opened")
    return model


def rewriter_of(rewriter: str | ChatModel | None) -> ChatModel | None:
    """Return the chat model passed to a call by name or as an object, or None."""
    if not isinstance(rewriter, str):
        return rewriter
    from formalimg.models.registry import open_chat_model

    return open_chat_model(rewriter)


def judge_of(
    suite: str,
    model: str,
    judge: str | Judge | JudgeFunction | None,
    options: Mapping[str, object] | None,
    protocol: Protocol,
    task: str = "image",
    *,
    making: bool = True,
) -> Reopenable[Judge]:
    """Return the judge passed to a call by name, object or function, or the default judge."""
    from formalimg.judges.factory import check_protocol

    check_protocol(protocol)
    if judge is None or isinstance(judge, str):
        from formalimg.models.options import option_texts

        texts = option_texts(options or {})
        names = None if judge is None else [judge]
        settings: dict[str, Any] = {"task": task, "protocol": protocol, "making": making, "words": "python"}
        (opened,) = open_judges(suite, model, names, lambda *_: texts, **settings, on_notice=_log.warning)
        return opened
    if protocol != "default":
        raise FormalimgError(
            f"the protocol {protocol} needs a judge by its name: open it with open_judge(…, protocol=…)"
        )
    if not is_function(judge):
        if options:
            raise FormalimgError("judge_options are for judges by name, and functions: set them when it is opened")
        return Reopenable.here(judge)  # type: ignore[arg-type]
    from formalimg.judges.callable_judge import CallableJudge

    known_options = ("name", "settings", "concurrency", "threshold")
    for option in options or {}:
        if option not in known_options:
            raise FormalimgError(f"a function as a judge has no option {option!r}: it has {', '.join(known_options)}")
    arguments: dict[str, Any] = dict(options or {})
    return Reopenable.here(CallableJudge(judge, **arguments))  # type: ignore[arg-type]


def is_function(judge: object) -> bool:
    """Return whether a judge is a plain function."""
    return callable(judge) and not any(hasattr(judge, name) for name in ("judge", "ask", "ground"))


class Workplace(NamedTuple):
    """The model and judge that execute the work, and a function that describes worker throughput."""

    model: ImageModel | None
    judge: Judge | None
    rates_text: Callable[[], str]


@dataclass(frozen=True)
class EngineOptions:
    """The execution options of a run: in this process or on workers of a Ray cluster."""

    engine: Literal["local", "ray"] = "local"
    address: str | None = None
    workers: int | None = None
    gpus_per_worker: float | None = None
    cpus_per_worker: float | None = None

    def __post_init__(self) -> None:
        options = {
            "--address": self.address,
            "--workers": self.workers,
            "--gpus-per-worker": self.gpus_per_worker,
            "--cpus-per-worker": self.cpus_per_worker,
        }
        unused = [option for option, value in options.items() if value is not None and self.engine == "local"]
        if unused:
            raise FormalimgError(f"{unused[0]} is about a Ray cluster: give --engine ray too")

    @contextmanager
    def open(
        self,
        model: Reopenable[ImageModel] | None,
        judge: Reopenable[Judge] | None,
        on_notice: Callable[[str], None] = lambda text: None,
    ) -> Iterator[Workplace]:
        """Yield a workplace with the model and judge, opened on a cluster if requested."""
        local = Workplace(model.instance if model else None, judge.instance if judge else None, lambda: "")
        if self.engine == "local":
            yield local
            return
        from formalimg.models.base import PremadeImageModel
        from formalimg.runs.ray.pool import open_worker_pool
        from formalimg.runs.ray.worker import ResourceRequest

        # Models that serve existing images need no workers.
        remote = None if model and isinstance(model.instance, PremadeImageModel) else model
        if remote is None and judge is None:
            yield local
            return
        cpus = 1 if self.cpus_per_worker is None else self.cpus_per_worker
        resources = ResourceRequest(cpus, self.gpus_per_worker or 0)
        # Messages of Ray about machines that die are not results.
        with (
            redirect_stdout(sys.stderr),
            open_worker_pool(
                remote, judge, workers=self.workers, resources=resources, address=self.address or "auto"
            ) as pool,
        ):
            count = f"{pool.size} workers" if pool.size > 1 else "1 worker"
            on_notice(f"Ray: up to {count}, with {resources} each; the first take some seconds to start")
            yield Workplace(pool.model or local.model, pool.judge, pool.rates_text)


MAX_FAILURES = 20  # After so many failures of a model or judge in a row a run stops, unless another number is given
_BUILTIN = "builtin/"
_PREFLIGHT_VARIABLE = "FORMALIMG_PREFLIGHT"


@dataclass(frozen=True)
class Safeguards:
    """Safeguards against wasted spending in a run."""

    preflight: bool = False  # whether judges and image model are tried before all else
    max_failures: int = 0  # the run stops after so many failures in a row of a model or judge; 0 for never
    judges: Sequence[Judge] = ()  # judges that come after the judge of the run, and are tried together with it
    on_notice: Callable[[str], None] = _log.warning  # called with each line that a user should see

    def __post_init__(self) -> None:
        if not isinstance(self.max_failures, int) or self.max_failures < 0:
            raise FormalimgError(
                f"a run cannot stop after {self.max_failures} failures: give 1 or more, or 0 for never"
            )


UNGUARDED = Safeguards()  # No safeguards: what is asked for is tried to the end


def preflight_by_default() -> bool:
    """Return whether runs start with a pre-flight by default, as set by FORMALIMG_PREFLIGHT."""
    return os.environ.get(_PREFLIGHT_VARIABLE, "").strip().lower() not in ("0", "no", "off", "false")


def can_fail(model: ImageModel) -> bool:
    """Return whether a model can fail or cost money, unlike built-in models and existing images."""
    return not model.name.startswith(_BUILTIN) and not isinstance(model, PremadeImageModel)


class CircuitBreaker:
    """A counter of consecutive failures of a model or judge."""

    def __init__(self, name: str, limit: int) -> None:
        self.failures = 0  # how many there are in a row by now
        self.reason = ""  # why the last one failed
        self._name = name
        self._limit = limit

    def count(self, failed: bool | None, reason: str = "") -> None:
        """Record a success or failure, ignoring None."""
        if failed:
            self.failures, self.reason = self.failures + 1, reason
        elif failed is not None:
            self.failures = 0

    @property
    def is_open(self) -> bool:
        """Whether the failure limit has been reached."""
        return 0 < self._limit <= self.failures

    @property
    def message(self) -> str:
        """The reason for stopping the run."""
        return f"{self._name} failed {self.failures} times in a row; last error: {self.reason}"


def model_advice(name: str, reason: str) -> str:
    """Return an error message for a run whose first images all failed, with advice."""
    advice = "fix the cause"
    if reason.startswith("unavailable: the connection"):
        advice = "start the server, or correct -M base_url"
    elif reason.startswith("unavailable"):
        advice = "look into the log of the server, or try again later"
    elif reason.startswith("busy"):
        advice = "wait, or lower -M concurrency"
    elif reason.startswith("rejected"):
        advice = "correct the options of the model (-M) or --size"
    return (
        f"asked for the first image, {name} made none ({reason}): {advice}, then rerun the same command "
        "(--no-preflight, in Python preflight=False, skips this check)"
    )


def image_failed(status: str) -> bool | None:
    """Return whether the model failed, or None if the status does not concern an image file."""
    return {"made": False, "unreadable": True, "too large": True}.get(status)


def judge_failed(judge: Judge, row: VerdictRow) -> bool | None:
    """Return whether a judge failed, or None if it was not asked or its model declined."""
    if row.passed is not None:
        return False
    if row.reason == "judge failed":
        return None if DECLINED in row.detail else True
    was_asked = row.evidence != "{}"  # items that nobody can judge have none
    return True if row.reason == "not understood" and was_asked and not judge.name.startswith(_BUILTIN) else None
