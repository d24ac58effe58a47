# The CI steps by name. `make demo` and `make test` do all the set-up on a fresh Debian machine with Rust, Python >= 3.11
# and make; nothing is fetched but packages from cargo's, pip's and (only if something is missing) apt's sources.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
# Tests and the extension module share this profile, so that each dependency is compiled once (see Cargo.toml).
PROFILE := quick
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

PYTHON_CODE := $(wildcard python tests benches scripts)
RUST := $(shell find crates Cargo.toml Cargo.lock -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.md' -o -name Cargo.lock \))

.DEFAULT_GOAL := help
.PHONY: help setup build test test-rust test-python lint format docs demo studies bench wheel clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(VENV)/.installed ## the virtual environment with everything Python needs

build: $(VENV)/.built ## the extension module, in place

test: test-rust test-python ## every test, Rust and Python

test-rust: $(VENV)/.installed
	cargo test --workspace --profile $(PROFILE) --locked

test-python: build
	$(BIN)/python -m pytest

lint: build ## formatters and linters, as errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --profile $(PROFILE) --locked -- -D warnings
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/mypy

format: $(VENV)/.installed ## let the formatters write
	cargo fmt --all
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/ruff check --fix $(PYTHON_CODE)

docs: build ## generated pages: docs/CLI.md
	$(BIN)/python scripts/cli_reference.py > docs/CLI.md

demo: build ## the batch-insert study on SQLite on this disk, to a verdict and a report
	$(BIN)/fathom run studies/batch-insert.toml

studies: build ## every study of the project in virtual time, where it has one
	scripts/run-studies.sh $(BIN)/fathom

bench: build ## the figures of docs/BENCHMARKS.md (long; wants a quiet machine)
	scripts/run-benches.sh $(BIN)/python

wheel: $(VENV)/.installed ## wheel and sdist into dist/
	$(BIN)/maturin build --release --sdist --out dist

clean: ## everything that was built
	rm -rf target dist $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/fathom/_core*.so
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml scripts/install-debian.sh scripts/check-tools.sh
	scripts/install-debian.sh $(PYTHON)
	scripts/check-tools.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.10,<2'
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE) --locked --extras dev
	touch $@ $(VENV)/.built

$(VENV)/.built: $(VENV)/.installed $(RUST)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE) --locked --skip-install --quiet
	touch $@
