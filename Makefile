# The CI steps by name. `make demo` and `make test` do all the set-up on a fresh Debian machine with Rust, Python >= 3.11
# and make; nothing is fetched but packages from cargo's, pip's and (only if something is missing) apt's sources.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
# Tests and the extension module share this profile, so that each dependency is compiled once (see Cargo.toml).
PROFILE := quick
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

PYTHON_CODE := $(wildcard python tests benches scripts)
RUST := $(shell find crates Cargo.toml Cargo.lock -type f \( -name '*.rs' -o -name '*.sql' -o -name '*.toml' -o -name '*.md' -o -name Cargo.lock \))

# The Python tests in three parts that take about as long: many wait for databases, daemons and whole campaigns.
FIRST_PART := tests/cli tests/provision tests/kill
SECOND_PART := tests/pipeline tests/analysis

# Twice as many Rust tests at once as a small machine has CPUs: most wait for a disk, a socket or a database.
TEST_THREADS ?= 4

HOURS ?= 1
SEED ?= 1
SEQUENCE ?= 0
# Crash tests make and drop memory of megabytes all the time: three quarters of the time went into giving it back.
KEEP_MEMORY := MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=67108864
# Builds a copy of the sources with every injected bug. It shares what is compiled and unchanged, but not the programs.
HUNT := $(PYTHON) scripts/injected_bugs.py target/mutated && $(KEEP_MEMORY) \
	CARGO_BUILD_BUILD_DIR=$(CURDIR)/target CARGO_TARGET_DIR=$(CURDIR)/target/mutated/target \
	cargo test --manifest-path target/mutated/Cargo.toml -p fathom-crash-tests -p fathomd -p fathom-python \
	--no-default-features --features fathom-python/real --profile $(PROFILE) --locked --test hunt
# Programs are built with the extension named beside them: cargo then turns on the same features of every crate as for the
# extension and the tests, and compiles each once.
PROGRAMS := cargo build -p fathomd -p fathom-chaos -p fathom-python --profile $(PROFILE) --locked

.DEFAULT_GOAL := help
.PHONY: any-system diagnose-truth diagnose-real help setup build test test-rust test-sqlserver test-mysql test-windows-login slow-network mutations crash-campaign test-python test-python-first test-python-second test-python-third lint format docs demo studies bench ublk-test wheel clean kill-campaign fuzz fuzz-sockets fsx chaos chaos-short chaos-of-two-minutes hunt test-long

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: $(VENV)/.installed ## the virtual environment with everything Python needs

build: $(VENV)/.built ## the extension module, in place, and the daemon beside it

test: test-rust test-python ## every test, Rust and Python

test-rust: $(VENV)/.installed $(VENV)/.test-packages
	$(KEEP_MEMORY) RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --profile $(PROFILE) --locked
	$(PROGRAMS) --bins
	$(MAKE) --jobs 2 --output-sync=target --keep-going hunt chaos-of-two-minutes

hunt:
	$(HUNT)

test-long: ## what a night is for, above an hour: chaos, crash campaign, file systems, sockets, fuzz targets, ublk (root)
	$(MAKE) chaos HOURS=0.17 SEED=$(SEED)
	$(MAKE) crash-campaign HOURS=0.17 SEED=$(SEED)
	$(MAKE) fsx OPS=200000 SEED=$(SEED)
	$(MAKE) fuzz-sockets SECONDS=600 SEED=$(SEED)
	$(MAKE) fuzz SECONDS=60
	$(MAKE) ublk-test

test-sqlserver: ## everything on the SQL Server of FATHOM_TEST_SQLSERVER (docs/SQLSERVER.md)
	@test -n "$$FATHOM_TEST_SQLSERVER" || { echo "FATHOM_TEST_SQLSERVER=sqlserver://USER:PASSWORD@HOST:PORT?tls=require names no server: docs/SQLSERVER.md"; exit 2; }
	cargo test -p fathom-sql $(if $(FEATURES),--features $(FEATURES)) --profile $(PROFILE) --locked --test sqlserver_server -- --test-threads 1 --nocapture

test-mysql: ## everything on the MySQL of FATHOM_TEST_MYSQL (docs/DATABASES.md)
	@test -n "$$FATHOM_TEST_MYSQL" || { echo "FATHOM_TEST_MYSQL=mysql://USER:PASSWORD@HOST:PORT?tls=require names no server: docs/DATABASES.md"; exit 2; }
	cargo test -p fathom-sql --profile $(PROFILE) --locked --test mysql_server -- --test-threads 1 --nocapture

test-windows-login: ## login by a Kerberos ticket (libkrb5-dev, libclang-dev, krb5-kdc, krb5-admin-server, krb5-user; docs/SQLSERVER.md)
	cargo test -p fathom-sql --features windows-login --profile $(PROFILE) --locked --test sqlserver_windows

slow-network: ## TPROC-C and DVD Store over 20 ms, 10 Mbit/s and 1 % loss, encrypted (minutes)
	cargo test -p fathom-sql --profile $(PROFILE) --locked --test network -- --ignored

mutations: ## injected bugs in cache, mirror, pool and daemon: what detects each (docs/CRASH-CAMPAIGN.md, docs/MIRROR.md)
	$(HUNT) -- --nocapture

KILLS ?= 100
LOSSES ?= 20

kill-campaign: build ## fathomd, its cache device and the server lost under SQLite and PostgreSQL (root; long)
	$(PROGRAMS) --bin fathomd
	FATHOMD=$(CURDIR)/target/$(PROFILE)/fathomd $(BIN)/python scripts/kill_campaign.py sqlite --kills $(KILLS)
	FATHOMD=$(CURDIR)/target/$(PROFILE)/fathomd $(BIN)/python scripts/kill_campaign.py postgresql --file-system xfs --kills $(KILLS)
	for database in sqlite postgresql mariadb; do for loss in cache daemon server; do \
		[ "$$database $$loss" = "sqlite server" ] || FATHOMD=$(CURDIR)/target/$(PROFILE)/fathomd \
		$(BIN)/python scripts/loss_campaign.py $$database $$loss --times $(LOSSES) || exit 1; done; done

crash-campaign: ## the crash campaign: HOURS=1 SEED=1; resumes with the line it prints at the end (docs/CRASH-CAMPAIGN.md)
	cargo run -p fathom-crash-tests --profile $(PROFILE) --locked -- --hours $(HOURS) --seed $(SEED) --sequence $(SEQUENCE)

CASES ?= 1000

diagnose-truth: build ## labelled logs: which cause comes first (CASES=1000 SEED=1; RUNS=1: run by the virtual driver)
	$(BIN)/python scripts/diagnose_truth.py --cases $(CASES) --seed $(SEED) $(if $(RUNS),--runs)

diagnose-real: build ## bottlenecks made on this machine, recorded and diagnosed (root, fio, iostat; minutes)
	$(BIN)/python scripts/diagnose_real.py

SECONDS ?= 60

fuzz: ## every fuzz target, each for SECONDS=60; needs a C++ compiler (CONTRIBUTING.md)
	scripts/fuzz.sh $(SECONDS)

CHAOS := target/$(PROFILE)/fathom-chaos --fathomd target/$(PROFILE)/fathomd --keep target/chaos
LIFE ?= 0

chaos: ## the shipped daemon on disks that lose, tear and age: HOURS=1 SEED=1 LIFE=0, or CYCLES=N (docs/CHAOS.md)
	$(PROGRAMS) --bins
	$(CHAOS) --seed $(SEED) --life $(LIFE) $(if $(CYCLES),--cycles $(CYCLES),--hours $(HOURS)) $(CHAOS_FLAGS)

chaos-short: ## two minutes of it
	$(PROGRAMS) --bins
	$(MAKE) chaos-of-two-minutes

# Without cargo, whose lock would keep it from running beside another build.
chaos-of-two-minutes:
	$(CHAOS) --seed $(SEED) --hours 0.0334 --at-once 2 $(CHAOS_FLAGS)

OPS ?= 1000000

fsx: build ## file operations on ext4, XFS and btrfs over FUSE, the daemon killed in between: OPS=1000000 each (root; long)
	for file_system in ext4 xfs btrfs; do FATHOMD=$(CURDIR)/target/$(PROFILE)/fathomd \
		$(BIN)/python scripts/fsx_campaign.py --file-system $$file_system --operations $(OPS) --seed $(SEED) || exit 1; done

fuzz-sockets: ## peers that send anything to fathomd, for SECONDS=60, SEED=1; nothing may be left behind
	FATHOM_FUZZ_SECONDS=$(SECONDS) FATHOM_FUZZ_SEED=$(SEED) \
		cargo test -p fathomd --profile $(PROFILE) --locked --test fuzz_sockets -- --nocapture

test-python: build $(VENV)/.test-packages ## the Python tests, in three processes side by side
	$(MAKE) --jobs 3 --output-sync=target --keep-going test-python-first test-python-second test-python-third

test-python-first:
	$(BIN)/python -m pytest $(FIRST_PART)

test-python-second:
	$(BIN)/python -m pytest $(SECOND_PART)

test-python-third:
	$(BIN)/python -m pytest $(patsubst %,--ignore=%,$(FIRST_PART) $(SECOND_PART))

lint: build ## formatters and linters, as errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --profile $(PROFILE) --locked -- -D warnings
	cargo check -p fathom-python --no-default-features --profile $(PROFILE) --locked
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/mypy

format: $(VENV)/.installed ## let the formatters write
	cargo fmt --all
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/ruff check --fix $(PYTHON_CODE)

docs: build ## what is made from the code: docs/CLI.md, python/fathom/metrics.json
	$(BIN)/python scripts/cli_reference.py > docs/CLI.md
	$(BIN)/python scripts/metrics_table.py

demo: build ## the batch-insert study on SQLite on this disk, to a verdict and a report
	$(BIN)/fathom run studies/batch-insert.toml

studies: build ## every study of the project in virtual time, where it has one
	scripts/run-studies.sh $(BIN)/fathom

bench: build ## the figures of docs/BENCHMARKS.md (long; wants a quiet machine)
	scripts/run-benches.sh $(BIN)/python

ublk-test: ## the ublk front end in a packaged kernel under qemu (minutes)
	$(PROGRAMS) --bin fathomd
	scripts/ublk-test.sh target/$(PROFILE)/fathomd

wheel: $(VENV)/.installed ## wheel and sdist into dist/
	$(BIN)/maturin build --release --sdist --out dist

any-system: build ## diagnose, plan, simulate, report, compare on an extension without the real driver, and a wheel of it
	cargo build -p fathom-python --no-default-features --profile $(PROFILE) --locked --target-dir target/virtual
	FATHOM_CORE=$(CURDIR)/target/virtual/$(PROFILE)/lib_core.so $(BIN)/python -m pytest tests/pipeline/test_any_system.py
	$(BIN)/maturin build --release --no-default-features --out dist/virtual

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
	touch $@

$(VENV)/.test-packages: scripts/install-test-packages.sh | $(VENV)/.installed
	scripts/install-test-packages.sh
	touch $@

$(VENV)/.built: $(VENV)/.installed $(RUST)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile $(PROFILE) --locked --skip-install --quiet
	$(PROGRAMS) --bin fathomd
	ln -sf $(CURDIR)/target/$(PROFILE)/fathomd $(BIN)/fathomd
	touch $@
