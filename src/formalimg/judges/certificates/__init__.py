"""Certificates of judges, measured on rendered scenes with one false clause and on harmless image changes."""
