"""Suites of yes/no questions with dependencies, suitable for judging any prompt."""
