"""Python functions as image models: `CallableModel`, and `python/module:function` by name."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from formalimg._util.aio import call_function
from formalimg._util.image_input import image_file_bytes, list_images
from formalimg.errors import FormalimgError
from formalimg.models.base import Generated, ImageRequest, ImageResult, Refused
from formalimg.models.options import Options
from formalimg.models.registry import requires
from formalimg.models.secrets import mask_settings
from formalimg.types import ImageModel, Setting

_REQUEST_ARGUMENTS = ("seed", "size")


class CallableModel:
    """A Python function as an image model.

    The function takes a prompt, and also `seed` and `size` if it has parameters of these names. It returns a PIL
    image, an array or tensor, the bytes of a PNG, JPEG or WebP file, the path of one, or a list of one of these; None
    means a refusal. It may be async.
    """

    sees_spec = False

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        settings: Mapping[str, Setting] | None = None,
        batch: int = 1,
        concurrency: int = 1,
    ) -> None:
        """Wrap a function as an image model.

        Args:
            function: generates images. With a batch of more than 1 it takes a list of prompts (and of seeds) and
                returns a list of images.
            name: name in tables.
            settings: other settings that shape its images, to record; keys among them are recorded as `<secret>`.
            batch: number of prompts per call.
            concurrency: maximum number of concurrent calls; one unless the function is thread-safe.
        """
        if not callable(function):
            raise FormalimgError(f"{function!r} is not callable: give a function from a prompt to an image")
        if batch < 1 or concurrency < 1:
            raise FormalimgError("batch and concurrency must be 1 or more")
        self._function = function
        self.name = name or f"python/{getattr(function, '__qualname__', type(function).__name__)}"
        self.settings: Mapping[str, Setting] = mask_settings(settings or {})
        self.batch = batch
        self.concurrency = concurrency
        parameters, takes_any = _read_parameters(function)
        self._request_arguments = [
            name
            for name in _REQUEST_ARGUMENTS
            if takes_any or name in {parameter.name for parameter in parameters or ()}
        ]

    async def generate(self, requests: Sequence[ImageRequest]) -> AsyncIterator[ImageResult]:
        """Yield one result per request; an exception in the function fails the whole batch."""
        if self.batch == 1:
            for request in requests:
                yield _build_result(await self._call(request.prompt, seed=request.seed, size=request.size))
            return
        seeds = [request.seed for request in requests]
        output = await self._call([request.prompt for request in requests], seed=seeds, size=requests[0].size)
        images = list_images(output)
        if len(images) != len(requests):
            raise ValueError(f"{len(requests)} prompts were given, but {len(images)} images came back")
        for image in images:
            yield _build_result(image)

    async def _call(self, prompts: str | list[str], **arguments: object) -> Any:
        arguments = {name: arguments[name] for name in self._request_arguments}
        return await call_function(self._function, prompts, **arguments)


def wrap_function(
    function: Callable[..., Any],
    *,
    name: str = "",
    arguments: Mapping[str, Setting] | None = None,
    settings: Mapping[str, Setting] | None = None,
    batch: int = 1,
    concurrency: int = 1,
) -> ImageModel:
    """Wrap a function or a loaded diffusers pipeline as an image model that passes `arguments` to each call."""
    if _is_of_diffusers(function):
        from formalimg.models.local.diffusers_model import PipelineObject

        return PipelineObject(function, name=name, arguments=arguments, settings=settings, batch=batch)
    arguments = dict(arguments or {})
    name = name or f"python/{getattr(function, '__qualname__', type(function).__name__)}"
    require_parameters(function, arguments, name)
    return CallableModel(
        functools.partial(function, **arguments) if arguments else function,
        name=name,
        settings={**arguments, **(settings or {})},
        batch=batch,
        concurrency=concurrency,
    )


def _is_of_diffusers(function: object) -> bool:
    if isinstance(function, functools.partial):
        return not function.args and _is_of_diffusers(function.func)
    return any(
        base.__name__ == "DiffusionPipeline" and base.__module__.partition(".")[0] == "diffusers"
        for base in type(function).__mro__
    )


def _read_parameters(function: Callable[..., Any]) -> tuple[list[inspect.Parameter] | None, bool]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have no signature
        return None, False
    return parameters, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)


def _build_result(image: Any) -> ImageResult:
    images = list_images(image)
    if len(images) != 1:
        raise ValueError(f"{len(images)} images came back for one prompt: return one")
    return Refused("the function gave back None") if images[0] is None else Generated(image_file_bytes(images[0]))


@requires()
def open_python_function(model: str, options: Mapping[str, str]) -> CallableModel:
    """A Python function of yours: python/package.module:function or python/path/to/file.py:function."""
    source, _, function_name = model.rpartition(":")
    if not source or not function_name:
        raise FormalimgError(f"cannot read python/{model}: write python/module:function or python/file.py:function")
    function = _find_function(_load_module(source), function_name, model)
    parsed = Options(f"python/{model}", options)
    batch = parsed.integer("batch", 1, minimum=1)
    concurrency = parsed.integer("concurrency", 1, minimum=1, maximum=1024)
    arguments = {name: _parse_value(text) for name, text in parsed.with_prefix("").items()}
    require_parameters(function, arguments, f"python/{model}")
    return CallableModel(
        functools.partial(function, **arguments) if arguments else function,
        name=f"python/{model}",
        settings={**arguments, "source": _source_digest(function)},
        batch=batch,
        concurrency=concurrency,
    )


def _load_module(source: str) -> ModuleType:
    """Load the user's module, whose folder is importable as if it had been run as a script."""
    if source.endswith(".py"):
        path = Path(source).expanduser().resolve()
        if not path.is_file():
            raise FormalimgError(f"there is no file {source}: give its path as seen from the current folder")
        _add_to_path(path.parent)
        name = f"formalimg_function_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    _add_to_path(Path.cwd())
    try:
        return importlib.import_module(source)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{source}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports itself is not
        raise FormalimgError(f"there is no module {source}: install it, or give the path of a .py file") from None
    except (TypeError, ValueError):
        raise FormalimgError(f"{source!r} is not the name of a module: write it as package.module") from None


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _find_function(module: ModuleType, name: str, model: str) -> Callable[..., Any]:
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if callable(target):
        return target  # type: ignore[no-any-return]
    raise FormalimgError(f"python/{model} names no function: it has no callable {name}")


def require_parameters(function: Callable[..., Any], arguments: Mapping[str, Setting], model: str) -> None:
    """Raise an error if the function's signature does not accept these arguments."""
    parameters, takes_any = _read_parameters(function)
    if takes_any or parameters is None:
        return
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    names = [parameter.name for parameter in parameters[1:] if parameter.kind not in unnamed]
    names = [name for name in names if name not in _REQUEST_ARGUMENTS]
    for name in arguments:
        if name not in names:
            near = get_close_matches(name, names, 1)
            suggestion = f"did you mean {near[0]}? " if near else ""
            options = ", ".join(["batch", "concurrency", *names])
            raise FormalimgError(f"{model} has no option {name!r}: {suggestion}it has {options}")


def _parse_value(text: str) -> Setting:
    if text in ("true", "false"):
        return text == "true"
    for parse in (int, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text


def _source_digest(function: Callable[..., Any]) -> str | None:
    """Return a digest of the function's source file, because changed code may generate other images."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        return None if path is None else hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except (TypeError, OSError):
        return None
