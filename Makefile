# Everything a contributor needs. On a machine with Python 3.11+, git and make: `make demo`, `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests and benchmarks start the program hundreds of times: compiled once, as where it is installed, not at every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test coverage check format bench torture lock clean snapshots screenshots generate

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): requirements.lock pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" VENV="$(VENV)" scripts/setup
	@touch $@

demo: $(READY) ## Do the main job on this repository: no network, no model
	@$(BIN)/python scripts/demo.py

test: $(READY) ## Set everything up, run every test
	@scripts/install_shells
	@scripts/install_browser
	@# In the order of the folders: those with the longest tests come first, and no worker ends long after the others.
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 30

coverage: $(READY) ## The same, and measure coverage
	@$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term

check: $(READY) ## Format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

generate: $(READY) ## Write blocking.py from engine.py, and docs/openapi.json
	@$(BIN)/python scripts/unasync.py
	@$(BIN)/python scripts/write_openapi.py

bench: $(READY) ## Every benchmark, each beside its limit or peer
	@$(BIN)/python -m bench

torture: $(READY) ## Races, fuzzing and hostile input at the full figures, with what was counted
	@PROMPTUARY_TORTURE=1 $(BIN)/python -m pytest -q -rP -m torture --timeout 1800

snapshots: $(READY) ## Write the prompt snapshots anew (then read the diff)
	@PROMPTUARY_UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests/snapshots

screenshots: $(READY) ## Take the pictures of the page in docs/page anew (then look at them)
	@PROMPTUARY_SCREENSHOTS=1 $(BIN)/python -m pytest -q tests/server/test_page_screenshots.py

lock: $(READY) ## Resolve the dependencies anew into requirements.lock
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--extra languages --extra embeddings --group dev --output-file requirements.lock pyproject.toml

clean: ## Remove what the other commands made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage* dist
