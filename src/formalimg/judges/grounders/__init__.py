"""Grounders: image in, scene out, by embedded templates (icons), a vision-language model (vlm) or a detector."""
