"""Summaries of all suites: their items, levels, judges and sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from formalimg.benchmarks.download.source import sources_of
from formalimg.benchmarks.loader import open_default, shipped_versions
from formalimg.benchmarks.registry import suite, suite_names
from formalimg.types import Benchmark


@dataclass(frozen=True)
class SuiteSummary:
    """A suite, as `formalimg suites` lists it."""

    name: str  # on the command line
    title: str
    items: int | None  # number of shipped items; None if none are
    levels: str  # such as `K 1–10`; empty if all items are of one
    judge: str  # what can judge its images
    drawings: str  # the judge of the drawings of built-in models; empty if they draw nothing of it
    versions: tuple[str, ...]  # of its shipped items, the newest last
    sources: tuple[str, ...]  # what `formalimg pull` brings for it

    def lines(self) -> Iterable[str]:
        """Yield the summary as a few lines: size, judge, and how to get the items."""
        size = "no items of its own" if self.items is None else f"{self.items:,} items, shipped"
        if self.items is None and self.sources:
            size = "not shipped"
        yield f"{self.name:<24}{', '.join(filter(None, [size, self.levels]))}"
        earlier = f"; earlier items: `run --items {'|'.join(f'@{version}' for version in self.versions[:-1])}`"
        yield f"{self.title}. Judge: {self.judge}{f'; {self.drawings} for drawings' if self.drawings else ''}"
        if self.items is not None:
            published = f"published data: formalimg pull {self.sources[0]} --to DIR" if self.sources else "made here"
            yield f"{published}{earlier if self.versions[1:] else ''}"
        elif self.sources:
            yield f"formalimg pull {'|'.join(self.sources)} --to DIR, then `run {self.name} --items DIR`"
        else:
            yield "give yours with `run --items FILE`; `formalimg score` makes them of prompts"

    def to_json(self) -> dict[str, object]:
        """Return the summary as plain data."""
        return asdict(self)


def summarize_suites() -> list[SuiteSummary]:
    """Return summaries of all suites, in order of registration."""
    return [_summarize_suite(suite(name)) for name in suite_names()]


def _summarize_suite(benchmark: Benchmark) -> SuiteSummary:
    versions = shipped_versions(benchmark.name)
    items = open_default(benchmark.name) if versions else []
    return SuiteSummary(
        benchmark.name,
        benchmark.title,
        len(items) or None,
        _levels_text(benchmark, {item.level for item in items}),
        benchmark.judge_needs.removeprefix("needs "),
        {"icons": "builtin/icons", "drawn": "builtin/drawn"}.get(benchmark.world, ""),
        versions,
        sources_of(benchmark.name),
    )


def _levels_text(benchmark: Benchmark, shipped: set[int]) -> str:
    levels = sorted(shipped or {level for band in benchmark.bands.values() for level in band})
    if not levels:
        return ""
    if names := [benchmark.level_names[level] for level in levels if level in benchmark.level_names]:
        return f"{benchmark.level}s: {', '.join(names)}" if names[1:] else names[0]
    return f"{benchmark.level} {levels[0]}–{levels[-1]}" if len(levels) > 1 else f"{benchmark.level} {levels[0]}"
