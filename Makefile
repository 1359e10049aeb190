# Everything installs itself: `make demo` and `make test` work in a fresh clone with python3 (3.11 or later) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test test-local lint bench clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed-core  ## Verify the shipped example in two scenes and print the proofs
	@echo "The instruction, examples/verify/desk.formula:"; echo
	@cat examples/verify/desk.formula; echo
	$(BIN)/formalimg check examples/verify/desk.formula
	@echo
	$(BIN)/formalimg verify --formula examples/verify/desk.formula --scene examples/verify/good.json --explain
	@echo
	@# Exit code 1 means "does not hold", which is what this scene is for.
	$(BIN)/formalimg verify --formula examples/verify/desk.formula --scene examples/verify/bad.json --explain; \
		test $$? -eq 1

test: $(VENV)/.installed-test  ## Run the tests
	$(BIN)/python -m pytest -n auto

test-local: $(VENV)/.installed-test  ## Run the tests that install and build things: slower, and they need the package index
	$(BIN)/python -m pytest tests_local

lint: $(VENV)/.installed-lint  ## Check style and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

bench: $(VENV)/.installed-core  ## Measure speed against the baselines
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/synthesize.py

clean:  ## Remove everything that was installed or cached
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "formalimg needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-core: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test]'
	@touch $@

$(VENV)/.installed-lint: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test,lint]'
	@touch $@
