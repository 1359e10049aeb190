"""The built package, installed into an empty environment, does what the checkout does."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    _run(sys.executable, "-m", "venv", str(folder))
    _run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel))
    return folder / "bin"


def test_the_wheel_holds_the_data_files_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "formalimg/logic/vocabularies/knolling.toml" in names
    assert "formalimg/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]


def test_the_installed_command_verifies(environment: Path) -> None:
    example = ROOT / "examples" / "verify"
    arguments = ["formula", "verify", "--formula", str(example / "desk.formula"), "--scene", str(example / "good.json")]
    assert _run(str(environment / "formalimg"), *arguments) == "holds (strict, 6 objects)\n"


def test_the_doctor_finds_the_installed_package_well(environment: Path) -> None:
    findings = json.loads(_run(str(environment / "formalimg"), "doctor", "--json"))
    assert [finding for finding in findings if finding["state"] == "broken"] == []
    assert "12 of 12" in next(finding["detail"] for finding in findings if finding["name"] == "known answers")


def test_the_installed_package_is_light(environment: Path) -> None:
    listed = _run(str(environment / "python"), "-m", "pip", "list", "--format", "freeze").split()
    installed = {line.split("==")[0].lower() for line in listed}
    assert len(installed) < 30, installed
    assert installed.isdisjoint({"torch", "ray", "openai", "google-genai", "anthropic", "diffusers", "z3-solver"})


def test_the_command_that_a_message_prints_adds_the_extra(environment: Path, wheel: Path, tmp_path: Path) -> None:
    """From the wheel, and by the name alone once it is gone; dry runs, so that other tests find the package light."""
    refused = subprocess.run(
        [str(environment / "formalimg"), "view", str(tmp_path)], capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert refused.returncode == 2, refused.stderr
    printed = refused.stderr.strip().partition(": pip install ")[2]
    assert printed == f"'{wheel}[web]'"
    for wanted in (*shlex.split(printed), "formalimg[web]"):
        done = _run(
            str(environment / "python"), "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", wanted
        )
        names = {package["metadata"]["name"].lower() for package in json.loads(done)["install"]}
        assert {"starlette", "uvicorn"} <= names, (wanted, names)


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout
