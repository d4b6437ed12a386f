# Everything runs in .venv, which is made on first use and brought up to date when its inputs change.
#   PYTHON           the interpreter that makes .venv          make setup PYTHON=python3.12
#   ARGS             passed on to pytest, bench or the server  make test ARGS="-k markers -x"
#   JOBS             how many tests run at the same time; they wait more than they work
#   SYSTEM_PACKAGES  programs the tests use when present, as PACKAGE or PACKAGE:COMMAND

PYTHON ?= python3
ARGS ?=
JOBS ?= 4
SYSTEM_PACKAGES ?= zsh fish dash chromium bubblewrap:bwrap
BENCH_PACKAGES ?= tmux

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
SCRIPTS := scripts/install-bench-peers scripts/update-constraints
# -c holds for what is installed. What builds it (hatchling and what it needs) is held by the second variable
# since pip 25.3, by the first before.
PIP_ENV := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
PIP_INSTALL := $(PIP_ENV) $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -c constraints.txt

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: .venv/.installed ## Make .venv with hermitty and its development tools

.PHONY: serve
serve: .venv/.serving ## Start the server with its web page
	@exec $(BIN)/hermitty serve $(ARGS)

.PHONY: test
test: setup system-packages web-packages protocol-packages ray ## Run the whole test suite
	@scripts/run-tests $(BIN)/python $(JOBS) $(ARGS)

.PHONY: bench
bench: bench-peers ## Run the benchmarks
	@$(BIN)/python -m bench $(ARGS)

.PHONY: soak
soak: setup ## Run 15 minutes of mixed load and look for what is lost or left
	@$(BIN)/python -m soak $(ARGS)

.PHONY: check check-format check-lint check-types check-layers check-constraints check-web
check: check-format check-lint check-types check-layers check-constraints check-web ## Check format, lint, types, layers, pins and the built page

check-format: setup
	@$(BIN)/ruff format --quiet --check . $(SCRIPTS) || { echo "badly formatted; run: make format" >&2; \
	  $(BIN)/ruff format --check . $(SCRIPTS); exit 1; }

check-lint: setup
	@$(BIN)/ruff check --quiet . $(SCRIPTS)

check-types: setup
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/mypy --no-error-summary --scripts-are-modules $(SCRIPTS)

check-layers: setup
	@$(BIN)/python -m pytest tests/test_layers.py

check-constraints: setup
	@$(BIN)/python scripts/update-constraints --check

check-web:
	@scripts/check-web

.PHONY: format
format: setup ## Format the code and fix what lint can fix
	@$(BIN)/ruff check --quiet --fix-only . $(SCRIPTS)
	@$(BIN)/ruff format . $(SCRIPTS)

.PHONY: clean
clean: ## Remove everything that was made here, .venv too
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: system-packages web-packages protocol-packages ray bench-peers
system-packages:
	@scripts/system-packages $(SYSTEM_PACKAGES)

web-packages:
	@scripts/web-packages || echo "web-packages: npm failed; what needs its packages is skipped" >&2

protocol-packages:
	@scripts/protocol-packages || echo "protocol-packages: npm failed; what needs its packages is skipped" >&2

ray: setup
	@$(BIN)/python -c 'import ray' 2>/dev/null || $(PIP_INSTALL) --retries 1 --editable '.[ray]' || \
	  echo "ray: it cannot be installed; what needs it is skipped" >&2

bench-peers: setup
	@scripts/system-packages $(BENCH_PACKAGES)
	@$(BIN)/python scripts/install-bench-peers

# A link to the interpreter: gone or dangling, .venv is made anew; the interpreter replaced, packages are installed again.
$(BIN)/python:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "$(PYTHON) was not found. Install Python 3.11 or later, or name one: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$("$(PYTHON)" --version) is too old. hermitty needs Python 3.11 or later; name one: make PYTHON=..." >&2; exit 1; }
	@"$(PYTHON)" -m venv --clear .venv || { rm -rf .venv; \
	  echo "$(PYTHON) cannot make virtual environments (on Debian: apt-get install python3-venv)." >&2; exit 1; }

# What serves is a part of what develops: whoever has that has this.
.venv/.serving: $(BIN)/python pyproject.toml constraints.txt src/hermitty/version.py
	@if ! [ .venv/.installed -nt pyproject.toml ] || ! [ .venv/.installed -nt constraints.txt ]; then \
	  echo "Installing hermitty and its server into .venv"; $(PIP_INSTALL) --editable '.[image,parse,server]'; fi
	@touch $@

.venv/.installed: $(BIN)/python pyproject.toml constraints.txt src/hermitty/version.py
	@echo "Installing hermitty and its development tools into .venv"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $@
