"""Any Python function from words to an image, as an image model."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import importlib.util
import inspect
import io
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from formalimg.errors import FormalimgError
from formalimg.models.base import Setting
from formalimg.models.image import Answer, Generated, ImageRequest, Refused
from formalimg.models.options import Options
from formalimg.models.registry import needs


class CallableModel:
    """A function that makes images.

    The function takes a prompt, and also `seed` and `size` if it has parameters of these names. It gives back a PIL
    image, the bytes of a PNG, JPEG or WebP file, or the path of one; None means that it declines. It may be async.
    """

    sees_spec = False
    style = "none"
    """A function gets the words of the item as they are, unless it is asked for otherwise."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        settings: Mapping[str, Setting] | None = None,
        batch: int = 1,
        concurrency: int = 1,
    ) -> None:
        """A model around a function.

        Args:
            function: what makes images. With a batch of more than 1 it takes a list of prompts (and of seeds) and
                gives back a list of images.
            name: what to call it in tables.
            settings: what else shapes its images and should be on record.
            batch: how many prompts it takes at once.
            concurrency: how many calls may run at the same time; one unless the function is safe for threads.
        """
        if not callable(function):
            raise FormalimgError(f"{function!r} makes no images: give a function from a prompt to an image")
        if batch < 1 or concurrency < 1:
            raise FormalimgError("batch and concurrency must be 1 or more")
        self._function = function
        self.name = name or f"python/{getattr(function, '__qualname__', type(function).__name__)}"
        self.settings: Mapping[str, Setting] = dict(settings or {})
        self.batch = batch
        self.concurrency = concurrency
        self._takes = _parameters(function)

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[Answer]:
        """One answer for each request; whatever the function raises fails the whole batch."""
        if self.batch == 1:
            for request in requests:
                yield _answer(await self._called(request.prompt, seed=request.seed, size=request.size))
            return
        seeds = [request.seed for request in requests]
        made = await self._called([request.prompt for request in requests], seed=seeds, size=requests[0].size)
        images = list(made)
        if len(images) != len(requests):
            raise ValueError(f"{len(requests)} prompts were given, but {len(images)} images came back")
        for image in images:
            yield _answer(image)

    async def _called(self, prompts: str | list[str], **wishes: object) -> Any:
        taken = {name: value for name, value in wishes.items() if name in self._takes}
        if inspect.iscoroutinefunction(self._function):
            return await self._function(prompts, **taken)
        made = await asyncio.to_thread(self._function, prompts, **taken)
        # Objects and partial functions do not always tell beforehand that they are async.
        return await made if inspect.isawaitable(made) else made


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C do not tell
        return frozenset()
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return frozenset({"seed", "size"})
    return frozenset(parameters)


def _answer(image: Any) -> Answer:
    if image is None:
        return Refused("the function gave back None")
    if isinstance(image, bytes | bytearray | memoryview):
        return Generated(bytes(image))
    if isinstance(image, str | os.PathLike):
        return Generated(Path(image).read_bytes())
    if callable(getattr(image, "save", None)):
        file = io.BytesIO()
        image.save(file, format="PNG", compress_level=1)
        return Generated(file.getvalue())
    raise TypeError(f"an image must be a PIL image, bytes or a path, not {type(image).__name__}")


_GIVEN_BY_US = ("seed", "size")


@needs()
def open_python_function(model: str, options: Mapping[str, str]) -> CallableModel:
    """A Python function of yours: python/package.module:function or python/path/to/file.py:function.

    Args:
        model: module and function, or the path of a file and a function in it.
        options: `batch` and `concurrency`, as in `CallableModel`; all others are given to the function, which must have
            parameters of these names.

    Raises:
        FormalimgError: if there is no such module, file, function or parameter.
    """
    where, _, function_name = model.rpartition(":")
    if not where or not function_name:
        raise FormalimgError(f"cannot read python/{model}: write python/module:function or python/file.py:function")
    function = _function(_module(where), function_name, model)
    given = Options(f"python/{model}", options)
    batch = given.whole_number("batch", 1, least=1)
    concurrency = given.whole_number("concurrency", 1, least=1, most=1024)
    wishes = {name: _plain(text) for name, text in given.starting_with("").items()}
    _require_parameters(function, wishes, model)
    return CallableModel(
        functools.partial(function, **wishes) if wishes else function,
        name=f"python/{model}",
        settings={**wishes, "source": _source(function)},
        batch=batch,
        concurrency=concurrency,
    )


def _module(where: str) -> ModuleType:
    """The user's module. It may import its neighbours, as if it had been started itself."""
    if where.endswith(".py"):
        path = Path(where).expanduser().resolve()
        if not path.is_file():
            raise FormalimgError(f"there is no file {where}: give its path as seen from the current folder")
        _import_from(path.parent)
        name = f"formalimg_function_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    _import_from(Path.cwd())
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports itself is not
        raise FormalimgError(f"there is no module {where}: install it, or give the path of a .py file") from None
    except (TypeError, ValueError):
        raise FormalimgError(f"{where!r} is no name of a module: write it as package.module") from None


def _import_from(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _function(module: ModuleType, name: str, model: str) -> Callable[..., Any]:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise FormalimgError(f"python/{model} names no function: there is no {name} in it that can be called")
    function: Callable[..., Any] = found
    return function


def _require_parameters(function: Callable[..., Any], wishes: Mapping[str, Setting], model: str) -> None:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C do not tell
        return
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    named = [
        name
        for name, parameter in list(parameters.items())[1:]
        if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        and name not in _GIVEN_BY_US
    ]
    for name in wishes:
        if name not in named:
            has = ", ".join(["batch", "concurrency", *named])
            raise FormalimgError(f"python/{model} has no option {name!r}: it has {has}")


def _plain(text: str) -> Setting:
    """What a text on the command line stands for: a number or a truth value if it looks like one."""
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _source(function: Callable[..., Any]) -> str | None:
    """A digest of the file the function stands in: another version of it makes other images."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except (TypeError, OSError):
        return None
