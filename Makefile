# Every target sets up what it needs. `make demo` is the place to begin.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.locked
LOCK := locks/development.txt
FIND_PYTHON := for name in "$$PYTHON" python3 python3.13 python3.12 python3.11; do \
	[ -n "$$name" ] && command -v "$$name" >/dev/null 2>&1 && \
	"$$name" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && \
	{ echo "$$name"; exit 0; }; done; exit 0

.PHONY: help setup demo up services test check bench locks translations

help: ## what there is
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 20

$(STAMP): $(LOCK)
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "boostflow needs Python 3.11, 3.12 or 3.13 with venv (on Debian: apt install python3 python3-venv)."; \
		echo "If one has another name: make PYTHON=/path/to/python3.12 …"; exit 1; fi; \
	echo "Setting up $(VENV) with $$($$python --version)"; \
	"$$python" -m venv --clear $(VENV) && \
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK) && touch $@

setup: $(STAMP) ## the virtual environment, as locked

translations: $(STAMP)
	@$(PY) -m devtools.translations

demo: $(STAMP) translations ## start everything, run the tour, stop everything
	$(PY) -m devtools.demo

up: $(STAMP) translations ## everything, until Ctrl-C
	$(PY) -m devtools.up

services: $(STAMP) ## PostgreSQL and Valkey only, until Ctrl-C
	$(PY) -m devtools.services

test: $(STAMP) translations ## the tests, with servers of their own
	$(PY) -m pytest $(ARGS)

check: $(STAMP) translations ## style, types, layers, migrations, rules, translations
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m devtools.rules --check
	$(PY) -m devtools.reasons
	$(PY) -m devtools.translations --check

bench: $(STAMP) ## the load tests
	$(PY) -m benchmarks $(ARGS)

UV_COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet
locks: pyproject.toml ## compile the locks again (needs uv)
	@command -v uv >/dev/null || { echo "make locks needs uv."; exit 1; }
	$(UV_COMPILE) pyproject.toml -o locks/production.txt
	$(UV_COMPILE) pyproject.toml --extra development -o locks/development.txt
