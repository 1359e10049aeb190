"""`formalimg formula translate`: translate prompts to formulas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from formalimg._util.io import atomic_write_text
from formalimg.cli import options
from formalimg.cli.commands import argument, option
from formalimg.cli.options import PriceOptions, require_prices
from formalimg.cli.run_output import default_budget
from formalimg.cli.streams import echo, print_data
from formalimg.errors import FormalimgError, OverBudgetError

if TYPE_CHECKING:
    from formalimg.scoring.translation import Translation, TranslationWords


def translate_command(
    file: Annotated[Path, argument("FILE", "Prompts: one per line, or JSONL, JSON or CSV with a field prompt.")],
    to: Annotated[Literal["formulas"], option("What prompts become.")] = "formulas",
    vocabulary: Annotated[
        str,
        option(
            "NAME|FILE",
            "knolling, natural, open (natural and every noun of a prompt), or a file with one class per line.",
        ),
    ] = "natural",
    model: Annotated[
        str | None,
        option(
            "--model -m MODEL",
            "A chat model for prompts that our reader does not understand. Default: they stay untranslated.",
        ),
    ] = None,
    model_options: Annotated[list[str] | None, option("-M KEY=VALUE", "Option of the chat model.")] = None,
    budget: options.Budget = None,
    price: options.Prices = None,
    out: Annotated[Path | None, option("FILE", "Where to write the JSON Lines. Default: print them.")] = None,
) -> None:
    """Translate prompts into formulas: by our reader, and the rest by a chat model, whose formulas are checked.

    Each line of the output has prompt, formula, how and reason. Exit code 1 if nothing could be translated.
    """
    from formalimg.scoring.translation import read_prompts, translate_by_reader, translation_shares, translation_words

    if model is None and (model_options or price):
        raise FormalimgError("-M and --price are for a chat model: name it with --model")
    words = translation_words(vocabulary)
    prompts = read_prompts(file)
    translations = [translate_by_reader(prompt, words) for prompt in prompts]
    if model is not None:
        prices = PriceOptions(price, {"model": [model]})
        settings = options.read_options(model_options) | prices.option("model", model)
        translations = _ask_for_the_rest(translations, words, model, settings, default_budget(budget))
    lines = "".join(json.dumps(translation._asdict(), ensure_ascii=False) + "\n" for translation in translations)
    if out is None:
        print_data(lines)
    else:
        atomic_write_text(out, lines)
    share = translation_shares(translations)
    parts = [f"{share['reader']:.1%} read without a model"]
    if model is not None:
        parts.append(f"{share['model']:.1%} by {model}")
    echo(
        f"{len(translations):,} prompts to {to}: {', '.join(parts)}, {share['not translated']:.1%} not translated",
        err=True,
    )
    if all(translation.formula is None for translation in translations):
        raise typer.Exit(1)


def _ask_for_the_rest(
    translations: list[Translation], words: TranslationWords, model: str, settings: dict[str, str], budget: float | None
) -> list[Translation]:
    """Complete the translations by asking the chat model for the missing ones."""
    from formalimg._util.aio import run_sync
    from formalimg.models.pricing import Spending
    from formalimg.models.registry import open_chat_model
    from formalimg.scoring.translation import FormulaTranslator

    chat = open_chat_model(model, settings)
    require_prices(budget, [chat])
    spending = Spending()
    spending.budget = budget
    missing = [translation.prompt for translation in translations if translation.formula is None]
    translator = FormulaTranslator(chat)
    try:
        answers = run_sync(lambda: translator.translate_all(missing, words, spending)) if missing else {}
    except OverBudgetError as error:
        echo(f"stopped: {error}", err=True)
        raise typer.Exit(130) from None
    return [answers.get(translation.prompt, translation) for translation in translations]
