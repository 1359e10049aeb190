"""Conditions: plain words, words with a layout, layouts without words, and texts about the style."""

from formalimg.suites.conditions.condition import Condition, LayoutForm, Sent, StyleText

__all__ = ["Condition", "LayoutForm", "Sent", "StyleText"]
