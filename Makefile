# `make demo` and `make test` are the only set-up: both make the environment they need.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
HAS_GPU := $(shell nvidia-smi -L 2>/dev/null)
IS_LINUX := $(filter Linux,$(shell uname -s))

DEV := $(VENV)/.dev
# Neither those that run whole commands and examples nor those that start many processes.
QUICK := $(filter-out $(addprefix tests/,adapters cli dashboard engine inference reproduce runs searching tasks workflow),$(patsubst %/__init__.py,%,$(wildcard tests/*/__init__.py))) \
	tests/engine/test_engine.py tests/test_printable.py tests/test_repository_shape.py tests/test_paper.py

# The sets that tests may use; those that need them say so and are left out without.
export INTERSTELLAR_DATA ?= $(abspath $(wildcard ../shared/data))
ifeq ($(INTERSTELLAR_DATA),)
unexport INTERSTELLAR_DATA
endif

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: demo
demo: $(VENV)/.runtime ## Search a small graph and ask the winner: one minute, no network
	@$(BIN)/python scripts/demo.py

.PHONY: test
test: check docs $(VENV)/.browser ## Run every check and every test
	@mkdir -p build/screenshots
	INTERSTELLAR_SCREENSHOTS=$(CURDIR)/build/screenshots $(BIN)/pytest -n 2 -m "not faults" --cov --cov-report=term:skip-covered

.PHONY: faults
faults: $(DEV) ## Disturb searches at 200 random moments (about 3 minutes)
	$(BIN)/pytest -m faults

.PHONY: quick
quick: $(DEV) ## Run the tests of the parts, in under a minute: no commands, workers or real sets
	$(BIN)/pytest -n 2 -q -m "not slow and not faults and not benchmark_sets" $(QUICK)

.PHONY: check
check: $(DEV) ## Lint, types, layers, spelling, dependencies
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/deptry .

.PHONY: format
format: $(DEV) ## Put the code into the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: docs
docs: $(DEV) ## Build the manual into docs/_build, warnings as errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build

.PHONY: reference
reference: $(DEV) ## Write the reference of commands and names anew
	$(BIN)/python docs/reference.py

.PHONY: tables
tables: $(DEV) ## Write the tables of the manual and the README anew from results
	$(BIN)/python docs/tables.py

.PHONY: rivals
rivals: $(DEV) ## Write the page of rivals anew from results
	$(BIN)/python docs/rivals_page.py

.PHONY: gallery
gallery: $(DEV) ## Draw every network with a name anew
	$(BIN)/python docs/gallery_page.py

.PHONY: pages
pages: $(DEV) $(VENV)/.browser ## Write the reports of the manual anew, and the pictures of pages
	$(BIN)/python docs/example_pages.py

.PHONY: bench
bench: $(DEV) ## Measure speed and memory (needs $$INTERSTELLAR_DATA; about 10 minutes)
	$(BIN)/python benchmarks/read.py
	$(BIN)/python benchmarks/walk.py
	$(BIN)/python benchmarks/scale.py

.PHONY: clean
clean: ## Remove what was built, the environment too
	rm -rf $(VENV) docs/_build build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

# Without a GPU on Linux the plain torch wheel would bring gigabytes of CUDA packages. pip takes
# the CPU build where its sources have it; else uv, which knows where torch keeps its CPU builds.
$(VENV)/.torch: constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer was found. Install one, or set PYTHON."; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install -q -c constraints.txt pip
ifeq ($(IS_LINUX)$(HAS_GPU),Linux)
	$(PIP) install -q -c constraints.txt "torch==$(TORCH)+cpu" || { \
		$(PIP) install -q -c constraints.txt uv && \
		$(BIN)/uv pip install -q --python $(BIN)/python --torch-backend cpu "torch==$(TORCH)"; }
else
	$(PIP) install -q -c constraints.txt torch
endif
	@touch $@

$(VENV)/.runtime: $(VENV)/.torch pyproject.toml
	$(PIP) install -q -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(PIP) install -q -c constraints.txt --group dev
	@touch $@

# Tests open pages in a Chromium; root on Debian gets it, others are told that those tests are left out.
$(VENV)/.browser: $(DEV)
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	{ test "$$(id -u)" = 0 && apt-get install -y -qq chromium >/dev/null 2>&1; } || \
	echo "no Chromium was found or could be installed: tests in a browser are left out"
	@touch $@
