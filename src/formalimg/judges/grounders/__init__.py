"""Grounders, which find objects in an image with icon templates, a vision-language model or a detector."""
