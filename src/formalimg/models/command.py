"""`command/…`: a program that is given a prompt and leaves an image."""

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
from formalimg.models.base import Setting
from formalimg.models.image import Answer, Failed, Generated, ImageRequest
from formalimg.models.options import Options
from formalimg.models.registry import needs
from formalimg.models.secrets import redacted

_PLACEHOLDER = re.compile(r"\{(prompt|out|seed|size|reference)\}")
_LARGEST = 256 * 1024 * 1024
_TOLD_AT_MOST = 64 * 1024
"""So many bytes are read from the end of what a program says on standard error."""


class CommandModel:
    """A program that makes images, started anew for each of them and never through a shell.

    The prompt is where the arguments say `{prompt}`, in the environment as `FORMALIMG_PROMPT`, and on standard input.
    Likewise, but for the last, `{seed}`, `{size}` (in pixels), `{out}` (the file to write) and `{reference}` (an image
    to go by). The program writes the file, or the image on standard output. If it ends with another code than 0, it
    has failed, with its last words as the reason.

    Attributes:
        name: `command/` and the command as the user wrote it.
        takes_images: is there a `{reference}` among the arguments?
        settings, batch, concurrency, sees_spec: as for every image model.
    """

    batch = 1
    sees_spec = False

    def __init__(self, command: str, *, timeout: float = 600.0, concurrency: int = 1) -> None:
        """A model around a program.

        Args:
            command: the program and its arguments, quoted as for a shell.
            timeout: seconds until it is stopped, with everything it has started.
            concurrency: how many may run at the same time.

        Raises:
            FormalimgError: if there is no such program.
        """
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise FormalimgError(f"cannot read the command {command!r}: {error}") from None
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            raise FormalimgError(
                f"there is no program {(self._arguments or [''])[0]!r}: give one on the PATH, or its path, as in "
                "command/./paint.sh {prompt} {out}"
            )
        self.name = f"command/{command}"
        self.settings: Mapping[str, Setting] = {}
        self.concurrency = concurrency
        self.takes_images = any("{reference}" in argument for argument in self._arguments)
        self._timeout = timeout

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request, in their order."""
        for request in requests:
            yield await self._answer(request)

    async def _answer(self, request: ImageRequest) -> Answer:
        if request.reference is not None and not self.takes_images:
            return Failed(f"{self.name} takes words only: an image to go by needs {{reference}} among its arguments")
        with tempfile.TemporaryDirectory(prefix="formalimg-", ignore_cleanup_errors=True) as folder:
            return await self._run(request, Path(folder))

    async def _run(self, request: ImageRequest, folder: Path) -> Answer:
        said, wrong, words = folder / "stdout", folder / "stderr", folder / "prompt.txt"
        words.write_text(request.prompt, encoding="utf-8")
        told = _told(request, folder)
        # Files instead of pipes: a program may say as much as it likes without anyone having to listen.
        with words.open("rb") as stdin, said.open("wb") as stdout, wrong.open("wb") as stderr:
            try:
                process = await asyncio.create_subprocess_exec(
                    *[_PLACEHOLDER.sub(lambda match: told[match[1]], argument) for argument in self._arguments],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env={**os.environ, **{f"FORMALIMG_{name.upper()}": value for name, value in told.items()}},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:  # not executable, or a prompt that no argument can hold
                return Failed(f"the program cannot be started: {error}")
            try:
                code = await asyncio.wait_for(process.wait(), self._timeout)
            except TimeoutError:
                return Failed(f"no image within {self._timeout:g} s; the program was stopped")
            finally:
                if process.returncode is None:
                    await _stop(process)
        if code != 0:
            return Failed(f"the program ended with code {code}: {_last_line(wrong) or 'it gave no reason'}")
        return _image(Path(told["out"]), said) or Failed(
            "the program ended well but left no image: it must write the file {out}, or to standard output"
        )


@needs()
def open_command(model: str, options: Mapping[str, str]) -> CommandModel:
    """A program of yours: command/./paint.sh {prompt} {out} {seed} {size}.

    Args:
        model: the program and its arguments, quoted as for a shell; placeholders are filled in for each image.
        options: `timeout` in seconds, and `concurrency`.

    Raises:
        FormalimgError: if there is no such program or option.
    """
    given = Options(f"command/{model}", options)
    timeout = given.number("timeout", 600.0, least=0.01)
    concurrency = given.whole_number("concurrency", 1, least=1, most=1024)
    given.done()
    return CommandModel(model, timeout=timeout, concurrency=concurrency)


def _told(request: ImageRequest, folder: Path) -> dict[str, str]:
    told = {
        "prompt": request.prompt,
        "seed": str(request.seed),
        "size": str(request.size),
        "out": str(folder / "picture.png"),
        "reference": "",
    }
    if request.reference is not None:
        told["reference"] = str(folder / "reference.png")
        Path(told["reference"]).write_bytes(request.reference)
    return told


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Stop a program with everything it has started."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # it leads a group of its own
        else:
            process.kill()
    await process.wait()


def _image(written: Path, said: Path) -> Answer | None:
    for path in (written, said):
        if path.is_file() and (size := path.stat().st_size):
            return Failed(f"the image has {size:,} bytes") if size > _LARGEST else Generated(path.read_bytes())
    return None


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TOLD_AT_MOST))
        lines = file.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return truncate(redacted(last), 300, 50)
