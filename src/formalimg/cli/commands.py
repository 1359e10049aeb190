"""All commands: their sections, summaries and examples, and the application that runs them."""

from __future__ import annotations

from typing import Annotated

import typer

from formalimg import __version__
from formalimg.cli.help_groups import CommandEntry, command_group

_RUN, _AUTHOR, _JUDGE, _SHARE, _TOOLS = "Run and look", "Author items", "Judge quality", "Share", "Tools"

COMMANDS = {
    "run": CommandEntry(
        _RUN,
        "Generate the images of a suite, judge them and print the pass rates.",
        "run knolling --model builtin/reader --per-level 20",
    ),
    "plan": CommandEntry(
        _RUN,
        "Say how many images and labels a wanted precision needs, and what they cost.",
        "plan knolling --width 5 --labels",
    ),
    "generate": CommandEntry(
        _RUN,
        "Generate the images of a suite, to be judged later with `judge`.",
        "generate natural --model openai/gpt-image-2 --dry-run",
        target="run:generate_command",
    ),
    "judge": CommandEntry(
        _RUN, "Judge the images of a run and print the pass rates.", "judge runs/a --judge gemini/gemini-3-pro-preview"
    ),
    "score": CommandEntry(
        _RUN,
        "Score images by what a prompt asks for: any image, any prompt.",
        'score cat.png --prompt "a red cat" --judge openai/gpt-5',
    ),
    "report": CommandEntry(
        _RUN,
        "Compare runs: pass rates, confidence intervals, and what could not be scored.",
        "report runs/* --out report.html",
    ),
    "view": CommandEntry(_RUN, "Browse runs, images and explanations in the browser.", "view runs"),
    "show": CommandEntry(_RUN, "Show an item: its prompt and what it requires.", "show knolling/1207 --draw item.png"),
    "diagnose": CommandEntry(_RUN, "Explain why a model fails on CF-World.", "diagnose runs/cf-world*"),
    "serve": CommandEntry(_RUN, "Serve rewards over HTTP: scores from 0 to 1, with reasons.", "serve --root images"),
    "synth": CommandEntry(
        _AUTHOR,
        "Sample new items and prove that they can be satisfied.",
        "synth knolling --levels 1-3 --per-level 10 --out my-suite",
    ),
    "write": CommandEntry(
        _AUTHOR,
        "Write new items with a chat model, and check every one.",
        "write natural --model openai/gpt-5 --out my-suite --dry-run",
    ),
    "review": CommandEntry(_AUTHOR, "Accept or reject written CF-World groups.", target="review:review_app"),
    "census": CommandEntry(_AUTHOR, "Count what the items of a suite are made of.", "census natural"),
    "captions": CommandEntry(
        _AUTHOR, "Count which kinds of visual concepts captions mention.", "captions captions.txt"
    ),
    "translate": CommandEntry(
        _AUTHOR, "Translate prompts into formulas.", "translate prompts.txt --to formulas --vocabulary open"
    ),
    "export": CommandEntry(
        _AUTHOR, "Export a suite with metadata, or a run in the published format.", "export knolling --out my-suite"
    ),
    "pull": CommandEntry(_AUTHOR, "Download the data of a published benchmark.", "pull formalimg --to published"),
    "import": CommandEntry(
        _JUDGE,
        "Import answers and ratings that were made elsewhere, as runs and studies.",
        target="import_answers:import_app",
    ),
    "agree": CommandEntry(
        _JUDGE, "Measure agreement between judges, and with human ratings.", "agree runs/a --ratings studies/a-likert"
    ),
    "annotate": CommandEntry(
        _JUDGE, "Collect human ratings of images in the browser.", "annotate runs/a --protocol likert"
    ),
    "calibrate": CommandEntry(
        _JUDGE,
        "Find the threshold of CF-World's gate that agrees best with human labels.",
        "calibrate runs/a --labels labels.csv",
    ),
    "certify": CommandEntry(
        _JUDGE, "Measure a judge or grounder by images whose content is known.", "certify --scenes 10"
    ),
    "bundle": CommandEntry(
        _SHARE,
        "Write runs to one file that can be cited and verified.",
        "bundle runs/* --out results.zip",
    ),
    "verify-bundle": CommandEntry(
        _SHARE,
        "Compute a bundle again, and say what differs and what cannot be computed.",
        "verify-bundle results.zip",
        target="bundle:verify_bundle_command",
    ),
    "card": CommandEntry(_SHARE, "Write a section for a model card, with figures.", "card runs/a --out card.md"),
    "push": CommandEntry(
        _SHARE, "Push a run to a dataset on the Hugging Face Hub.", "push runs/a --to hf://datasets/me/my-run"
    ),
    "log": CommandEntry(_SHARE, "Log runs to W&B, MLflow or TensorBoard.", "log runs/* --to tensorboard"),
    "check": CommandEntry(_TOOLS, "Check formulas and report every problem.", "check my.formula"),
    "verify": CommandEntry(
        _TOOLS, "Verify whether a formula holds in a scene.", "verify --formula my.formula --scene scene.json --explain"
    ),
    "solve": CommandEntry(
        _TOOLS,
        "Find a scene that satisfies a formula, or prove there is none.",
        "solve --formula \"(exists ?x (Is ?x 'cup'))\"",
    ),
    "vocabulary": CommandEntry(
        _TOOLS, "List the classes and predicates of a suite, or its concepts.", "vocabulary knolling"
    ),
    "models": CommandEntry(_TOOLS, "List the model providers, and what is missing to use each."),
    "config": CommandEntry(
        _TOOLS, "Print the defaults in force, and where they come from.", target="config:config_app"
    ),
    "doctor": CommandEntry(_TOOLS, "Check this installation."),
}

app = typer.Typer(
    name="formalimg",
    cls=command_group(COMMANDS),
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text: boxes leave little room, and markup would swallow formalimg[web]
)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"formalimg {__version__}")
        raise typer.Exit


@app.callback()
def _formalimg(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Formal, verifiable evaluation of text-to-image models."""
