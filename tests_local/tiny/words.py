"""Tokenizers that know single characters: real ones in kind, without anything to download."""

from __future__ import annotations

import string
from typing import Any

CHARACTERS = string.ascii_lowercase + string.digits + ".,:;!?'\"{}[]()_-+=<>/|"


def clip_tokenizer(longest: int = 77) -> Any:
    """The kind that Stable Diffusion and OWL have."""
    from transformers import CLIPTokenizer

    pieces = [*CHARACTERS, *(f"{character}</w>" for character in CHARACTERS), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=longest)


def t5_tokenizer(longest: int = 512) -> Any:
    """The kind that Flux has beside CLIP's."""
    from transformers import T5Tokenizer

    pieces = ["<pad>", "</s>", "<unk>", "▁", *CHARACTERS]
    return T5Tokenizer(vocab=[(piece, -1.0) for piece in pieces], extra_ids=0, model_max_length=longest)


def bert_tokenizer() -> Any:
    """The kind that Grounding DINO has."""
    from transformers import BertTokenizer

    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *CHARACTERS,
        *(f"##{character}" for character in CHARACTERS),
    ]
    return BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)})
