"""Import rules: which package may import which, that benchmarks are entered by their hooks, and unique names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import formalimg
from formalimg.benchmarks.registry import FOLDERS

SOURCE = Path(formalimg.__file__).parent

OPEN_TO_ALL = {"_util", "errors", "prompts", "types"}
_WORLD = {"logic", "scenes", "scenes.solver", "drawing", "language"}
_JUDGED = {*_WORLD, "benchmarks", "models", "models.folder", "judges", "runs", "runs.defaults", "stats"}
_REPORTED = {*_JUDGED, "reports", "reports.tables", "human_eval.agreement"}

MAY_IMPORT: dict[str, set[str]] = {
    "logic": set(),
    "stats": set(),
    "models": {"models.folder"},
    "models.folder": {"models", "benchmarks"},
    "scenes": {"logic", "scenes.solver"},
    "scenes.solver": {"logic", "scenes", "drawing"},
    "drawing": {"logic", "scenes", "scenes.solver"},
    "language": {"logic", "scenes"},
    "benchmarks": {*_WORLD, "models"},
    "models.builtin": {*_WORLD, "benchmarks", "models"},
    "judges": {*_WORLD, "benchmarks", "models", "stats"},
    "runs": {*_JUDGED, "runs.ray", "models.builtin"},
    "runs.defaults": {"benchmarks", "models"},
    "runs.ray": {*_JUDGED, "models.builtin"},
    "scoring": {*_JUDGED, "reports.tables"},
    "rewards": {*_JUDGED},
    "reports.tables": {"stats"},
    "human_eval.agreement": {*_JUDGED, "reports.tables"},
    "human_eval": {*_JUDGED, "reports.tables", "human_eval.agreement"},
    "human_eval.importing": {*_JUDGED, "reports.tables", "human_eval"},
    "reports": {*_REPORTED},
    "reports.results": {*_REPORTED, "human_eval"},
    "reports.sharing": {*_REPORTED, "reports.results", "human_eval"},
    "benchmarks folders": {*_REPORTED, "human_eval", "models.builtin", "rewards"},
    "web": {*_REPORTED, "human_eval", "scoring"},
}
MAY_IMPORT["rewards.server"] = {*MAY_IMPORT["web"], "web", "rewards"}
MAY_IMPORT["rewards.trainers"] = {*MAY_IMPORT["rewards"], "rewards", "rewards.server"}
MAY_IMPORT["cli"] = set(MAY_IMPORT) - {"benchmarks folders"} | {"api"}

INNER_PACKAGES = [name for name in MAY_IMPORT if "." in name]
"""Packages inside another one, with rules of their own."""

SHARED_SPECS = {"formalimg.benchmarks.formal.spec", "formalimg.benchmarks.questions.spec"}
"""What items ask for in several benchmarks: a formula, or questions. All else of a folder is behind the hooks."""

TOP_LEVEL = {"__init__", "__main__", "api", *OPEN_TO_ALL} - {"_util"}
"""Modules beside the packages: some are open to all, the others export, start, and put the packages together."""


def test_every_package_is_known() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages == {name for name in MAY_IMPORT if "." not in name and " " not in name} | {"_util"}
    assert {path.stem for path in SOURCE.glob("*.py")} == TOP_LEVEL
    assert len(packages) <= 16


def test_imports_keep_to_the_allowed_directions() -> None:
    for path in SOURCE.rglob("*.py"):
        package = _package(path.relative_to(SOURCE).with_suffix("").parts)
        if package in TOP_LEVEL | {"_util"} or path == SOURCE / "benchmarks" / "hooks.py":
            continue  # contracts name types of all packages, for type checkers alone
        for module in _imports_of_ours(path):
            target = _package(tuple(module.split(".")[1:])) if module != "formalimg" else ""
            if target in (*OPEN_TO_ALL, package) or module in SHARED_SPECS:
                continue
            # Some read the package itself, for its version.
            assert target in MAY_IMPORT[package] or (package in ("cli", "runs") and target == ""), f"{path}: {module}"


def test_the_contracts_load_nothing_else_of_ours() -> None:
    for name in ("types.py", "benchmarks/hooks.py"):
        tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
        modules = {str(node.module) for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert {module for module in modules if "formalimg" in module} <= {
            "formalimg.benchmarks.hooks",
            "formalimg.errors",
        }


NAMES = {
    "cfworld": r"cf.?world|counterfactual",
    "conceptmix": r"concept.?mix|ConceptSpec",
    "geneval": r"geneval(?!.?2)",
    "geneval2": r"geneval.?2",
    "t2i_compbench": r"comp.?bench",
}
"""What benchmarks are called in code, comments and docstrings, by their folder; the names of others are strings."""

NAMED_BY_OTHERS = {
    "rewards/trainers/flow_grpo.py": "geneval",  # the trainer calls this reward so
    "cli/commands.py": "cfworld",  # a group of commands is named after it
}


def test_no_code_outside_of_its_folder_names_a_benchmark() -> None:
    shared = {name.split(".")[2] for name in SHARED_SPECS}  # formulas and questions are asked for everywhere
    quoted = {folder: f"[\"']({'|'.join(names)})[\"']" for folder, names in FOLDERS.items() if folder not in shared}
    named = quoted | NAMES
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.as_posix() == "benchmarks/registry.py" or (
            place.parts[0] == "benchmarks" and place.parts[1] in FOLDERS
        ):
            continue
        text = path.read_text(encoding="utf-8")
        for folder, pattern in named.items():
            if NAMED_BY_OTHERS.get(place.as_posix()) != folder:
                assert not (found := re.search(pattern, text, re.IGNORECASE)), f"{place}: {found and found[0]}"


def test_no_code_asks_for_the_name_or_kind_of_a_benchmark() -> None:
    asking = re.compile(
        r"\b(suite|suite_of|get_suite|about|benchmark)(\([^()]*\))?\.(name|kind) (==|!=|in\b|not in\b)"
        r"|\bmatch .*\b(suite|suite_of|get_suite|about|benchmark)(\([^()]*\))?\.(name|kind):"
        r"|\bsuite(_name)? (==|!=|not in) [\[({]?['\"]"
    )
    for path in sorted(SOURCE.rglob("*.py")):
        if _package(path.relative_to(SOURCE).parts) == "benchmarks folders":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not asking.search(line), f"{path}:{number}: {line.strip()}"


def _exporting() -> list[Path]:
    """The packages that export names."""
    return [path for path in SOURCE.rglob("__init__.py") if "__all__" in path.read_text(encoding="utf-8")]


def test_packages_export_what_they_name() -> None:
    for path in _exporting():
        module = import_module(".".join(("formalimg", *path.parent.relative_to(SOURCE).parts)))
        assert module.__all__ == sorted(module.__all__, key=_export_order)
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "").startswith("formalimg"):
                assert value.__doc__, name


def test_packages_export_few_names_and_none_is_that_of_a_file() -> None:
    """Once a file is loaded, its name in the package is the file, and what was exported under it is gone."""
    total = 0
    for path in _exporting():
        names = import_module(".".join(("formalimg", *path.parent.relative_to(SOURCE).parts))).__all__
        total += len(names)
        assert not {*names} & {file.stem for file in path.parent.iterdir()}, path
    assert total <= 400


ROLES = {
    *("benchmark", "spec", "form", "items", "published", "judge", "scores", "tables", "figures", "export", "census"),
    *("authoring", "rating", "texts", "templates", "checks", "answers", "attempts", "choices"),
    *("published_judge", "image_files", "failures", "drawings", "drawn_world", "questions"),
}
"""Files of benchmark folders: who knows one folder finds the same in the others."""


def test_file_names_are_used_once_or_twice() -> None:
    counts = Counter(
        path.stem
        for path in SOURCE.rglob("*.py")
        if not (path.stem in ROLES and _package(path.relative_to(SOURCE).parts) == "benchmarks folders")
    )
    assert {name for name, count in counts.items() if count > 2} == {"__init__"}


def _package(parts: tuple[str, ...]) -> str:
    """Return the package whose rules hold for a module, given by its parts."""
    if parts[0] == "benchmarks" and len(parts) > 1 and parts[1] in FOLDERS:
        return "benchmarks folders"
    return ".".join(parts[:2]) if ".".join(parts[:2]) in INNER_PACKAGES else parts[0]


def _export_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """What the tests look at in a file, which is parsed once."""
    looked_at = (ast.Import, ast.ImportFrom, ast.ClassDef)
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
