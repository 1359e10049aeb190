"""`command/…`: a program makes the images; whatever it does, there is an answer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.command import CommandModel, open_command

PYTHON = sys.executable
NASTY = "a 'red' cup; touch owned $(touch owned) `touch owned` {seed} \\ \n--help é"
REQUEST = ImageRequest("0", 0, NASTY, 7, 64)


def _program(path: Path, text: str) -> str:
    path.write_text(text)
    return f"{PYTHON} -S '{path}'"


def _answers(model: CommandModel, requests: Sequence[ImageRequest] = (REQUEST,)) -> list[ImageResult]:
    async def gather() -> list[ImageResult]:
        return [answer async for answer in model.generate(requests)]

    return asyncio.run(gather())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_arguments_are_given_as_they_are_and_never_to_a_shell(tmp_path: Path) -> None:
    program = _program(
        tmp_path / "my paint.py",
        "import sys\nwords, out, seed, size = sys.argv[1:]\n"
        "open(out, 'wb').write('|'.join([words, seed, size]).encode())",
    )
    model = open_command(f"{program} {{prompt}} {{out}} --seed={{seed}} {{size}}", {})
    assert _answers(model) == [Generated(f"{NASTY}|--seed=7|64".encode())]
    assert not (tmp_path / "owned").exists()


def test_the_environment_and_standard_input_say_the_same(tmp_path: Path) -> None:
    program = _program(
        tmp_path / "paint.py",
        "import os, sys\nhere = os.environ\nassert sys.stdin.buffer.read().decode() == here['FORMALIMG_PROMPT']\n"
        "text = '|'.join(here['FORMALIMG_' + name] for name in ('PROMPT', 'SEED', 'SIZE'))\n"
        "open(here['FORMALIMG_OUT'], 'wb').write(text.encode())",
    )
    assert _answers(open_command(program, {})) == [Generated(f"{NASTY}|7|64".encode())]


def test_an_image_may_come_on_standard_output(tmp_path: Path) -> None:
    program = _program(tmp_path / "paint.py", "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 4096)")
    assert _answers(open_command(program, {})) == [Generated(bytes(range(256)) * 4096)]


def test_a_failure_has_the_programs_last_words(tmp_path: Path) -> None:
    program = _program(
        tmp_path / "paint.py",
        "import os, sys\nprint('x' * 200_000, file=sys.stderr)\n"
        "print('out of', os.environ['OPENAI_API_KEY'], file=sys.stderr)\nprint(file=sys.stderr)\nsys.exit(3)",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "planted-command-key")
        assert _answers(open_command(program, {})) == [Failed("the program exited with code 3: out of ***")]
    silent = _program(tmp_path / "silent.py", "import os\nos._exit(1)")
    assert _answers(open_command(silent, {})) == [Failed("the program exited with code 1: it gave no reason")]


def test_no_image_is_a_failure(tmp_path: Path) -> None:
    (answer,) = _answers(open_command(_program(tmp_path / "paint.py", "pass"), {}))
    assert isinstance(answer, Failed)
    assert answer.reason.startswith("the program exited with code 0 but wrote no image")


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc to see who is alive")
@pytest.mark.parametrize("how", ["timeout", "cancelled"])
def test_a_program_is_stopped_with_all_it_has_started(tmp_path: Path, how: str) -> None:
    program = _program(
        tmp_path / "paint.py",
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "open('pids.tmp', 'w').write(f'{os.getpid()} {child.pid}')\nos.rename('pids.tmp', 'pids')\ntime.sleep(60)",
    )
    model = open_command(program, {"timeout": "1.5" if how == "timeout" else "60"})

    async def interrupted() -> list[ImageResult]:
        async def gather() -> list[ImageResult]:
            return [answer async for answer in model.generate([REQUEST])]

        task = asyncio.create_task(gather())
        while how == "cancelled" and not Path("pids").exists():
            await asyncio.sleep(0.02)
        if how == "cancelled":
            task.cancel()
        return await task

    if how == "timeout":
        assert asyncio.run(interrupted()) == [Failed("no image within 1.5 s; the program was stopped")]
    else:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(interrupted())
    processes = [int(word) for word in Path("pids").read_text().split()]
    limit = time.monotonic() + 5
    while any(map(_is_alive, processes)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not any(map(_is_alive, processes))


def test_an_image_to_go_by_needs_a_place(tmp_path: Path) -> None:
    program = _program(
        tmp_path / "paint.py", "import sys\nsys.stdout.buffer.write(open(sys.argv[1], 'rb').read()[::-1])"
    )
    request = ImageRequest("0", 0, "a cup", 1, reference=b"layout")
    taking = open_command(f"{program} {{reference}}", {})
    assert taking.takes_images
    assert _answers(taking, [request]) == [Generated(b"tuoyal")]
    (answer,) = _answers(open_command(program, {}), [request])
    assert isinstance(answer, Failed)
    assert "takes words only" in answer.reason


def test_a_prompt_that_no_argument_can_hold_is_a_failure() -> None:
    model = open_command(f"{PYTHON} {{prompt}}", {})
    (answer,) = _answers(model, [ImageRequest("0", 0, "a\0cup", 1)])
    assert isinstance(answer, Failed)
    assert "cannot be started" in answer.reason


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("./nowhere.sh {prompt}", {}, "there is no program './nowhere.sh'"),
        ("'unclosed", {}, "cannot read the command"),
        (" ", {}, "there is no program ''"),
        (PYTHON, {"steps": "3"}, "has no option 'steps': it has concurrency, timeout"),
        (PYTHON, {"timeout": "0"}, "0.01 or more"),
    ],
)
def test_mistakes_say_what_is_right(model: str, options: dict[str, str], reason: str) -> None:
    with pytest.raises(FormalimgError) as caught:
        open_command(model, options)
    assert reason in str(caught.value)
