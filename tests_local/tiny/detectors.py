"""Tiny open-vocabulary detectors; what they find is noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests_local.tiny.words import bert_tokenizer, clip_tokenizer


def save_tiny_owlv2(folder: Path) -> Path:
    """OWLv2."""
    import torch
    from transformers import Owlv2Config, Owlv2ForObjectDetection, Owlv2ImageProcessorPil, Owlv2Processor

    torch.manual_seed(6)
    tokenizer = clip_tokenizer(48)
    side = 64
    text = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "max_position_embeddings": 48,
    }
    vision = {"image_size": side, "patch_size": 16}
    narrow = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = Owlv2Config(text_config={**text, **narrow}, vision_config={**vision, **narrow}, projection_dim=32)
    Owlv2ForObjectDetection(config).save_pretrained(folder)
    images = Owlv2ImageProcessorPil(size={"height": side, "width": side})
    Owlv2Processor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


def save_tiny_grounding_dino(folder: Path) -> Path:
    """Grounding DINO."""
    import torch
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        GroundingDinoProcessor,
        SwinConfig,
    )

    torch.manual_seed(7)
    tokenizer = bert_tokenizer()
    config = GroundingDinoConfig(
        backbone_config=SwinConfig(
            image_size=128,
            window_size=7,
            embed_dim=16,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 1, 1],
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=37,
            max_position_embeddings=256,
        ),
        d_model=32,
        encoder_layers=2,
        encoder_ffn_dim=37,
        encoder_attention_heads=4,
        decoder_layers=2,
        decoder_ffn_dim=37,
        decoder_attention_heads=4,
        num_queries=8,
        num_feature_levels=4,
        disable_custom_kernels=True,
    )
    GroundingDinoForObjectDetection(config).save_pretrained(folder)
    images = GroundingDinoImageProcessorPil(size={"shortest_edge": 128, "longest_edge": 256})
    GroundingDinoProcessor(image_processor=images, tokenizer=tokenizer).save_pretrained(folder)
    return folder


TINY_DETECTORS: Mapping[str, Callable[[Path], Path]] = {
    "owlv2": save_tiny_owlv2,
    "grounding-dino": save_tiny_grounding_dino,
}
"""How each of them is built, by a name that tells its family."""
