"""Keys in commands, options and addresses are stored as `<secret>`; ordinary settings as they are."""

from __future__ import annotations

import logging
import secrets
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from formalimg._util.images import metadata_texts
from formalimg.cli.commands import configure_logging
from formalimg.errors import FormalimgError
from formalimg.models import registry as registry_module
from formalimg.models.options import Options
from formalimg.models.python_function import CallableModel
from formalimg.models.registry import open_chat_model, open_image_model
from formalimg.models.secrets import mask_command, mask_secrets, mask_settings, redact
from formalimg.runs.config import images_url
from formalimg.runs.database import missing_image_row
from formalimg.runs.inspection import inspect
from formalimg.types import Setting, Unscored
from tests.support.command import Result, formalimg
from tests.support.remote_models import PLANTED, stand_alone

RANDOM = "q7Xw2LkZ9vTb4NpR8sYc3HdJ"
ISSUED = "sk-abcdefgh12345678"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_alone(monkeypatch, tmp_path)
    monkeypatch.setenv("PAINTER_TOKEN", "plain words of mine")
    monkeypatch.setenv("AZURE_KEY_2", "0123456789abcdef0123456789abcdef")


ARGUMENTS = {
    "--api-key tiny-key9 --steps 4": "--api-key <secret> --steps 4",
    "--api-key=tiny-key9 --steps 4": "--api-key=<secret> --steps 4",
    "API_KEY=tiny-key9 {prompt}": "API_KEY=<secret> {prompt}",
    "--password correcthorse": "--password <secret>",
    "--apiKey tiny-key9": "--apiKey <secret>",
    "sk-proj-abcdefgh12345678 {out}": "<secret> {out}",
    f"--jwt {JWT}": "--jwt <secret>",
    "-H 'Authorization: Bearer abcdefgh-1'": "-H 'Authorization: Bearer <secret>'",
    "-H 'X-Api-Key: abcdefgh-1'": "-H 'X-Api-Key: <secret>'",
    "--url https://me:Zpassword9@host/v1?size=2": "--url 'https://<secret>@host/v1?size=2'",
    "--url 'https://host/v1?key=Zpassword9&size=2'": "--url 'https://host/v1?key=<secret>&size=2'",
    "--url 'https://host/v1#token=Zpassword9'": "--url 'https://host/v1#token=<secret>'",
    "'plain words of mine' x": "<secret> x",
    "--use 0123456789abcdef0123456789abcdef": "--use <secret>",
    """--body '{"token": "abcdefgh-1", "n": 1}'""": """--body '{"token": "<secret>", "n": 1}'""",
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_keys_in_commands_are_not_in_their_names(arguments: str) -> None:
    model = open_image_model(f"command/{sys.executable} {arguments}")
    assert model.name == f"command/{sys.executable} {ARGUMENTS[arguments]}"
    assert mask_secrets(model.name) == model.name


ORDINARY: Mapping[str, Setting] = {
    "steps": 30,
    "temperature": 0.5,
    "seeded": True,
    "nothing": None,
    "model": "Qwen/Qwen3-VL-235B-A22B-Instruct-FP8",
    "gguf": "unsloth/Qwen2.5-VL-7B-Instruct-GGUF/Qwen2.5-VL-7B-Instruct-UD-Q4_K_XL.gguf",
    "digest": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "deployment": "123e4567-e89b-12d3-a456-426614174000",
    "file": "/nix/store/3n58xw4373jp0ljirf06d8077j15pc4j-glibc-2.37/lib/x.safetensors",
    "base_url": "https://abcDEF123ghi.us-east-1.aws.endpoints.huggingface.cloud/v1",
    "azure": "https://my-resource.openai.azure.com/openai/deployments/gpt-image-1/?api-version=2025-04-01-preview",
    "bucket": "https://user@host.example/v1",
    "extra.prompt_cache_key": "formalimg-knolling-1",
    "extra.eos_token": "<|end_of_text|>",
    "extra.max_tokens": "16384000",
    "extra.tokenizer": "Qwen/Qwen3-8B-Base",
    "extra.key": "short",
    "extra.backend": "hf_transformers, sk-learn-pipeline-default",
    "extra.key_frames": "12345678",
    "api_key": "$OPENAI_API_KEY",
    "token": "/run/secrets/token-of-mine",
    "system": "Answer with one word. The key: whatever is red; the token: nothing. Score = 10 of 10.",
    "negative_prompt": "blurry, lowres, jpeg artifacts, (worst quality:1.4), masterpiece***, 8k, sk-ip, ask-me",
    "lora": "add-detail-xl:0.8,pixel-art-xl:1.2",
    "json": '{"type": "enabled", "budget_tokens": 10240, "sampler": "dpmpp_2m_sde_gpu", "ids": [1, 2, 3]}',
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_settings_are_stored_as_they_are(name: str) -> None:
    assert mask_settings({name: ORDINARY[name]}) == {name: ORDINARY[name]}


@pytest.mark.parametrize(
    "command", ["./paint.sh {prompt} {out} --token {seed}", "python3  -u 'my paint.py' \"{prompt}\""]
)
def test_commands_without_keys_are_stored_as_they_are(command: str) -> None:
    assert mask_command(command, command.split()) == command


@pytest.mark.parametrize(
    ("option", "value", "stored"),
    [
        ("extra.headers", '{"Authorization": "Bearer abcdefgh-1"}', '{"Authorization": "Bearer <secret>"}'),
        ("extra.x-auth-token", "abcdefgh-1", "<secret>"),
        ("extra.user", "hf_abcdefghijklmnop7", "<secret>"),
        ("extra.user", "plain words of mine", "<secret>"),
        ("base_url", "http://localhost:8000/0123456789abcdef0123456789abcdef/v1", "http://localhost:8000/<secret>/v1"),
    ],
)
def test_keys_in_options_are_not_in_the_settings(option: str, value: str, stored: str) -> None:
    chat = open_chat_model("openai/gpt-4o", {option: value})
    image = open_image_model("openai/gpt-image-1", {option: value})
    assert chat.settings[option] == image.settings[option] == stored
    assert open_chat_model("anthropic/claude-sonnet-5", {option: value}).settings[option] == stored
    assert redact(f"no {value}!") != f"no {value}!"


def test_a_key_in_the_fragment_of_an_address_is_refused() -> None:
    with pytest.raises(FormalimgError, match="nor a fragment") as caught:
        Options("x/y", {"base_url": "https://host/v1#token=Zpassword9"}).url("base_url", None)
    assert "Zpassword9" not in str(caught.value)
    assert redact("it is Zpassword9") == "it is ***"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sk-abcdefgh12345678", {}),
        ("opnai/sk-abcdefgh12345678", {}),
        ("command/'sk-abcdefgh12345678", {}),
        ("command/sk-abcdefgh12345678", {}),
        ("openai/gpt-image-1", {"timeout": ISSUED}),
        (f"command/{sys.executable} {ISSUED}", {"steps": "3"}),
    ],
)
def test_no_error_shows_a_key(name: str, options: dict[str, str]) -> None:
    with pytest.raises(FormalimgError) as caught:
        open_image_model(name, options)
    assert not [key for key in ("abcdefgh12345678",) if key in str(caught.value)]


def test_a_key_in_the_address_of_images_is_refused(tmp_path: Path) -> None:
    assert images_url("s3://bucket/place", tmp_path / "run") == "s3://bucket/place/run"
    with pytest.raises(FormalimgError, match="the address of images holds a key") as caught:
        images_url(f"s3://bucket/{ISSUED}", tmp_path / "run")
    assert ISSUED not in str(caught.value)


def test_a_provider_that_would_store_a_key_is_refused() -> None:
    class Leaking(CallableModel):
        pass

    model = Leaking(lambda prompt: b"", name="acme/painter")
    model.settings = {"auth": PLANTED}
    with pytest.raises(
        FormalimgError, match=r"^acme/painter holds a key in its setting auth, .*: give the key in"
    ) as caught:
        registry_module._open_without_keys(lambda name, options: model, "acme/painter", "painter", {})
    assert PLANTED not in str(caught.value)


PAINT = """
import base64, os, sys
from PIL import Image, PngImagePlugin
key = sys.argv[sys.argv.index("--api-key") + 1]
print("painting with", key, file=sys.stderr)
if int(os.environ["FORMALIMG_SEED"]) % 3:
    sys.exit("no more for " + base64.b64encode(key.encode()).decode())
info = PngImagePlugin.PngInfo()
info.add_text("workflow", "made with " + key, zip=True)
image = Image.new("RGB", (64, 64), "white")
image.putpixel((1, 1), (200, 0, 0))
image.save(sys.argv[1], pnginfo=info)
"""


def _run(folder: Path, key: str, *more: str) -> Result:
    model = f"command/{sys.executable} {folder / 'paint.py'} {{out}} --api-key {key}"
    arguments = [
        "run",
        "knolling",
        "--model",
        model,
        "--per-level",
        "1",
        "--levels",
        "1-6",
        "--size",
        "64",
        "-v",
        *more,
    ]
    arguments += ["-j", "builtin/icons"]
    return formalimg(*arguments, cwd=folder)


def test_a_run_leaves_no_trace_of_a_key_and_is_resumed_with_another(tmp_path: Path) -> None:
    (tmp_path / "paint.py").write_text(PAINT)
    keys = ["sk-" + secrets.token_hex(16), RANDOM]
    first, second = (_run(tmp_path, key) for key in keys)
    assert first.code in (0, 1), first.err
    assert second.code in (0, 1), second.err
    (run,) = (tmp_path / "runs").iterdir()
    with sqlite3.connect(run / "results.sqlite") as database:
        statuses = [status for (status,) in database.execute("SELECT status FROM pictures")]
        attempts = database.execute("SELECT attempts FROM pictures WHERE status = 'made'").fetchall()
    assert set(statuses) == {"made", "failed"}
    assert set(attempts) == {(1,)}
    report = formalimg("report", str(run), "--out", str(tmp_path / "report.html"), cwd=tmp_path)
    assert report.code == 0, report.err
    everything = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "paint.py"] + [
        text.encode() for text in (first.out, first.err, second.out, second.err, report.out, report.err)
    ]
    assert b"<secret>" in b"".join(everything)
    images = [path for path in (run / "images").iterdir() if path.suffix == ".png"]
    assert images
    everything += [text for image in images for text in metadata_texts(image.read_bytes()) if text]
    names = " ".join(str(path) for path in tmp_path.rglob("*"))
    for key in keys:
        assert key not in names
        assert not [True for content in everything if key.encode() in content]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "knolling", "--model", "command/./paint.sh", "sk-abcdefgh12345678"],
        ["run", "knolling", "--model", "sk-abcdefgh12345678"],
        ["run", "knolling", "--model", "openai/gpt-image-1", "-M", "sk-abcdefgh12345678"],
        ["run", "knolling", "--samples", "sk-abcdefgh12345678"],
    ],
)
def test_no_message_of_the_command_line_shows_a_key(arguments: list[str], tmp_path: Path) -> None:
    done = formalimg(*arguments, cwd=tmp_path)
    assert done.code == 2
    assert done.err.strip()
    assert "abcdefgh12345678" not in done.out + done.err


def test_logs_show_no_key(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("formalimg")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logger.level)
    configure_logging(2)
    try:
        raise ValueError(f"no {PLANTED}")
    except ValueError:
        logger.warning("failed with %s", PLANTED, exc_info=True)
    shown = capsys.readouterr().err
    assert "failed with ***" in shown
    assert PLANTED not in shown


def test_what_comes_in_place_of_an_image_is_stored_without_keys() -> None:
    seen = inspect(PLANTED.encode())
    assert isinstance(seen, Unscored)
    assert PLANTED not in missing_image_row(seen).detail
