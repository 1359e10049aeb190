"""What calls cost: the list that ships, the user's own, and what nobody knows."""

from __future__ import annotations

import os
import tomllib
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Usage
from formalimg.models.pricing import Price, get_price, parse_prices


@pytest.fixture(autouse=True)
def _no_list_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORMALIMG_PRICES", raising=False)


def test_tokens_cost_what_the_list_says() -> None:
    # By hand: 1,000 tokens at 2.50 a million and 200 at 10.
    assert get_price("openai/gpt-4o").cost(Usage(1_000, 200)) == pytest.approx(0.0025 + 0.002)


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


def test_ones_own_machine_costs_nothing() -> None:
    assert get_price("transformers/some/model").cost(Usage()) == 0


def test_the_users_list_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = '[prices]\n"openai/*" = {image = 1}\n"openai/Qwen/*" = {input = 0, output = 0}\n'
    Path("prices.toml").write_text(listed)
    assert get_price("openai/gpt-4o") == Price(image=1.0)
    assert get_price("openai/Qwen/Qwen3") == Price(0.0, 0.0)
    assert get_price("gemini/gemini-2.5-pro") == Price(1.25, 10.0)
    (tmp_path / "mine.toml").write_text('[prices]\n"openai/gpt-4o" = {input = 7, output = 7}\n')
    monkeypatch.setenv("FORMALIMG_PRICES", str(tmp_path / "mine.toml"))
    assert get_price("openai/gpt-4o") == Price(7.0, 7.0)


def test_a_list_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMALIMG_PRICES", "nowhere.toml")
    with pytest.raises(FormalimgError, match=r"FORMALIMG_PRICES names nowhere\.toml, which does not exist"):
        get_price("openai/gpt-4o")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[prices", "is not TOML"),
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
        '[prices]\n"a/b" = {image = -1}',
        '[prices]\n"a/b" = {image = nan}',
        '[prices]\n"a/b" = {image = inf}',
        '[prices]\n"a/b" = {image = true}',
        '[prices]\n"a/b" = {image = "1"}',
        '[prices]\n"a/b" = [1]',
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
