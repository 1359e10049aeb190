"""Hugging Face's library loads exported suites as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from formalimg.benchmarks.export.suite_export import export_suite

datasets = pytest.importorskip("datasets", reason="loads exports as a user does: pip install datasets")


@pytest.mark.parametrize("suite", ["knolling", "conceptmix", "cf-world", "cf-world-attributes"])
def test_an_exported_folder_is_a_dataset(suite: str, tmp_path: Path) -> None:
    export = export_suite(suite, tmp_path / "out", published=suite != "cf-world-attributes")
    loaded = datasets.load_dataset(str(export.folder), split="train", cache_dir=str(tmp_path / "cache"))
    lines = (export.folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    assert loaded["prompt"][:] == [json.loads(line)["prompt"] for line in lines]
