"""Drawn worlds: scenes with materials, states, depth, contact and style that can be solved, drawn and evaluated."""
