# Every task of the project; `make help` lists them.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := install --quiet --disable-pip-version-check --constraint constraints.txt
INSTALLED := $(VENV)/.installed
BENCH := .venv-bench
RECBOLE := .venv-recbole
ADAPTERS := .venv-adapters
RECTOOLS := .venv-rectools
MLFLOW := .venv-mlflow
RANKERS := .venv-rankers
MCGRAD := .venv-mcgrad
SQL := .venv-sql
CLIENTS := .venv-clients
WHEELS := build/wheels
BASE := build/base-venv
DEMO_OUTPUT ?= demo-output
DATA ?=
SURENESS_DATA ?= ../shared/data

.DEFAULT_GOAL := help
.PHONY: help install demo test check format doctest docs stubs wheel test-base test-adapters test-sql test-spark test-service test-browser attack-service bench-service sql-table recbole bench bench-spark attack clean

help:  ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## Create .venv and install the library and the reproduction with everything to develop them

$(INSTALLED): pyproject.toml reproduction/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip $(PIP) --editable '.[dev]' --editable reproduction
	@touch $@

demo: $(INSTALLED)  ## Show what it is good for, in a simulated world; DATA=ml-100k: on real data in SURENESS_DATA
	SURENESS_DATA='$(SURENESS_DATA)' $(BIN)/sureness demo --output $(DEMO_OUTPUT) $(if $(DATA),'$(DATA)')

test: $(INSTALLED)  ## Run all tests
	$(BIN)/python -m pytest

check: $(INSTALLED)  ## Lint, types, import layers, examples in docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/types -n 0
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory doctest

doctest: $(INSTALLED)  ## Run the examples in docstrings
	$(BIN)/python -m pytest --doctest-modules src reproduction/src -o addopts="-q -p no:xdist"

docs: $(INSTALLED)  ## Build the documentation into build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open build/site/index.html"

stubs: $(INSTALLED)  ## Write the public names of every package as __init__.pyi, for type checkers
	$(BIN)/python tools/stubs.py

format: $(INSTALLED)  ## Sort imports and lay out the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(INSTALLED)  ## Build the wheels of the library and of the reproduction into build/wheels
	rm -rf $(WHEELS)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(WHEELS) . ./reproduction

test-base: wheel  ## Test the library's wheel in a fresh environment without extras
	rm -rf $(BASE) build/base-saved
	$(BIN)/python -m tests.base.saved build/base-saved
	$(PYTHON) -m venv $(BASE)
	$(BASE)/bin/python -m pip $(PIP) $(WHEELS)/sureness-*.whl
	$(BIN)/python -m pytest tests/base

$(ADAPTERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(ADAPTERS)
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[adapters]'
	@touch $@

$(RECTOOLS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(RECTOOLS)
	$(RECTOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[rectools]'
	@touch $@

$(MLFLOW)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(MLFLOW)
	$(MLFLOW)/bin/python -m pip $(PIP) --editable '.[mlflow]' sqlalchemy alembic pytest pytest-xdist hypothesis
	@touch $@

$(RANKERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(RANKERS)
	$(RANKERS)/bin/python -m pip $(PIP) --no-compile --editable '.[rankers]'
	@touch $@

test-adapters: $(ADAPTERS)/.installed $(RECTOOLS)/.installed $(MLFLOW)/.installed $(RANKERS)/.installed  ## Test RecBole, LightFM, Surprise, RecTools, MLflow, rankers and BM25 in environments of their own
	$(ADAPTERS)/bin/python -m pytest tests/sources/adapters
	$(ADAPTERS)/bin/python -m pytest tests/test_documents.py -k "recbole or lightfm or surprise"
	$(RECTOOLS)/bin/python -m pytest tests/sources/adapters/test_rectools.py
	$(RECTOOLS)/bin/python -m pytest tests/test_documents.py -k rectools
	$(MLFLOW)/bin/python -m pytest tests/test_mlflow.py tests/test_documents.py -k mlflow -n 0 -W default
	$(RANKERS)/bin/python -m pytest tests/benchmarks/test_any_score.py -n 0
	$(RANKERS)/bin/python -m pytest tests/test_documents.py -k "run_in_order and (rankers or click or retrieval)" -n 0

$(SQL)/.installed: pyproject.toml constraints.txt tools/install_databases.sh
	bash tools/install_databases.sh
	$(PYTHON) -m venv $(SQL)
	$(SQL)/bin/python -m pip $(PIP) --editable '.[databases]'
	@touch $@

test-sql: $(SQL)/.installed  ## Run the SQL of every calibrator on DuckDB, SQLite, PostgreSQL and Spark
	SURENESS_DATABASES=all $(SQL)/bin/python -m pytest tests/sql tests/expressions tests/calibration/test_expressions.py -n 0

test-spark: $(SQL)/.installed  ## Test sureness.spark on real sessions of Spark, classic and through Spark Connect
	SURENESS_DATA='$(SURENESS_DATA)' SURENESS_SPARK=connect $(SQL)/bin/python -m pytest tests/spark -n 0 -k connect & \
	connect=$$!; \
	SURENESS_DATA='$(SURENESS_DATA)' SURENESS_SPARK=classic $(SQL)/bin/python -m pytest tests/spark -n 0 -k "not connect"; \
	classic=$$?; wait $$connect && exit $$classic

$(VENV)/.service: $(INSTALLED) tools/install_clients.sh
	bash tools/install_clients.sh
	$(BIN)/python -m pip $(PIP) --editable '.[service]'
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check schemathesis==4.32.5 openapi-python-client==0.29.1
	@touch $@

test-service: $(VENV)/.service  ## Test `sureness serve` with clients of others against a real server, reloads under load too
	$(BIN)/python -m pytest tests/service -n 2

test-browser: $(VENV)/.service  ## Drive every view of the explorer in Chromium, on a phone and on a desktop
	$(BIN)/python -m pytest tests/browser -n 0

attack-service: $(VENV)/.service  ## Ten minutes of reloads under load, 100,000 mixed requests, 10,000 connections
	$(BIN)/python -m tests.service.attack

bench-service: $(VENV)/.service $(MLFLOW)/.installed  ## Measure the service with wrk and h2load; writes benchmarks/RESULTS-service.md
	$(BIN)/python -m benchmarks.service

sql-table: $(SQL)/.installed  ## Compare that SQL with Python on real databases; writes the table of docs/measured/databases.md
	$(SQL)/bin/python -m tests.sql.table

$(BENCH)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip $(PIP) torch==2.13.0
	$(BENCH)/bin/python -m pip $(PIP) --editable '.[bench]'
	@touch $@

$(RECBOLE)/.installed: benchmarks/baselines/recbole.txt
	$(PYTHON) -m venv $(RECBOLE)
	$(RECBOLE)/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(RECBOLE)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/baselines/recbole.txt
	@touch $@

recbole: $(RECBOLE)/.installed  ## Create .venv-recbole, where bench runs RecBole, whose pins clash with ours

$(MCGRAD)/.installed: benchmarks/baselines/mcgrad.txt
	$(PYTHON) -m venv $(MCGRAD)
	$(MCGRAD)/bin/python -m pip $(PIP) torch==2.13.0
	$(MCGRAD)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/baselines/mcgrad.txt
	@touch $@

mcgrad: $(MCGRAD)/.installed  ## Create .venv-mcgrad, where benchmarks.segments runs MCGrad

bench: $(BENCH)/.installed $(RECBOLE)/.installed  ## Measure speed against other libraries; writes benchmarks/RESULTS.md
	$(BENCH)/bin/python -m benchmarks.run

bench-spark: $(SQL)/.installed  ## Measure sureness.spark beside plain jobs; writes benchmarks/RESULTS-spark.md
	$(SQL)/bin/python -m benchmarks.spark

attack: $(INSTALLED)  ## Attack it for half an hour: kills, full disks, damage, races, hostile data; writes docs/maintainers/reliability.md
	$(BIN)/python -m tests.attacks

clean:  ## Remove environments and caches
	rm -rf $(VENV) $(BENCH) $(RECBOLE) $(ADAPTERS) $(RECTOOLS) $(MLFLOW) $(RANKERS) $(SQL) $(CLIENTS) demo-output reproduced build .pytest_cache .mypy_cache .ruff_cache .hypothesis
