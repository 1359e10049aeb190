"""Models of realistic size with random weights: their output is noise, but takes as long."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

_CHARACTERS = string.ascii_lowercase + string.digits + string.punctuation
_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def save_pipeline(folder: Path, device: str, *, tiny: bool) -> float:
    """Save a pipeline with the sizes of Stable Diffusion XL; return its billions of parameters."""
    import torch
    from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(1)
    tokenizer = _clip_tokenizer()
    wide, heads, deep = ((32, 64, 64), (2, 4, 4), (1, 1, 2)) if tiny else ((320, 640, 1280), (5, 10, 20), (1, 2, 10))
    first, second = (32, 32) if tiny else (768, 1280)
    with torch.device(device):
        parts = {
            "unet": UNet2DConditionModel(
                sample_size=8 if tiny else 128,
                block_out_channels=wide,
                down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
                up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
                attention_head_dim=heads,
                transformer_layers_per_block=deep,
                cross_attention_dim=first + second,
                use_linear_projection=True,
                addition_embed_type="text_time",
                addition_time_embed_dim=8 if tiny else 256,
                projection_class_embeddings_input_dim=second + 6 * (8 if tiny else 256),
            ),
            "vae": AutoencoderKL(
                block_out_channels=(32,) * 4 if tiny else (128, 256, 512, 512),
                down_block_types=("DownEncoderBlock2D",) * 4,
                up_block_types=("UpDecoderBlock2D",) * 4,
                layers_per_block=2,
                latent_channels=4,
                sample_size=64 if tiny else 1024,
                scaling_factor=0.13025,
            ),
            "text_encoder": CLIPTextModel(_clip_text(tokenizer, first, 2 if tiny else 12, "quick_gelu")),
            "text_encoder_2": CLIPTextModelWithProjection(_clip_text(tokenizer, second, 2 if tiny else 32, "gelu")),
        }
    parameters: int = sum(weights.numel() for part in parts.values() for weights in part.parameters())
    pipeline = StableDiffusionXLPipeline(
        **{name: part.to(torch.float32 if tiny else torch.bfloat16) for name, part in parts.items()},
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear", timestep_spacing="leading"),
        add_watermarker=False,
    )
    pipeline.save_pretrained(folder)
    return parameters / 1e9


def save_chat_model(folder: Path, device: str, *, tiny: bool) -> float:
    """Save a LLaVA with a language model of the size of Qwen2.5 3B and 576 image patches.

    Gives back its billions of parameters.
    """
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        Qwen2Config,
    )

    torch.manual_seed(2)
    tokenizer = _chat_tokenizer()
    side, patch = (32, 8) if tiny else (336, 14)
    words = Qwen2Config(
        vocab_size=len(tokenizer) if tiny else 151936,
        hidden_size=32 if tiny else 2048,
        intermediate_size=64 if tiny else 11008,
        num_hidden_layers=2 if tiny else 36,
        num_attention_heads=4 if tiny else 16,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    eyes = CLIPVisionConfig(
        hidden_size=32 if tiny else 1024,
        intermediate_size=64 if tiny else 4096,
        num_hidden_layers=2 if tiny else 24,
        num_attention_heads=4 if tiny else 16,
        image_size=side,
        patch_size=patch,
        projection_dim=32 if tiny else 768,
    )
    with torch.device(device):
        model = LlavaForConditionalGeneration(
            LlavaConfig(
                vision_config=eyes,
                text_config=words,
                image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
                image_seq_length=(side // patch) ** 2,
            )
        )
    model.to(torch.float32 if tiny else torch.bfloat16).save_pretrained(folder)
    LlavaProcessor(
        image_processor=CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side}),
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    ).save_pretrained(folder)
    parameters: int = sum(weights.numel() for weights in model.parameters())
    return parameters / 1e9


def _clip_text(tokenizer: Any, width: int, layers: int, activation: str) -> Any:
    from transformers import CLIPTextConfig

    return CLIPTextConfig(
        vocab_size=49408,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        hidden_size=width,
        projection_dim=width,
        intermediate_size=4 * width,
        num_attention_heads=max(1, width // 64),
        num_hidden_layers=layers,
        hidden_act=activation,
    )


def _clip_tokenizer() -> Any:
    from transformers import CLIPTokenizer

    ends = [f"{character}</w>" for character in _CHARACTERS]
    pieces = [*_CHARACTERS, *ends, "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    return CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=77)


def _chat_tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<pad>", "<s>", "</s>", "<unk>", "<image>", " ", "\n", *_CHARACTERS]
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
