"""`command/…`: an external program as an image model."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, Generated, ImageRequest, ImageResult
from formalimg.models.options import Options
from formalimg.models.registry import requires
from formalimg.models.secrets import mask_command, mask_secrets, redact
from formalimg.types import Setting

_PLACEHOLDER = re.compile(r"\{(prompt|out|seed|size|reference)\}")
_MAX_BYTES = 256 * 1024 * 1024
_MAX_STDERR = 64 * 1024  # number of bytes that are read from the end of standard error


class CommandModel:
    """A program as an image model, started once per image and never through a shell.

    The prompt replaces `{prompt}` in the arguments, and is in the environment as `FORMALIMG_PROMPT` and on standard
    input. So are `{seed}`, `{size}` (in pixels), `{out}` (the file to write) and `{reference}` (a reference image),
    except on standard input. The program writes the file, or the image to standard output. An exit code other than 0 is
    a failure, with the last line of standard error as the reason.
    """

    batch = 1
    sees_spec = False

    def __init__(self, command: str, *, timeout: float = 600.0, concurrency: int = 1) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise FormalimgError(f"cannot read the command {mask_secrets(command)!r}: {error}") from None
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            raise FormalimgError(
                f"there is no program {(self._arguments or [''])[0]!r}: give one on the PATH, or its path, as in "
                "command/./paint.sh {prompt} {out}"
            )
        self.name = f"command/{mask_command(command, self._arguments)}"
        self.settings: Mapping[str, Setting] = {}
        self.concurrency = concurrency
        self.takes_images = any("{reference}" in argument for argument in self._arguments)
        self._timeout = timeout

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request, in order."""
        for request in requests:
            if request.reference is not None and not self.takes_images:
                words = "takes words only: an image to go by needs {reference} among its arguments"
                yield Failed(f"{self.name} {words}")
                continue
            with tempfile.TemporaryDirectory(prefix="formalimg-", ignore_cleanup_errors=True) as folder:
                result = await self._run(request, Path(folder))
            yield result

    async def _run(self, request: ImageRequest, folder: Path) -> ImageResult:
        stdout_file, stderr_file, prompt_file = folder / "stdout", folder / "stderr", folder / "prompt.txt"
        prompt_file.write_text(request.prompt, encoding="utf-8")
        values = _placeholder_values(request, folder)
        # Files instead of pipes: a program may write as much as it likes without anyone having to read.
        with prompt_file.open("rb") as stdin, stdout_file.open("wb") as stdout, stderr_file.open("wb") as stderr:
            try:
                process = await asyncio.create_subprocess_exec(
                    *[_PLACEHOLDER.sub(lambda match: values[match[1]], argument) for argument in self._arguments],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env={**os.environ, **{f"FORMALIMG_{name.upper()}": value for name, value in values.items()}},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:  # not executable, or a prompt that no argument can hold
                return Failed(redact(f"the program cannot be started: {error}"))
            try:
                code = await asyncio.wait_for(process.wait(), self._timeout)
            except TimeoutError:
                return Failed(f"no image within {self._timeout:g} s; the program was stopped")
            finally:
                if process.returncode is None:
                    await _kill_process(process)
        if code != 0:
            return Failed(f"the program exited with code {code}: {_last_line(stderr_file) or 'it gave no reason'}")
        for path in (Path(values["out"]), stdout_file):
            if path.is_file() and (size := path.stat().st_size):
                return Failed(f"the image has {size:,} bytes") if size > _MAX_BYTES else Generated(path.read_bytes())
        return Failed(
            "the program exited with code 0 but wrote no image: it must write the file {out}, or to standard output"
        )


@requires()
def open_command(model: str, options: Mapping[str, str]) -> CommandModel:
    """A program of yours: command/./paint.sh {prompt} {out} {seed} {size}."""
    parsed = Options(mask_secrets(f"command/{model}"), options)
    timeout = parsed.number("timeout", 600.0, minimum=0.01)
    concurrency = parsed.integer("concurrency", 1, minimum=1, maximum=1024)
    parsed.reject_unknown()
    return CommandModel(model, timeout=timeout, concurrency=concurrency)


def _placeholder_values(request: ImageRequest, folder: Path) -> dict[str, str]:
    values = {
        "prompt": request.prompt,
        "seed": str(request.seed),
        "size": str(request.size),
        "out": str(folder / "picture.png"),
        "reference": "",
    }
    if request.reference is not None:
        values["reference"] = str(folder / "reference.png")
        Path(values["reference"]).write_bytes(request.reference)
    return values


async def _kill_process(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
        else:
            process.kill()
    await process.wait()


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MAX_STDERR))
        lines = file.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return truncate(redact(last), 300, 50)
