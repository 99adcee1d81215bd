# The only command surface of giusto: `make` or `make help` lists it.
#
# Every target sets up what it needs, and does so only when something changed: the virtual
# environment in VENV, the packages that pyproject.toml names, the native core. Settings:
#   PYTHON  the interpreter that makes the environment   (python3)
#   VENV    where the environment is                     (.venv)
#   PEERS   options of bench-peers, such as "--rounds 3 --only flood"; "--help" lists them
#   PIPELINE options of bench-pipeline, such as "--millions 1"; "--help" lists them
#   PAPERS  options of papers: "--only tempo" runs one alone, "--kept" runs nothing
#   MINUTES, SOAK how long `make soak` plays (10), and its options; SOAK=--help lists them
#   FUZZ_SECONDS  how long `make fuzz` looks              (600)

PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 600
MINUTES ?= 10

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY = "$(VENV)/bin/python"

export CARGO_TERM_QUIET ?= true
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export NO_MKDOCS_2_WARNING = 1
export PYTHON VENV

.DEFAULT_GOAL := help

##@ Use it

.PHONY: demo
demo: build ## run the main job and show what it did
	@$(PY) examples/demo

.PHONY: bench
bench: build ## measure speed (release build) and write docs/benchmarks.md
	@$(PY) benchmarks/run.py

.PHONY: bench-peers
bench-peers: build ## measure giusto beside other brokers and write docs/benchmarks-peers.md
	@sh tools/environment.sh peers
	@$(PY) -m benchmarks.peers $(PEERS)

.PHONY: bench-pipeline
bench-pipeline: build ## measure the pipeline beside DuckDB and Polars and write docs/benchmarks-pipeline.md
	@sh tools/environment.sh oracles
	@$(PY) -m benchmarks.pipeline $(PIPELINE)

.PHONY: papers
papers: build ## run the published experiments in full and write docs/papers.md; fails if a claim fails unexplained
	@sh tools/environment.sh papers
	@$(PY) -m giusto paper page --full --out docs $(PAPERS)

.PHONY: soak
soak: build ## contracts under fire for MINUTES (10): observed maxima against bounds, fails if a miss is ours
	@$(PY) -m benchmarks.soak --minutes $(MINUTES) $(SOAK)

##@ Work on it

.PHONY: test
test: build ## run all tests, Rust and Python
	@sh tools/environment.sh papers
	@sh tools/environment.sh oracles
	@sh tools/test.sh

.PHONY: test-long
test-long: build ## run the tests that take minutes: a Spark cluster, queries that are killed
	@$(PY) -m pytest -m long

.PHONY: lint
lint: build ## ruff, mypy, stub check, rustfmt, clippy: change nothing, report all
	@sh tools/prerequisites.sh lint
	@sh tools/lint.sh

.PHONY: fmt
fmt: environment ## format all sources
	@sh tools/prerequisites.sh lint
	@cargo fmt --all
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format --quiet .

.PHONY: docs
docs: build ## build the documentation site into site/ and run its examples
	@sh tools/environment.sh docs
	@$(PY) -m pytest tests/documents
	@echo "» building the documentation in site/"
	@$(PY) -m mkdocs build --strict --quiet

.PHONY: fuzz
fuzz: build ## look for inputs that break a promise, for FUZZ_SECONDS (600); what it finds is in fuzz/broken
	@sh tools/fuzz.sh long $(FUZZ_SECONDS)

##@ Set it up

.PHONY: build
build: environment ## build the native core into the environment, if its sources changed
	@sh tools/extension.sh

.PHONY: clean
clean: ## remove all that these commands have made here
	@rm -rf .venv target site dist .hypothesis .pytest_cache .mypy_cache .ruff_cache
	@rm -f python/giusto/_core*.so
	@find python tests benchmarks examples papers tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: help
help: ## this list
	@awk -f tools/help.awk $(MAKEFILE_LIST)

# Not for people: what the targets above stand on.

.PHONY: environment
environment:
	@sh tools/prerequisites.sh build
	@sh tools/environment.sh dev
	@sh tools/environment.sh spark
