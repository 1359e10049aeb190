"""Suites of yes/no questions with dependencies: what any prompt can be judged by."""
