"""Import rules: which package may import which, and only through its public names; unique class names; module names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import formalimg

SOURCE = Path(formalimg.__file__).parent

MAY_IMPORT = {
    "logic": set(),
    "scenes": {"logic"},
    "suites": {"logic", "scenes"},
    "models": set(),
    "baselines": {"logic", "scenes", "suites", "models"},
    "judges": {"logic", "scenes", "suites", "models", "stats"},
    "authoring": {"logic", "scenes", "suites", "models"},
    "config": {"suites", "models"},
    "runs": {"logic", "scenes", "suites", "models", "judges", "stats"},
    "cluster": {"logic", "scenes", "suites", "models", "baselines", "judges", "runs"},
    "rewards": {"logic", "scenes", "suites", "models", "judges", "runs"},
    "scoring": {"config", "logic", "suites", "models", "judges", "runs", "tables"},
    "stats": set(),
    "tables": {"stats"},
    "doctor": {"logic", "scenes", "suites", "models", "judges", "runs", "stats"},
    "analysis": {"logic", "scenes", "suites", "models", "judges", "runs", "stats", "tables"},
    "importing": {"suites", "judges", "runs", "tables", "human_eval"},
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
        "config",
        "scoring",
    },
}
MAY_IMPORT["results"] = {*MAY_IMPORT["reporting"], "reporting"}
MAY_IMPORT["sharing"] = {"suites", "models", "judges", "runs", "stats", "tables", "reporting", "results"}
MAY_IMPORT["rewards.server"] = {*MAY_IMPORT["web"], "web", "rewards"}
MAY_IMPORT["rewards.trainers"] = {*MAY_IMPORT["rewards"], "rewards", "rewards.server"}
MAY_IMPORT["cli"] = set(MAY_IMPORT)

INNER_PACKAGES = [name for name in MAY_IMPORT if "." in name]
"""Packages inside another one, with rules of their own."""

OPEN_TO_ALL = {"_util", "errors", "prompts"}
TOP_LEVEL = {"__init__", "__main__", "evaluation", *OPEN_TO_ALL} - {"_util"}
"""Modules beside the packages: some are open to all, the others export, start, and put the packages together."""


def test_every_package_is_known() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages <= {*MAY_IMPORT, *OPEN_TO_ALL}
    assert {path.stem for path in SOURCE.glob("*.py")} == TOP_LEVEL


def test_imports_keep_to_the_allowed_directions() -> None:
    for path in SOURCE.rglob("*.py"):
        package = _package(path)
        for module in _imports_of_ours(path):
            target = _package_of_module(module)
            if package in (TOP_LEVEL | {"_util"}) - OPEN_TO_ALL or target in (*OPEN_TO_ALL, package):
                continue
            allowed = MAY_IMPORT.get(package, set())
            # The command line may also read the package itself, for its version.
            assert target in allowed or (package == "cli" and target == ""), f"{path} imports {module}"


def test_imports_are_entered_by_the_public_names() -> None:
    """From another package one imports the package's public names, never a file inside it."""
    for path in SOURCE.rglob("*.py"):
        package = _package(path)
        for module in _imports_of_ours(path):
            target = _package_of_module(module)
            if target not in (package, "_util") and module not in ("formalimg", f"formalimg.{target}"):
                raise AssertionError(f"{path} imports {module}, not formalimg.{target}")


def test_imports_export_what_they_name() -> None:
    for package in MAY_IMPORT:
        if not (SOURCE / package.replace(".", "/")).is_dir() or package == "cli":
            continue
        module = __import__(f"formalimg.{package}", fromlist=["__all__"])
        assert module.__all__ == sorted(module.__all__, key=_export_order)
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "").startswith("formalimg"):
                assert value.__doc__, name


def _package(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return next((name for name in INNER_PACKAGES if tuple(name.split(".")) == parts[:2]), parts[0])


def _package_of_module(module: str) -> str:
    parts = module.split(".")[1:]
    return next((name for name in INNER_PACKAGES if name.split(".") == parts[:2]), parts[0] if parts else "")


def _export_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """What the tests look at in a file, which is parsed once."""
    looked_at = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, looked_at)]


def _imports_of_ours(path: Path) -> Iterator[str]:
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which package is entered"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name == "formalimg" or name.startswith("formalimg."))


def test_names_that_are_loaded_later_are_not_those_of_files() -> None:
    """Once a file is loaded, its name in the package is the file, and what was exported under it is gone."""
    for path in SOURCE.rglob("__init__.py"):
        for node in _nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_exports":
                for module, names in ast.literal_eval(node.args[1]).items():
                    assert module not in names, f"{path}: {module} is both a file and a name in it"


def test_class_names_are_unique() -> None:
    """A name that is searched for leads to one class."""
    found: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_modules_are_named_by_nouns() -> None:
    """Words such as `reading` or `making` say nothing of what a module holds; terms such as `pricing` are few."""
    modules = [path.stem for path in SOURCE.rglob("*.py") if path.stem != "__init__"]
    gerunds = [name for name in modules if name.endswith("ing")]
    assert len(gerunds) < 0.05 * len(modules), gerunds
