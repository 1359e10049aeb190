"""The rooms of the house and the doors between them: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import formalimg

SOURCE = Path(formalimg.__file__).parent

MAY_IMPORT = {
    "logic": set(),
    "scenes": {"logic"},
    "suites": {"logic", "scenes"},
    "models": set(),
    "baselines": {"logic", "scenes", "suites", "models"},
    "judges": {"logic", "scenes", "suites", "models"},
    "authoring": {"logic", "scenes", "suites", "models"},
    "runs": {"logic", "scenes", "suites", "models", "judges"},
    "cluster": {"logic", "scenes", "suites", "models", "baselines", "judges", "runs"},
    "rewards": {"logic", "scenes", "suites", "models", "judges", "runs"},
    "stats": set(),
    "tables": {"stats"},
    "doctor": {"logic", "scenes", "suites", "models", "judges", "runs", "stats"},
    "analysis": {"logic", "scenes", "suites", "models", "judges", "runs", "stats", "tables"},
    "human_eval": {"logic", "scenes", "suites", "models", "judges", "runs", "stats", "tables", "analysis"},
    "reporting": {"logic", "scenes", "suites", "models", "judges", "runs", "stats", "tables", "analysis"},
    "web": {
        "logic",
        "scenes",
        "suites",
        "models",
        "judges",
        "authoring",
        "runs",
        "stats",
        "tables",
        "analysis",
        "human_eval",
        "reporting",
    },
}
MAY_IMPORT["rewards.server"] = {*MAY_IMPORT["web"], "web", "rewards"}
MAY_IMPORT["cli"] = set(MAY_IMPORT)

OPEN_TO_ALL = {"_util", "errors", "prompts"}
ROOF = {"__init__", "__main__", "evaluation", *OPEN_TO_ALL} - {"_util"}
"""Modules beside the rooms: some are open to all, the others export, start, and put the rooms together."""


def test_every_room_is_known() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= {*MAY_IMPORT, *OPEN_TO_ALL}
    assert {path.stem for path in SOURCE.glob("*.py")} == ROOF


def test_imports_keep_to_the_doors() -> None:
    for path in SOURCE.rglob("*.py"):
        room = _room(path)
        for module in _imports_of_ours(path):
            target = _room_of_module(module)
            if room in (ROOF | {"_util"}) - OPEN_TO_ALL or target in (*OPEN_TO_ALL, room):
                continue
            allowed = MAY_IMPORT.get(room, set())
            # The command line may also read the package itself, for its version.
            assert target in allowed or (room == "cli" and target == ""), f"{path} imports {module}"


def test_rooms_are_entered_by_the_front_door() -> None:
    """From another room one imports the package's public names, never a file inside it."""
    for path in SOURCE.rglob("*.py"):
        room = _room(path)
        for module in _imports_of_ours(path):
            target = _room_of_module(module)
            if target not in (room, "_util") and module not in ("formalimg", f"formalimg.{target}"):
                raise AssertionError(f"{path} imports {module}, not formalimg.{target}")


def test_rooms_export_what_they_name() -> None:
    for room in MAY_IMPORT:
        if not (SOURCE / room.replace(".", "/")).is_dir() or room == "cli":
            continue
        module = __import__(f"formalimg.{room}", fromlist=["__all__"])
        assert module.__all__ == sorted(module.__all__, key=_export_order)
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "").startswith("formalimg"):
                assert value.__doc__, name


def _room(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return "rewards.server" if parts[:2] == ("rewards", "server") else parts[0]


def _room_of_module(module: str) -> str:
    if module.startswith("formalimg.rewards.server"):
        return "rewards.server"
    return module.split(".")[1] if "." in module else ""


def _export_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def _imports_of_ours(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which room is entered"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name == "formalimg" or name.startswith("formalimg."))


def test_names_that_are_loaded_later_are_not_those_of_files() -> None:
    """Once a file is loaded, its name in the package is the file, and what was exported under it is gone."""
    for path in SOURCE.rglob("__init__.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_exports":
                for module, names in ast.literal_eval(node.args[1]).items():
                    assert module not in names, f"{path}: {module} is both a file and a name in it"
