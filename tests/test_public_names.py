"""What packages export: `dir` lists it, tab completion finds it, and each name can be imported."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import formalimg

SOURCE = Path(formalimg.__file__).parent
README = Path(__file__).parents[1] / "README.md"


def _lazy_packages() -> list[str]:
    """All packages of ours that export lazily."""
    return sorted(
        ".".join(("formalimg", *path.parent.relative_to(SOURCE).parts))
        for path in SOURCE.rglob("__init__.py")
        if "lazy_exports(" in path.read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("package", _lazy_packages())
def test_dir_lists_what_a_package_exports(package: str) -> None:
    module = import_module(package)
    public = {name for name in dir(module) if not name.startswith("_")}
    assert public == {name for name in module.__all__ if not name.startswith("_")}
    for name in public:
        assert getattr(module, name) is not None


def test_dir_is_complete_before_anything_is_loaded() -> None:
    code = "import formalimg, sys; print(*dir(formalimg)); assert 'formalimg.logic' not in sys.modules"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {*formalimg.__all__} <= set(listed)
    assert not {"judges", "runs", "rewards", "import_module", "lazy_exports", "TYPE_CHECKING"} & set(listed)


def test_packages_are_there_without_another_import() -> None:
    code = "import formalimg; formalimg.judges.open_judge; formalimg.runs; print(*dir(formalimg))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"judges", "runs"} & set(listed)


def test_what_the_readme_uses_is_public() -> None:
    text = README.read_text(encoding="utf-8")
    used = set(re.findall(r"\bformalimg\.(\w+)\(", text))
    for block in re.findall(r"from formalimg import [\w, ]+", text):
        used.update(alias.name for node in ast.parse(block).body for alias in node.names)
    assert used
    assert used | {"solve", "reward", "judge"} <= set(dir(formalimg))


public: Any = formalimg
"""As users call it who run no type checker."""

_CUP = "(exists ?x (Is ?x 'cup'))"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: public.verify(formalimg.Scene(()), formalimg.parse(_CUP)),
            "formula and then a scene, not Exists: swap",
        ),
        (lambda: public.verify(_CUP, {"objects": []}), r"not dict: Scene\.from_json\(…\) reads one"),
        (lambda: public.verify(3, formalimg.Scene(())), "a formula cannot be of the type int: give text, or what"),
        (lambda: public.parse(3), "a formula cannot be of the type int: give a str or bytes"),
        (lambda: public.check(3), "a formula cannot be of the type int"),
        (lambda: public.solve(3), "a formula cannot be of the type int"),
        (lambda: public.draw(_CUP), r"\(str\): give a Scene \(solve\(formula\)\.scene is one that"),
        (lambda: public.load(3), r"suite cannot be 3 \(int\): give a str$"),
        (lambda: public.load("geneval"), r"\(`run --items`\), which `formalimg pull geneval --to DIR` brings$"),
        (lambda: public.Condition("rewriten"), "form cannot be 'rewriten': give plain, rewritten, text-layout or"),
    ],
)
def test_what_is_given_in_place_of_something_else_is_said_in_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(formalimg.FormalimgError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_formulas_are_checked_as_on_the_command_line() -> None:
    assert formalimg.check(_CUP) == []
    assert (
        formalimg.check(_CUP.replace("cup", "cupp"))[0].message == "knolling has no class 'cupp': did you mean 'cup'?"
    )
