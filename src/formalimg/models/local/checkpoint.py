"""Checkpoints of local models: weights in a folder or on the Hugging Face Hub, devices, dtypes and digests."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from formalimg._util.installing import install_line
from formalimg._util.io import refuse_special_files
from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.local.device_pool import exclusive_loading
from formalimg.models.options import Options
from formalimg.models.secrets import find_api_key, redact
from formalimg.types import Setting

INSTALL_LOCAL = install_line("local")  # installs everything that local models need
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_DTYPES |= {name: name for name in _DTYPES.values()}
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_KEY_NAMES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_MAX_WHOLE_FILE = 1 << 20  # files up to this size are hashed as a whole
_SAMPLES, _SAMPLE_BYTES = 64, 4096  # of larger files: samples, evenly spread, the first and the last included
_LOADING_ERRORS = (OSError, ValueError, ImportError, KeyError, AttributeError)
# modules whose errors say that the hub cannot be reached; they are no OSErrors, and of several versions
_NETWORK_MODULES = ("httpx", "httpcore", "huggingface_hub")
CHECKPOINT_OPTIONS = ("device", "dtype", "revision", "offline", "trust_remote_code")  # the options of `read_checkpoint`


@dataclass(frozen=True)
class Checkpoint:
    """Weights, device and dtype of a local model."""

    model: str  # a folder, or an id on the hub
    revision: str | None  # branch, tag or commit on the hub; None for the newest
    device: str  # such as `cuda`, `cuda:1`, `mps`, `cpu`
    dtype: str  # such as `bfloat16`
    offline: bool = False  # use only the hub's cache on this machine
    trusted: bool = False  # whether code that comes with the weights may be run

    @cached_property
    def folder(self) -> Path | None:
        """Folder of the weights, or None for a model id on the Hub."""
        path = Path(self.model).expanduser()
        return path if path.is_dir() else None

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """Settings that affect the results. The device is omitted because results hardly differ between devices."""
        settings: dict[str, Setting] = {"dtype": self.dtype}
        if self.folder is not None:
            settings["weights"] = digest_files(self.folder)
        if self.revision is not None:
            settings["revision"] = self.revision
        if self.trusted:
            settings["trust_remote_code"] = True
        return settings

    def served(self, file: str, *libraries: str) -> dict[str, Setting]:
        """Return the values actually used: commit, device, dtype and library versions."""
        settings: dict[str, Setting] = {"model": self.model, "device": self.device, "dtype": self.dtype}
        cached = None if self.folder is not None else self.find(file)
        for part in cached.parents if cached is not None else ():
            if part.parent.name == "snapshots":
                settings["commit"] = part.name
        return {**settings, **{library: version(library) for library in (*libraries, "torch")}}

    @property
    def source(self) -> str:
        """First argument for `from_pretrained`."""
        return self.model if self.folder is None else str(self.folder)

    def loading(self) -> dict[str, Any]:
        """Return the keyword arguments for `from_pretrained`."""
        common: dict[str, Any] = {"trust_remote_code": True} if self.trusted else {}
        if self.folder is not None:
            return {"local_files_only": True, **common}
        token = find_api_key(_KEY_NAMES)
        return {"revision": self.revision, "local_files_only": self.offline, "token": token, **common}

    def torch_dtype(self) -> Any:
        """Return the dtype as a torch object."""
        import torch

        return getattr(torch, self.dtype)

    def find(self, file: str) -> Path | None:
        """Return the local path of a checkpoint file, or None if it is not on this machine."""
        if self.folder is not None:
            path = self.folder / file
            return path if path.is_file() else None
        from huggingface_hub import try_to_load_from_cache

        cached = try_to_load_from_cache(self.model, file, revision=self.revision)
        return Path(cached) if isinstance(cached, str) else None

    def fetch(self, file: str) -> Path | None:
        """Return the path of a small checkpoint file, downloading it if necessary; None if it is not available."""
        path = self.find(file)
        if path is not None or self.folder is not None or self.offline:
            return path
        from huggingface_hub import hf_hub_download

        try:
            return Path(hf_hub_download(self.model, file, revision=self.revision, token=find_api_key(_KEY_NAMES)))
        except Exception:  # no such model, no access, no network: loading it will say which
            return None

    @contextmanager
    def being_loaded(self, name: str) -> Iterator[None]:
        """Load exclusively within this context, translating errors to user errors such as a missing package.

        Nothing else is loaded or computed meanwhile.
        """
        try:
            with exclusive_loading():
                yield
        except Exception as error:
            if not isinstance(error, _LOADING_ERRORS) and not type(error).__module__.startswith(_NETWORK_MODULES):
                raise
            reason = redact(" ".join(f"{type(error).__name__}: {error}".split()))
        else:
            return
        # Outside of the handler, so that the library's exception, which may quote a key, does not hang on to it.
        raise FormalimgError(f"{name} cannot be loaded: {truncate(reason, 400, 100)}")


def read_checkpoint(
    model: str, options: Options, usual_dtype: str | None = None, devices: Sequence[str] | None = None
) -> Checkpoint:
    """Parse a checkpoint from a model name and its options: device, dtype, revision, offline, trust_remote_code."""
    folder = Path(model).expanduser()
    if model.startswith((".", "/", "~")) and not folder.is_dir():
        raise FormalimgError(f"there is no folder {model}: give the folder of a saved model, or an id on the hub")
    if _HUB_ID.fullmatch(model) and folder.is_dir():
        # The libraries would silently take the folder, which may have come with somebody else's files.
        raise FormalimgError(f"{model} is a folder here, and may be an id on the hub: write ./{model} for the folder")
    if folder.is_dir():
        refuse_special_files(folder)
    devices = devices or (read_device(options),)
    dtype = options.choice("dtype", ("auto", *_DTYPES), "auto")
    return Checkpoint(
        model,
        options.text("revision", None),
        devices[0],
        (usual_dtype or _default_dtype(devices)) if dtype == "auto" else _DTYPES[dtype],
        options.flag("offline", False),
        options.flag("trust_remote_code", False),
    )


def digest_files(path: Path) -> str:
    """Return a short digest of a file or folder, based on names, sizes and sampled bytes.

    Training changes all weights, so samples of a large file identify it as reliably as the whole, but much faster.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if any(part.startswith(".") for part in file.relative_to(path).parts):
            continue  # bookkeeping of download tools and of git, which differs from copy to copy
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()} {size}\n".encode())
        with file.open("rb") as opened:
            if size <= _MAX_WHOLE_FILE:
                digest.update(opened.read())
                continue
            for sample in range(_SAMPLES):
                opened.seek((size - _SAMPLE_BYTES) * sample // (_SAMPLES - 1))
                digest.update(opened.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:16]


def silence_libraries(*libraries: str) -> None:
    """Silence progress bars and hints of libraries, which would interfere with our progress display."""
    for library in libraries:
        logging = import_module(f"{library}.utils.logging")
        logging.disable_progress_bar()
        logging.set_verbosity_error()


def read_device(options: Options) -> str:
    """Return the value of the option `device`, by default the accelerator if there is one."""
    return _check_device("device", options.text("device", "auto"))


def read_devices(options: Options) -> tuple[str, ...]:
    """Parse the option `device`, or `devices` for several devices with one copy of the weights each.

    Several are written as `0,1` (accelerators by their numbers), `all` (every accelerator) or by their names. A device
    that is listed twice gets two copies.
    """
    import torch

    several = options.text("devices", None)
    if several is None:
        return (read_device(options),)
    single = options.text("device", None)
    if single is not None:
        raise FormalimgError(f"device={single} and devices={several} cannot both be had: give one of them")
    names, kind = [name.strip() for name in several.split(",")], _find_accelerator()
    if names == ["all"]:
        return tuple(f"{kind}:{number}" for number in range(torch.accelerator.device_count())) if kind else ("cpu",)
    if kind is None and any(name.isdecimal() for name in names):
        raise FormalimgError(f"devices={several} cannot be used here, since there is no accelerator: leave it out")
    devices = tuple(_check_device("devices", f"{kind}:{name}" if name.isdecimal() else name) for name in names)
    if len({device_type(device) for device in devices}) > 1:
        raise FormalimgError(f"devices={several} are of different kinds, which compute differently: give one kind")
    return devices


def device_type(device: str) -> str:
    """Return the type of a device, such as `cuda` or `cpu`, without its index."""
    return device.partition(":")[0]


def _default_dtype(devices: Sequence[str]) -> str:
    """Return the smallest dtype that is fast on all of the devices."""
    import torch

    if device_type(devices[0]) != "cuda":
        return "float32"
    for device in devices:
        with torch.cuda.device(device):
            if not torch.cuda.is_bf16_supported(including_emulation=False):
                return "float16"
    return "bfloat16"


def _find_accelerator() -> str | None:
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if accelerator is None else str(accelerator.type)


def _check_device(option: str, device: str) -> str:
    import torch

    if device == "auto":
        return _find_accelerator() or "cpu"
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = truncate(str(error).partition("\n")[0], 150, 0)
        raise FormalimgError(
            f"{option}={device} cannot be used here ({reason}): give auto, cpu, cuda, cuda:1 or mps"
        ) from None
    return device
