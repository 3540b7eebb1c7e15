# Foresail: `make run` and `make test` are all that a fresh machine needs.
# PYTHON picks the interpreter (3.11 or newer); ARGS goes to `foresail up`.
PYTHON ?= python3
ARGS ?= --config examples/first-run.toml
# Many tests wait for real processes, so five workers keep two cores busy. One that dies ends the run and names its test:
# a worker in its place would begin with that test again.
WORKERS ?= 5
PYTEST_ARGS ?=

BIN := .venv/bin
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --max-worker-restart 0 --dist loadfile --no-loadscope-reorder --durations 20
# Every test run starts hundreds of processes: bytecode is kept, in one folder that leaves with .venv.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Only wheels with known hashes; on a terminal with a bar and the time left.
INSTALL := $(BIN)/python deploy/install.py
ITSELF := $(PIP) install --no-deps --no-build-isolation --editable twin --editable .
SETUP_DONE := .venv/.setup-done
DEV_DONE := .venv/.dev-done
BYTECODE := .venv/.bytecode-done
# Ray and what it alone needs, beside everything of .venv; 250 MB that no other test asks for.
RAY_BIN := .venv-ray/bin
RAY_DONE := .venv-ray/.done
LEARN := .venv-learn
LEARN_DONE := $(LEARN)/.done
# RLlib beside everything of .venv-learn; 450 MB more, and a gymnasium of its own.
RLLIB := .venv-rllib
RLLIB_DONE := $(RLLIB)/.done
TORCH := torch==2.13.0
NPM_CHECK := tests/schemas/asyncapi
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--no-emit-package foresail-twin --generate-hashes --no-emit-index-url --no-emit-find-links --no-header

.DEFAULT_GOAL := help
.PHONY: web help setup run dev test test-twin test-ray test-learn test-rllib test-all quick lint format bench prove size lock sbom audit clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(SETUP_DONE) ## Install everything into .venv; leaves .venv/bin/foresail

run: $(SETUP_DONE) ## Start the whole stack on a site that opens at ten; Ctrl-C stops it. ARGS="..." runs something else
	@$(BIN)/foresail up $(ARGS)

dev: $(DEV_DONE) ## Install what tests and linters need

test: $(DEV_DONE) $(BYTECODE) ## Run Foresail's tests. PYTEST_ARGS="-k referee -x" picks some
	@$(MAKE) --no-print-directory npm-check
	$(PYTEST) tests $(PYTEST_ARGS)

test-twin: $(DEV_DONE) ## Run the simulated cluster's own tests, and keep the hash of what passed
	$(PYTEST) twin/tests $(PYTEST_ARGS)
	@[ -n "$(PYTEST_ARGS)" ] || $(BIN)/python -m tests.twin_suite --keep

test-ray: $(RAY_DONE) ## Run the tests that need Ray, in an environment of their own
	PATH="$(CURDIR)/$(BIN):$$PATH" $(RAY_BIN)/python -m pytest -n 0 -k ray tests/lab $(PYTEST_ARGS)

test-learn: $(LEARN_DONE) ## Run the tests that train, with the extra `learn` in an environment of its own
	$(LEARN)/bin/python -m pytest -n 2 --dist loadfile --durations 10 tests/learning_trained tests/lab/learning $(PYTEST_ARGS)
	$(LEARN)/bin/python -m pytest -n 0 tests/docs/test_predecessors.py -k "foresail and learn" $(PYTEST_ARGS)

test-rllib: $(RLLIB_DONE) ## Run the tests that train the three agents by RLlib, in an environment of its own
	$(RLLIB)/bin/python -m pytest -n 0 --durations 5 tests/learning_rllib $(PYTEST_ARGS)

test-all: $(DEV_DONE) ## Run `test` and `test-twin`
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-twin

quick: $(DEV_DONE) ## Lint, types and the tests that start nothing and train nothing
	@$(MAKE) --no-print-directory --jobs 2 lint pure

# Beside linters, most of which use one core: together both cores have work to the end.
.PHONY: pure
pure: $(DEV_DONE)
	$(BIN)/python -m pytest -n 2 --dist loadfile -q --pure $(PYTEST_ARGS)

lint: $(DEV_DONE) ## Check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV_DONE) ## Rewrite files to the formatter's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

web: ## Build the dashboard's page from web/ into services/dashboard/static (needs node; nothing else does)
	npm --prefix web ci --silent
	npm --prefix web run --silent check
	npm --prefix web run --silent build
	npm --prefix web run --silent types

bench: $(DEV_DONE) ## Run the benchmarks and print their figures. FLAGS="--json" goes to them
	$(BIN)/python -m benchmarks $(FLAGS)

prove: $(DEV_DONE) ## Break things on purpose, many times, and print what held. PARTS="faults" picks some
	$(BIN)/python -m proofs $(PARTS)

size: $(DEV_DONE) ## Print lines of Python by room
	@$(BIN)/python -m docs.size

lock: $(DEV_DONE) ## Write the lock files anew from both pyproject.toml
	$(COMPILE) --extra build --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra build --extra dev --constraint requirements.lock \
		--output-file requirements-dev.lock pyproject.toml
	@# Of Ray only what the development lock has not.
	$(COMPILE) --extra ray --constraint requirements-dev.lock \
		$$(sed -n 's/^\([a-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements-dev.lock) \
		--output-file requirements-ray.lock pyproject.toml
	$(COMPILE) --extra build --extra dev --extra learn --constraint requirements-dev.lock --override deploy/torch-left-out.txt \
		--output-file requirements-learn.lock pyproject.toml deploy/torch-needs.in
	@mkdir -p build
	@# Of RLlib only what learn's lock has not; it wants a gymnasium of its own.
	sed -n 's/^\([a-z0-9._-]*==[^ ]*\).*/\1/p' requirements-learn.lock | grep -v '^gymnasium==' > build/rllib-constraints.txt
	$(COMPILE) --extra rllib --constraint build/rllib-constraints.txt \
		$$(sed -n 's/==.*/ /; s/^/--no-emit-package /p' build/rllib-constraints.txt) \
		--output-file requirements-rllib.lock pyproject.toml

sbom: $(DEV_DONE) ## Write the bill of materials, CycloneDX, to build/sbom.cdx.json
	@$(BIN)/python -m deploy.sbom

audit: $(DEV_DONE) ## Ask an advisory service about every locked package; exit code 3: it could not be asked
	@$(BIN)/python -m deploy.audit

clean: ## Remove caches, builds and .venv; state in .foresail stays
	rm -rf .venv .venv-ray $(LEARN) $(RLLIB) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf $(NPM_CHECK)/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(SETUP_DONE): requirements.lock pyproject.toml twin/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "foresail needs Python 3.11 or newer; $(PYTHON) is: $$($(PYTHON) --version 2>&1 | head -n 1)." \
		"Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) has no venv or no ensurepip." \
		"Install it (Debian, Ubuntu: apt-get install python3-venv) and try again." >&2; exit 2; }
	@echo "Installing into .venv (once; a minute or two) ..."
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@$(INSTALL) requirements.lock
	@$(ITSELF)
	@touch $@

$(DEV_DONE): requirements-dev.lock $(SETUP_DONE)
	@echo "Installing what tests need into .venv (once) ..."
	@$(INSTALL) requirements-dev.lock
	@touch $@

# Two processes write what each of five workers would otherwise make for itself on a fresh tree.
$(BYTECODE): $(DEV_DONE)
	@for half in "[a-e]*" "[f-z]*"; do $(BIN)/python -m pytest -n 0 -q --collect-only tests/$$half/ >/dev/null & done; wait
	@touch $@

$(RAY_DONE): requirements-ray.lock $(DEV_DONE)
	@echo "Installing Ray into .venv-ray (once) ..."
	@[ -x $(RAY_BIN)/python ] || $(BIN)/python -m venv .venv-ray
	@echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
		> "$$($(RAY_BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth"
	@$(RAY_BIN)/python deploy/install.py requirements-ray.lock
	@touch $@

# PIP_FIND_LINKS may name a folder with torch's CPU wheel (190 MB); without one, the index gives the build with CUDA (3 GB).
$(LEARN_DONE): requirements-learn.lock pyproject.toml
	@echo "Installing the extra \`learn\` into $(LEARN) (once; some minutes) ..."
	@[ -x $(LEARN)/bin/python ] || $(PYTHON) -m venv $(LEARN)
	@$(LEARN)/bin/python -m pip --disable-pip-version-check --quiet install $(TORCH)
	@$(LEARN)/bin/python deploy/install.py requirements-learn.lock
	@$(LEARN)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-build-isolation --editable twin --editable .
	@touch $@

$(RLLIB_DONE): requirements-rllib.lock $(LEARN_DONE)
	@echo "Installing RLlib into $(RLLIB) (once) ..."
	@[ -x $(RLLIB)/bin/python ] || $(PYTHON) -m venv $(RLLIB)
	@echo "import site; site.addsitedir('$$($(CURDIR)/$(LEARN)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
		> "$$($(RLLIB)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth"
	@$(RLLIB)/bin/python deploy/install.py requirements-rllib.lock
	@touch $@

# The AsyncAPI project's own parser exists only for Node.js; without npm that one test skips itself.
.PHONY: npm-check
npm-check:
	@if command -v npm >/dev/null && [ ! -d $(NPM_CHECK)/node_modules ]; then \
		npm --prefix $(NPM_CHECK) install --no-audit --no-fund --silent; fi
