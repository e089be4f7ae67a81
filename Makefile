# Everything that is done to this project is a target here: `make help`.

VENV ?= .venv
PYTHON ?= $(shell tools/find-python)
CONFIG = config.yaml
ARGS =

BIN = $(VENV)/bin
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate \
	--no-header --generate-hashes --index-strategy unsafe-best-match

.DEFAULT_GOAL := help
.PHONY: help serve setup setup-dev test soak lint types format lock

help: ## Show this text
	@echo 'vllm-di, by target:'
	@sed -n 's/^\([a-z]*\):.*## /  \1	/p' $(MAKEFILE_LIST) | expand -t 12
	@echo 'Settings: PYTHON=python3.12 VENV=.venv CONFIG=config.yaml ARGS="--set KEY=VALUE"'

serve: setup ## Serve the models of config.yaml; the server itself unpacks a bundled model
	@exec $(BIN)/vllm-di serve --config $(CONFIG) $(ARGS)

setup: ## Make .venv with all that serving needs, from the locks
	@$(PYTHON) -m tools.environment $(VENV)

setup-dev:
	@$(PYTHON) -m tools.environment $(VENV) --dev

test: setup-dev ## Run every test: fast ones, heavy ones, those with an engine
	$(BIN)/python -m pytest -m "not heavy and not engine" -n logical
	$(BIN)/python -m pytest -m "heavy and not engine" -n logical
	$(BIN)/python -m pytest -m "engine and not soak" -n 2 --dist loadgroup

soak: setup-dev ## Run what `make test` leaves out: rarer ways for an engine to end
	$(BIN)/python -m pytest -m soak -n 2

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
	$(LOCK) requirements/dev.in -o requirements/dev.lock
	sed -i -f tools/constant-markers.sed requirements/*.lock
