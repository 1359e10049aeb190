"""Where local models compute: on one device, or on several at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from formalimg._util.text import truncate
from formalimg.errors import FormalimgError
from formalimg.models.options import Options


def read_device(given: Options) -> str:
    """The device that the option `device` asks for: the accelerator, if there is one, unless it says otherwise.

    Raises:
        FormalimgError: if it is not there.
    """
    return _usable("device", given.text("device", "auto"))


def read_devices(given: Options) -> tuple[str, ...]:
    """The devices that the options ask for, each with a copy of the weights: `device=…` for one, `devices=…` for more.

    Several are written as `0,1` (accelerators by their numbers), `all` (every accelerator) or by their names. One that
    is named twice gets two copies.

    Raises:
        FormalimgError: if one of them is not there, or they are of different kinds.
    """
    several = given.text("devices", None)
    if several is None:
        return (read_device(given),)
    one = given.text("device", None)
    if one is not None:
        raise FormalimgError(f"device={one} and devices={several} cannot both be had: give one of them")
    names = [name.strip() for name in several.split(",")]
    if names == ["all"]:
        return _all_accelerators()
    found = tuple(_usable("devices", _by_number(name, several) if name.isdecimal() else name) for name in names)
    if len({kind_of(device) for device in found}) > 1:
        raise FormalimgError(f"devices={several} are of different kinds, which compute differently: give one kind")
    return found


def kind_of(device: str) -> str:
    """Such as `cuda` or `cpu`, without a number."""
    return device.partition(":")[0]


def quick_dtype(devices: Sequence[str]) -> str:
    """The shortest numbers with which all of the devices are quick."""
    import torch

    if kind_of(devices[0]) != "cuda":
        return "float32"
    for device in devices:
        with torch.cuda.device(device):
            if not torch.cuda.is_bf16_supported(including_emulation=False):
                return "float16"
    return "bfloat16"


def sit_at(device: str) -> None:
    """Let the thread compute on this device wherever a library does not say on which; each thread has its own."""
    import torch

    index = torch.device(device).index
    if index is not None and kind_of(device) != "cpu":
        torch.accelerator.set_device_index(index)


def _accelerator() -> str | None:
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if accelerator is None else str(accelerator.type)


def _all_accelerators() -> tuple[str, ...]:
    import torch

    kind = _accelerator()
    if kind is None:
        return ("cpu",)
    return tuple(f"{kind}:{number}" for number in range(torch.accelerator.device_count()))


def _by_number(number: str, wished: str) -> str:
    kind = _accelerator()
    if kind is None:
        raise FormalimgError(f"devices={wished} cannot be used here, since there is no accelerator: leave it out")
    return f"{kind}:{number}"


def _usable(option: str, wished: str) -> str:
    import torch

    if wished == "auto":
        return _accelerator() or "cpu"
    try:
        torch.empty(1, device=wished)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = truncate(str(error).partition("\n")[0], 150, 0)
        raise FormalimgError(
            f"{option}={wished} cannot be used here ({why}): give auto, cpu, cuda, cuda:1 or mps"
        ) from None
    return wished
