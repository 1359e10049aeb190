"""The folder a command is started in is data: it redirects no key, executes no code, and nothing waits for it.

Each variant plants files, gives a command as its victim would, with keys in the environment, and looks whether code of
the folder ran, whether a server of the folder's choice was called, and whether anything was written elsewhere.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.local.checkpoint import read_checkpoint
from formalimg.models.options import Options
from formalimg.reports.sharing import trackers
from tests.support.command import Result, formalimg

KEY = "0123456789abcdef"
RUN = ("run", "natural", "--model", "folder/photos", "--per-level", "1")
CANARY = "import os, pathlib; pathlib.Path(os.environ['CANARY']).touch()\n"


class Attacker:
    """A server that counts connections, and answers none."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def attacker() -> Iterator[Attacker]:
    server = Attacker()
    yield server
    server.close()


class Variant(NamedTuple):
    """What is planted, which command is given, and what its error must say; without an error, it must succeed.

    Code of the folder could only run in a process that is started in it; all others are run in this one.
    """

    plant: Callable[[str], object]
    error: str = "which no project may decide by itself"
    command: tuple[str, ...] = RUN
    program: Literal["", "formalimg", "python -m formalimg"] = ""


def config(*lines: str) -> Callable[[str], object]:
    return lambda server: Path("formalimg.toml").write_text("\n".join(lines).replace("SERVER", server) + "\n")


def judge(name: str, options: str = "") -> Callable[[str], object]:
    return config("[defaults]", f'judge = "{name}"', *([f"judge_options = {{ {options} }}"] if options else []))


def env_file(text: str) -> Callable[[str], object]:
    return lambda server: Path(".env").write_text(text.replace("SERVER", server))


def modules(*names: str) -> Callable[[str], object]:
    return lambda server: [Path(f"{name}.py").write_text(CANARY) for name in names]


def plant_plugin(server: str) -> None:
    """An installed distribution, as Python sees it, with a provider of models."""
    info = Path("evil-1.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Name: evil\nVersion: 1\nMetadata-Version: 2.1\n")
    (info / "entry_points.txt").write_text("[formalimg.chat_models]\nevil = evil:open\n")
    Path("evil.py").write_text(CANARY)


def plant_runs_link(server: str) -> None:
    Path("runs").symlink_to(Path("../outside"))
    config("[defaults]", 'runs = "runs/new"')(server)


ORACLE = ("run", "knolling", "--model", "builtin/oracle", "--per-level", "1", "--levels", "1", "--size", "256")
SYNTH = ("items", "synth", "knolling", "--levels", "1", "--per-level", "2", "--jobs", "2", "--out", "new")
LISTING = ("formula", "vocabulary", "knolling")
EYE = (*RUN, "--judge", "openai/gpt-5")
NO_JUDGE = "To choose once for all runs: FORMALIMG_JUDGE=NAME in the environment"
STANDARD = ("json", "typer", "logging", "multiprocessing", "sqlite3", "numpy", "PIL", "openai", "tomllib", "typing")

VARIANTS = {
    "judge is an address": Variant(judge("hf/SERVER")),
    "base_url on this machine": Variant(judge("openai/m", 'base_url = "SERVER"')),
    "base_url of one suite": Variant(
        config("[suite.natural]", 'judge = "openai/m"', 'judge_options.base_url = "SERVER"')
    ),
    "base_url under another name": Variant(judge("hf/m", 'endpoint = "SERVER"')),
    "metadata service": Variant(judge("openai/m", 'base_url = "http://169.254.169.254/v1"')),
    "code of a processor": Variant(judge("transformers/./judge", '"processor.trust_remote_code" = true')),
    "code of generate": Variant(judge("transformers/some/model", '"generate.custom_generate" = "./code"')),
    "remote code": Variant(judge("transformers/some/model", "trust_remote_code = true")),
    "weights of a detector": Variant(judge("detector/./weights")),
    "weights of the COCO detector": Variant(judge("detector/coco", 'weights = "w.pb", config = "w.pbtxt"')),
    "another provider": Variant(judge("evil/model")),
    "extra fields": Variant(judge("openai/m", '"extra.webhook" = "SERVER"')),
    "prompts": Variant(judge("openai/m", 'prompts = "prompts"')),
    "a price of nothing": Variant(judge("openai/m", 'price = "0/0"')),
    "who pays": Variant(judge("hf/m", 'bill_to = "you"')),
    "runs above the project": Variant(config("[defaults]", 'runs = "../outside"')),
    "runs through a link": Variant(plant_runs_link),
    "a key in the file": Variant(judge("openai/m", 'api_key = "sk-0123456789abcdefg"'), "holds a key"),
    "the file is a link": Variant(lambda _: Path("formalimg.toml").symlink_to("/etc/passwd"), "it is a symbolic link"),
    "the file is a pipe": Variant(lambda _: os.mkfifo("formalimg.toml"), "it is a named pipe"),
    "addresses in .env": Variant(env_file("OPENAI_BASE_URL=SERVER\n"), ".env sets OPENAI_BASE_URL", EYE),
    "a judge in .env": Variant(env_file("FORMALIMG_JUDGE=hf/SERVER\n"), NO_JUDGE),
    ".env is a pipe": Variant(lambda _: os.mkfifo(".env"), NO_JUDGE),
    ".env never ends": Variant(lambda _: Path(".env").symlink_to("/dev/zero"), NO_JUDGE),
    ".env leads to itself": Variant(lambda _: Path(".env").symlink_to(".env"), NO_JUDGE),
    "modules": Variant(modules(*STANDARD), "", ORACLE, "formalimg"),
    "modules that start with Python": Variant(
        modules("sitecustomize", "usercustomize", "os"), "", LISTING, "formalimg"
    ),
    "modules for python -m": Variant(modules("typer", "sqlite3", "numpy", "PIL"), "", LISTING, "python -m formalimg"),
    "modules for processes that make items": Variant(modules(*STANDARD), "", SYNTH, "formalimg"),
    "a plugin": Variant(plant_plugin, "", ("models",), "formalimg"),
    "a plugin for python -m": Variant(plant_plugin, "", ("models",), "python -m formalimg"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_folder_is_data(name: str, attacker: Attacker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variant = VARIANTS[name]
    for folder in ("clone/.git", "clone/photos", "outside", "home"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    for variable, value in (
        ("HOME", str(tmp_path / "home")),
        ("CANARY", str(tmp_path / "canary")),
        ("HF_TOKEN", f"hf_{KEY}"),
        ("OPENAI_API_KEY", f"sk-{KEY}"),
    ):
        monkeypatch.setenv(variable, value)
    variant.plant(attacker.address)
    connections = attacker.connections
    result = run_program(variant.program, variant.command) if variant.program else formalimg(*variant.command)
    assert not (tmp_path / "canary").exists(), "its code ran"
    assert attacker.connections == connections, "its server was called"
    assert not any((tmp_path / "outside").iterdir()), "it was written elsewhere"
    assert "evil" not in result.out
    assert KEY not in result.out + result.err
    assert (result.code, variant.error in result.err) == (2 if variant.error else 0, True), result.err


def run_program(program: str, arguments: Sequence[str]) -> Result:
    command = shlex.split(program)
    command[0] = sys.executable if command[0] == "python" else str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run([*command, *arguments], capture_output=True, timeout=60, text=True)
    return Result(done.returncode, done.stdout, done.stderr)


def test_weights_named_as_on_the_hub_are_not_taken_from_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The libraries prefer a folder, whose code they run if the user trusts the model of that name."""
    monkeypatch.chdir(tmp_path)
    name = "Qwen/Qwen3-VL-8B-Instruct"
    Path(name).mkdir(parents=True)
    with pytest.raises(FormalimgError, match=rf"{name} is a folder here.*: write \./{name} for the folder"):
        read_checkpoint(name, Options(f"transformers/{name}", {"device": "cpu"}))
    assert read_checkpoint(f"./{name}", Options("transformers/x", {}), "float32", ["cpu"]).folder is not None


def test_trackers_do_not_take_addresses_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_BASE_URL", raising=False)
    trackers._require_no_local_address()
    Path("wandb").mkdir()
    Path("wandb/settings").write_text("[default]\nbase_url = http://127.0.0.1:9\n")
    with pytest.raises(FormalimgError, match="decides where W&B sends your key"):
        trackers._require_no_local_address()
    trackers._require_inside("mlruns", f"{tmp_path}/mlruns/1")
    trackers._require_inside("mlruns", f"file://{tmp_path}/mlruns/1")
    trackers._require_inside("http://tracking.example", "s3://bucket")
    for artifacts in ("http://127.0.0.1:9/x", "/etc", "file:///etc", "mlflow-artifacts:/x", "s3://bucket"):
        with pytest.raises(FormalimgError, match="sends artifacts to"):
            trackers._require_inside("mlruns", artifacts)


def test_workers_of_the_server_import_nothing_from_the_folder(tmp_path: Path) -> None:
    """Spawned processes import multiprocessing before they know the path of their parent."""
    for module in STANDARD:
        (tmp_path / f"{module}.py").write_text(CANARY)
    script = (
        "import asyncio\n"
        "from formalimg.rewards.server.processes import ProcessGrounder\n"
        "if __name__ == '__main__':\n"
        "    grounder = ProcessGrounder('builtin/icons', 1)\n"
        "    asyncio.run(grounder.warm_up())\n"
        "    grounder.close()\n"
    )
    file = tmp_path / "elsewhere" / "script.py"
    file.parent.mkdir()
    file.write_text(script)
    environment = {**os.environ, "CANARY": str(tmp_path / "canary")}
    done = subprocess.run([sys.executable, file], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert not (tmp_path / "canary").exists(), "code of the folder ran"
