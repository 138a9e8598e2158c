# A thin front: the work is in scripts/setup.sh, because make cannot handle paths with spaces.

VENV ?= .venv
PYTHON ?= python3
TORCH ?=
PYTEST_ARGS ?=
QUICK ?=
BENCH_ARGS ?=
export VENV PYTHON TORCH

# Absolute, because the programs that are started here may change directory.
with_venv = bin=$$(cd "$(VENV)/bin" && pwd) && PATH="$$bin:$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup demo check format test-fast test bench clean distclean

help: ## list the targets (the default)
	@echo 'Targets:'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile
	@echo 'Variables:'
	@echo '  VENV         environment to create or use (default .venv). The active one:'
	@echo '               make setup VENV="$$VIRTUAL_ENV"   or   make setup VENV="$$CONDA_PREFIX"'
	@echo '  PYTHON       Python (3.9 or newer) for a new environment (default python3)'
	@echo '  TORCH        what to tell "pip install" where torch is missing (default: constraints.txt),'
	@echo '               for instance TORCH="torch==2.8.0 --index-url URL-OF-CPU-BUILDS"'
	@echo '  PYTEST_ARGS  arguments for pytest, for instance PYTEST_ARGS="-k setup -x"'
	@echo '  QUICK        QUICK=1: a short "make bench"'
	@echo '  BENCH_ARGS   arguments for the benchmark, for instance BENCH_ARGS="--profile"'

setup: ## install everything into VENV (3 to 5 minutes if fairseq must be compiled)
	@bash scripts/setup.sh

demo: setup ## train, compare and explain models on a synthetic corpus (ten minutes)
	@$(with_venv) bash examples/demo/run.sh

check: ## lint, formatting and types: ruff and mypy
	@EXTRAS=dev bash scripts/setup.sh
	@$(with_venv) ruff check .
	@$(with_venv) ruff format --check .
	@$(with_venv) mypy

format: ## sort imports and format everything
	@EXTRAS=dev bash scripts/setup.sh
	@$(with_venv) ruff check --select I --fix .
	@$(with_venv) ruff format .

test-fast: ## unit tests, in a minute
	@EXTRAS=dev bash scripts/setup.sh
	@$(with_venv) python -m pytest tests/unit -m 'not slow' $(PYTEST_ARGS)

test: ## all tests (8 minutes on two cores)
	@EXTRAS=dev bash scripts/setup.sh
	@$(with_venv) python -m pytest $(PYTEST_ARGS)

bench: setup ## measure speed and memory beside stock fairseq (30 minutes; QUICK=1: five)
	@$(with_venv) python -m benchmarks $(if $(QUICK),--quick) $(BENCH_ARGS)

clean: ## remove caches and the output of builds, of the demo and of the benchmark
	@rm -rf build dist ./*.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache demo-out bench-out
	@find benchmarks scripts tests wfe_plugin -name __pycache__ -type d -prune -exec rm -rf {} +

# Deletes only an environment that `make setup` made: VENV may name the user's own.
distclean: clean ## clean, and remove VENV if `make setup` created it
	@if [ -f "$(VENV)/.wfe-created" ]; then rm -rf -- "$(VENV)"; \
	elif [ -e "$(VENV)" ]; then echo "distclean: kept $(VENV): 'make setup' did not create it"; fi
