"""Packages for tests, laid out on the path as an installer leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path, package: str, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a package into a folder that is on the path, or will be.

    Args:
        folder: where modules are looked for.
        package: its name, as in `acme-painter`.
        modules: what is in which file.
        entry_points: by group, what each name loads.
    """
    for name, text in modules.items():
        (folder / name).write_text(text, encoding="utf-8")
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    lines = [
        line
        for group, entries in entry_points.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
