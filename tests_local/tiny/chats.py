"""A tiny LLaVA, and a tiny model of words alone; what they say is noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests_local.tiny.words import CHARACTERS

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %} {% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def save_tiny_llava(folder: Path) -> Path:
    """A vision-language model."""
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(4)
    tokenizer = _character_tokenizer()
    side, patch = 32, 8
    model = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(
                hidden_size=32,
                intermediate_size=37,
                num_hidden_layers=2,
                num_attention_heads=4,
                image_size=side,
                patch_size=patch,
                projection_dim=32,
            ),
            text_config=_llama(LlamaConfig, tokenizer),
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
            image_seq_length=(side // patch) ** 2,
        )
    )
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side}),
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_tiny_llama(folder: Path) -> Path:
    """A model that reads words only."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(5)
    tokenizer = _character_tokenizer()
    tokenizer.chat_template = _TEMPLATE
    LlamaForCausalLM(_llama(LlamaConfig, tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _llama(config: Any, tokenizer: Any) -> Any:
    return config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=8192,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def _character_tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<pad>", "<s>", "</s>", "<unk>", "<image>", " ", "\n", *CHARACTERS]
    plain = Tokenizer(models.WordLevel({piece: number for number, piece in enumerate(pieces)}, unk_token="<unk>"))
    plain.normalizer = normalizers.Lowercase()
    plain.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    plain.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>"},
    )
