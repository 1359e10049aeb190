"""What calls cost: the list that ships, the user's own, and what nobody knows."""

from __future__ import annotations

import os
import re
import tomllib
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Usage
from formalimg.models.pricing import FREE, Price, get_price, is_private_address, parse_prices, price_of, read_price
from formalimg.models.registry import open_chat_model, open_image_model


@pytest.fixture(autouse=True)
def _no_list_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORMALIMG_PRICES", raising=False)


def test_an_image_is_paid_by_its_tokens_or_by_the_piece() -> None:
    banana = get_price("gemini/gemini-2.5-flash-image")
    assert banana.cost(Usage(0, 1290, 1)) == pytest.approx(0.0387)
    assert banana.cost(Usage(images=2)) == pytest.approx(0.078)


def test_dated_versions_cost_the_same() -> None:
    assert get_price("openai/gpt-4o-2024-08-06") == get_price("openai/gpt-4o")
    assert get_price("anthropic/claude-sonnet-4-5-20250929") == get_price("anthropic/claude-sonnet-4-5")


def test_a_name_that_only_begins_alike_is_another_model() -> None:
    assert get_price("openai/gpt-4o-mini") != get_price("openai/gpt-4o")
    assert get_price("openai/gpt-4o-2024-05-13") != get_price("openai/gpt-4o")
    for name in ("openai/gpt-4o-realtime", "openai/gpt-4", "openai/Qwen/Qwen3-VL-8B-Instruct", "gemini/gpt-4o"):
        assert get_price(name) == Price()


def test_what_nobody_knows_has_no_price() -> None:
    assert get_price("openai/unheard-of").cost(Usage(1_000, 200, 1)) is None
    assert get_price("openai/gpt-image-1").cost(Usage(images=1)) is None  # paid by tokens, and none were told
    assert get_price("openai/gpt-4o").cost(Usage()) is None


def test_the_users_list_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = '[prices]\n"openai/*" = {image = 1}\n"openai/Qwen/*" = {input = 0, output = 0}\n'
    Path("prices.toml").write_text(listed)
    monkeypatch.setenv("FORMALIMG_PRICES", "prices.toml")
    assert get_price("openai/gpt-4o") == Price(image=1.0)
    assert get_price("openai/Qwen/Qwen3") == Price(0.0, 0.0)
    assert get_price("gemini/gemini-2.5-pro") == Price(1.25, 10.0)
    (tmp_path / "mine.toml").write_text('[prices]\n"openai/gpt-4o" = {input = 7, output = 7}\n')
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "mine.toml"))
    assert get_price("openai/gpt-4o") == Price(7.0, 7.0)


@pytest.mark.parametrize("price", ["input = 0, output = 0", "input = 100, output = 0.1", "image = 100"])
def test_a_list_that_nobody_named_makes_nothing_cheaper(price: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("prices.toml").write_text(f'[prices]\n"openai/gpt-4o" = {{{price}}}\n')
    with pytest.raises(FormalimgError, match=r"prices\.toml in this folder makes openai/gpt-4o free, or cheaper"):
        get_price("openai/gpt-4o")
    monkeypatch.setenv("FORMALIMG_PRICES", "prices.toml")
    assert get_price("openai/gpt-4o") != Price()


def test_a_list_that_nobody_named_makes_nothing_free_and_may_cost_more() -> None:
    Path("prices.toml").write_text(
        '[prices]\n"openai/new" = {image = 0}\n"openai/gpt-4o" = {input = 99, output = 99}\n'
    )
    with pytest.raises(FormalimgError, match=r"set FORMALIMG_PRICES=prices\.toml"):
        get_price("openai/new")
    assert get_price("openai/gpt-4o") == Price(99.0, 99.0)


def test_a_list_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_PRICES", "nowhere.toml")
    with pytest.raises(FormalimgError, match=r"FORMALIMG_PRICES names nowhere\.toml, which does not exist"):
        get_price("openai/gpt-4o")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[prices", "is not valid TOML"),
        ("[other]", "needs a table"),
        ("prices = 3", "needs a table"),
        ('[prices]\n"a/b" = 3', "the price of 'a/b' in list cannot be read"),
        ('[prices]\n"a/b" = {}', "cannot be read"),
        ('[prices]\n"a/b" = {inptu = 3}', "cannot be read"),
        ('[prices]\n"a/b" = {image = "3"}', "cannot be read"),
        ('[prices]\n"a/b" = {image = true}', "cannot be read"),
        ('[prices]\n"a/b" = {image = -1}', "cannot be read"),
        ('[prices]\n"a/b" = {image = nan}', "cannot be read"),
        ('[prices]\n"a/b" = {input = 3}', "give both"),
    ],
)
def test_a_wrong_list_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(FormalimgError, match=reason):
        parse_prices(text, "list")


def test_our_list_says_how_old_it_is() -> None:
    text = (files("formalimg.models") / "prices.toml").read_text(encoding="utf-8")
    assert date.fromisoformat(tomllib.loads(text)["as_of"]) <= date.today()
    assert len(parse_prices(text, "ours")) > 10


@pytest.mark.parametrize(
    "content",
    [
        "x = " + "[" * 50_000,
        "[prices]\n" + "a." * 5_000 + "b = 1",
        '[prices]\n"a/b" = ' + "{x = " * 5_000 + "1" + "}" * 5_000,
        '[prices]\n"a/b" = {image = ' + "9" * 5_000 + "}",
        '[prices]\n"a/b" = {image = 9' + "0" * 400 + "}",
        '[prices]\n"' + "a" * 10_000 + '" = 1',
        "prices = 1\n" + "# " * 1_000_000,
    ],
)
def test_a_list_that_cannot_be_prices_is_one_short_line(content: str) -> None:
    Path("prices.toml").write_text(content)
    with pytest.raises(FormalimgError, match=r"prices\.toml") as raised:
        get_price("a/b")
    assert len(str(raised.value)) < 500
    assert len(str(raised.value).splitlines()) == 1


def test_a_pipe_is_no_list_of_prices() -> None:
    os.mkfifo("prices.toml")
    with pytest.raises(FormalimgError, match="is not a file"):
        get_price("a/b")


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost:8000", True),
        ("http://LOCALHOST./v1", True),
        ("https://gpu.local/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://[::ffff:10.0.0.8]/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://172.31.0.1/v1", True),
        ("http://172.32.0.1/v1", False),
        ("http://192.168.178.20:1234/v1", True),
        ("http://192.169.0.1/v1", False),
        ("http://8.8.8.8/v1", False),
        ("https://api.openai.com/v1", False),
        ("https://10.0.0.1.example.com/v1", False),
        ("https://localhost.example.com/v1", False),
        ("http://notlocal/v1", False),
        ("http://[::1/v1", False),
        ("", False),
    ],
)
def test_private_addresses_are_told_from_public_ones(address: str, private: bool) -> None:
    assert is_private_address(address) is private


def test_a_server_of_ones_own_is_free_unless_told_otherwise() -> None:
    here = {"base_url": "http://127.0.0.1:9/v1"}
    model = open_chat_model("openai/Qwen/Qwen3-VL-8B-Instruct", here)
    assert price_of(model) == FREE
    assert price_of(model).note == "local server: counted as free"
    assert price_of(open_image_model("openai/my-flux", here)) == FREE
    # A gateway to a listed model is paid for, wherever it stands.
    assert price_of(open_chat_model("openai/gpt-4o", here)) == get_price("openai/gpt-4o")
    assert price_of(open_chat_model("openai/mine", {"base_url": "https://gpus.example.com/v1"})) == Price()
    assert price_of(open_chat_model("openai/mine", {**here, "price": "1/2"})) == Price(1.0, 2.0)
    Path("prices.toml").write_text('[prices]\n"openai/mine" = {input = 3, output = 4}\n')
    assert price_of(open_chat_model("openai/mine", here)) == Price(3.0, 4.0)
    assert price_of(open_chat_model("openai/mine", {**here, "price": "1/2"})) == Price(1.0, 2.0), "by hand comes first"


def test_a_price_by_hand_is_no_setting() -> None:
    here = {"base_url": "http://127.0.0.1:9/v1"}
    with_price = open_chat_model("openai/mine", {**here, "price": "1/2"})
    assert with_price.settings == open_chat_model("openai/mine", here).settings, "so that runs go on with another one"


@pytest.mark.parametrize(
    ("text", "per_image", "price"),
    [
        ("0.15/0.60", False, Price(0.15, 0.6)),
        ("5/40", True, Price(5.0, 40.0)),
        ("0.04", True, Price(image=0.04)),
        ("0", True, FREE),
        ("0", False, FREE),
        ("0/0", False, FREE),
    ],
)
def test_prices_are_read_as_users_write_them(text: str, per_image: bool, price: Price) -> None:
    assert read_price(text, per_image=per_image) == price


@pytest.mark.parametrize(
    "text", ["", "0.04", "1/2/3", "nan/1", "inf/1", "-1/2", "1e9/1", "a/b", "$1/$2", "1/" + "9" * 500]
)
def test_a_price_that_cannot_be_read_says_how_to_write_it(text: str) -> None:
    with pytest.raises(FormalimgError, match=r"cannot read the price .*: write IN/OUT .* as in 0\.15/0\.60$") as raised:
        read_price(text, per_image=False)
    assert len(str(raised.value)) < 200


DOCS = [Path(__file__).parents[2] / "README.md", *sorted(Path(__file__).parents[2].glob("docs/**/*.md"))]
_REMOTE = re.compile(r"(?<![\w/.-])(?:openai|gemini|anthropic|hf)/[A-Za-z0-9][\w./-]*[A-Za-z0-9](?![\w*…])")


def test_every_model_in_a_command_of_the_docs_has_a_price() -> None:
    unpriced = []
    for page in DOCS:
        for command in re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8")).splitlines():
            if command.startswith("formalimg "):
                names = _REMOTE.findall(command.partition("  #")[0])
                by_hand = "base_url=" in command or "--price " in command
                unpriced += [(page.name, name) for name in names if get_price(name) == Price() and not by_hand]
    assert unpriced == []
