# Everything that is done to this project is a target here: `make help`.

VENV ?= .venv
PYTHON ?= $(shell tools/find-python)
CONFIG = config.yaml
ARGS =

BIN = $(VENV)/bin
# Other supported releases of vLLM than the pinned one.
OTHERS = $(patsubst requirements/vllm-%.lock,%,$(wildcard requirements/vllm-*.lock))
VERSION = $(firstword $(OTHERS))
OLD = 0.32.0
NEW = $(lastword $(OTHERS))

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
	--no-header --generate-hashes --index-strategy unsafe-best-match

.DEFAULT_GOAL := help
.PHONY: help serve setup setup-dev test soak test-ray lint types format lock
.PHONY: test-vllm contract-all vllm-diff fuzz-api bench

help: ## Show this text
	@echo 'vllm-di, by target:'
	@sed -n 's/^\([a-z-]*\):.*## /  \1	/p' $(MAKEFILE_LIST) | expand -t 16
	@echo 'Settings: PYTHON=python3.12 VENV=.venv CONFIG=config.yaml ARGS="--set KEY=VALUE"'

serve: setup ## Serve the models of config.yaml; the server itself unpacks a bundled model
	@exec $(BIN)/vllm-di serve --config $(CONFIG) $(ARGS)

setup: ## Make .venv with all that serving needs, from the locks
	@$(PYTHON) -m tools.environment $(VENV)

setup-dev:
	@$(PYTHON) -m tools.environment $(VENV) --dev

test: setup-dev ## Run every test: fast ones, heavy ones, those with an engine
	$(BIN)/python -m pytest -m "not heavy and not engine" -n logical
	$(BIN)/python -m pytest -m "heavy and not engine and not soak" -n logical
	$(BIN)/python -m pytest -m "engine and not soak" -n 2 --dist loadgroup

soak: setup-dev ## Run what `make test` leaves out: what takes long and seldom breaks
	$(BIN)/python -m pytest -m soak --ignore tests/ray -n 2 --dist loadgroup

test-ray: setup-dev ## Run the tests that start Ray, which finds what others of them start
	$(BIN)/python -m pytest tests/ray

test-vllm: VENV = .venv-vllm-$(VERSION)
test-vllm: export VLLM_TARGET_DEVICE = cpu
test-vllm: ## Run every test with another vLLM in an environment of its own: VERSION=0.31.0
	@$(PYTHON) -m tools.environment $(VENV) --dev --vllm $(VERSION)
	$(BIN)/python -m pytest -m "not heavy and not engine" -n logical
	$(BIN)/python -m pytest -m "heavy and not engine and not soak" -n logical
	@# Where there are but the Python files of a CUDA build, no engine can start.
	grep -qs '^vllm==' requirements/vllm-$(VERSION).lock || \
		$(BIN)/python -m pytest -m "engine and not soak" -n 2 --dist loadgroup

contract-all: export VLLM_TARGET_DEVICE = cpu
contract-all: setup-dev ## Run the contract tests with every other supported vLLM's files
	@for version in $(OTHERS); do \
		files=$$($(BIN)/python -m tools.vllm_releases.overlay $$version) && \
		echo "contract tests with vLLM $$version" && \
		PYTHONPATH=$$files $(BIN)/python -m pytest tests/contract -q -n logical || exit; \
	done

vllm-diff: setup-dev ## Show what changed between two releases: OLD=0.32.0 NEW=0.33.0
	@$(BIN)/python -m tools.vllm_releases $(OLD) $(NEW)

bench: setup-dev ## Measure against vLLM's own server, all or one part: ONLY=frontend
	@$(BIN)/python -m bench $(ONLY) $(ARGS)

fuzz-api: setup-dev ## Send generated requests to every route of a real server
	@$(PYTHON) -m venv $(VENV)-fuzz
	@$(VENV)-fuzz/bin/pip install --quiet --require-hashes -r requirements/fuzz.lock
	@$(BIN)/python -m tools.api_fuzz --schemathesis $(VENV)-fuzz/bin/schemathesis $(ARGS)

lint: setup-dev ## Check style, formatting and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: setup-dev ## Check types
	$(BIN)/mypy

format: setup-dev ## Mend what `make lint` can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: setup-dev ## Compile the locks again, keeping versions where possible
	$(LOCK) requirements/cpu.in -o requirements/cpu.lock \
		--override requirements/overrides.txt --no-emit-package torch
	$(LOCK) requirements/cuda.in -o requirements/cuda.lock
	$(LOCK) requirements/dev.in -o requirements/dev.lock
	$(LOCK) requirements/fuzz.in -o requirements/fuzz.lock
	for version in $(OTHERS); do $(BIN)/python -m tools.lock_release $$version; done
	sed -i -f tools/constant-markers.sed requirements/*.lock
