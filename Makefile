# The project's entry points. Each target sets up .venv if needed; only python3, venv and make are required.
# Prefer Debian's own Python if it can create environments: tables run on it, and it is built for speed.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  && echo /usr/bin/python3 || echo python3)
BIN := .venv/bin
READY := .venv/.ready
FAST := build/fast
SOURCES := $(shell find firmware_bridge controller simulators -name '*.py')

.PHONY: run test test-compiled fast test-crash test-powercut test-browser screens chromium fuzz soak lint bench campaign docs manual lock deb
.PHONY: test-campaign test-attack test-mutants test-deb test-appliance test-python313 clean

run: $(READY)
	@$(BIN)/shoed --simulate --game $(or $(GAME),dragon-poker) --announce --speed 4

# Lint and all tests in parallel. `make test ARGS=tests/core/test_round.py` runs only that file, without lint; ARGS takes
# any pytest option. Two test processes per core, because many tests wait for another process. Temporary files are kept in
# memory if there is room. Bytecode is always cached; otherwise each process that a test starts would compile everything.
# The recipe must not use the variable MAKE, because `make -n` would then run it.
WORKERS ?= $(shell echo $$((2 * $$(nproc))))
PYTEST = PYTHONDONTWRITEBYTECODE= $(if $(IN_MEMORY),TMPDIR=/dev/shm) $(BIN)/pytest
IN_MEMORY = $(shell test -w /dev/shm && test "$$(df --output=avail /dev/shm | tail -n 1)" -gt 1000000 && echo yes)
LINT = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
ifdef ARGS
test: $(READY)
	$(PYTEST) $(ARGS)
else
test: $(READY)
	@mkdir -p build
	@{ $(LINT); } >build/lint.log 2>&1 & lint=$$!; \
	  $(PYTEST) -n $(WORKERS) --dist worksteal; tests=$$?; \
	  wait $$lint; lint=$$?; cat build/lint.log; exit $$((tests + lint))
endif

# All planted defects, all kinds of tampering, every shift that ever failed, and EXAMPLES random tables.
EXAMPLES ?= 220
test-campaign: $(READY)
	EXAMPLES=$(EXAMPLES) $(PYTEST) -n $(WORKERS) --dist worksteal tests/campaign tests/core/test_property.py

# Kill the real daemon at every write and send of a round (STEP=3: every third), and KILLS times at random moments.
KILLS ?= 1000
STEP ?= 1
test-crash: $(READY)
	KILLS=$(KILLS) STEP=$(STEP) $(BIN)/pytest -s tests/crash

# Flood and attack the real daemon: from devices, and from clients of the socket and the screen's port.
test-attack: $(READY)
	$(PYTEST) tests/attack

# Test the screen in Debian's Chromium, against a real daemon that simulates a table.
test-browser: $(READY) chromium
	$(BIN)/pytest -n 2 --dist worksteal tests/browser

# Retake the screenshots in docs/screens.
screens: $(READY) chromium
	$(BIN)/python -m tests.browser.screens

# Installs Chromium and the font used in the screenshots, if they are missing.
chromium:
	@dpkg -s chromium fonts-inter >/dev/null 2>&1 || { \
	  test "$$(id -u)" = 0 || { echo "as root: apt-get install chromium fonts-inter"; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends chromium fonts-inter; }

# Journal and daemon on a disk that loses power and tears writes: SEEDS runs of the journal, CUTS cuts of the daemon.
SEEDS ?= 200
CUTS ?= 40
test-powercut: $(READY)
	SEEDS=$(SEEDS) CUTS=$(CUTS) $(BIN)/pytest -s tests/powercut

# Look for bytes that break a parser, FUZZ_S seconds for each: with atheris if available, otherwise with hypothesis.
FUZZ_S ?= 60
fuzz: $(READY)
	@test -d build/atheris || $(BIN)/pip install -q --disable-pip-version-check --target build/atheris atheris==3.0.0 || true
	PYTHONPATH=build/atheris $(BIN)/python -m tests.fuzz --seconds $(FUZZ_S)

# SOAK_ROUNDS rounds with the real daemon; its resource usage is written to build/soak.json and build/soak.html.
SOAK_ROUNDS ?= 2000
soak: $(READY)
	SOAK_ROUNDS=$(SOAK_ROUNDS) $(BIN)/python -m tests.soak

lint: $(READY)
	$(LINT)

# ROUNDS rounds with failures of every kind, and every planted defect; see docs/reliability.md. Without SEED, a random
# seed is used; it is printed at the start and in the report, so that the run can be repeated. Without GAME, the rounds
# are divided between all games.
ROUNDS ?= 100000
campaign: $(FAST)/.ready
	PYTHONPATH=$(FAST) $(BIN)/shoesim campaign $(if $(SEED),--seed $(SEED)) --rounds $(ROUNDS) $(if $(GAME),--game $(GAME)) --jobs $$(nproc) --html build/campaign.html
	$(BIN)/shoesim campaign --rounds 0 --jobs $$(nproc) --defects

# Change N conditions in the core's rules, one at a time, and check that the tests notice; see tests/mutants.
N ?= 100
test-mutants: $(READY)
	$(BIN)/python -m tests.mutants --number $(N) $(if $(SEED),--seed $(SEED))

# Compile the code that a round runs through with mypyc, only for campaigns and benchmarks. Needs a C compiler.
fast: $(FAST)/.ready
$(FAST)/.ready: $(READY) $(SOURCES)
	@echo "compiling the code of a round; this takes a few minutes ..."
	@$(BIN)/python -m simulators.compiled $(FAST)
	@touch -r $(FAST)/.made $@ # as old as the copy, which lacks whatever was changed while it was being compiled

# The same rounds and the same campaign, compiled and interpreted: journal and report must be identical to the byte.
test-compiled: $(FAST)/.ready
	FAST=$(FAST) $(BIN)/pytest tests/compiled

bench: $(READY) $(FAST)/.ready chromium
	FAST=$(FAST) $(BIN)/python -m tests.bench

# The environment contains exactly what requirements.lock lists, with hashes checked, and this checkout itself.
$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Regenerate requirements.lock from pyproject.toml (for maintainers; downloads pip-tools; review the diff).
lock:
	$(PYTHON) -m venv build/lock-venv
	build/lock-venv/bin/pip install -q pip-tools
	build/lock-venv/bin/pip-compile -q --all-extras --generate-hashes --strip-extras --allow-unsafe --upgrade \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header -o requirements.lock pyproject.toml

# The manual pages and shell completions, generated from the commands' help.
manual: $(READY)
	@$(BIN)/python -m controller.cli.manual build/man
	@$(BIN)/python -m controller.cli.completion build/completion

# Build the Debian package into build/: for Debian 13, or 12 with DEBIAN=12 (root; mmdebstrap, systemd-container).
deb: $(READY) manual
	$(BIN)/python -m debian.build $(DEBIAN)

# With PACKAGE=built, the next two targets test the packages that are already in build/.
BUILD_IT := $(if $(filter built,$(PACKAGE)),$(READY),deb)

# Install, upgrade, remove and purge the packages for both releases, or only for DEBIAN, in containers (root; also cc).
# Each test builds on those before it, so the cache is cleared: a second try runs all of them, not only those that failed.
test-deb: DEBIAN ?= 13 12
test-deb: $(BUILD_IT)
	DEBIAN="$(DEBIAN)" $(BIN)/pytest --cache-clear tests/package

# Test the package on a real Debian 13 in an emulated machine: kernel, systemd, udev, USB, power (root; takes minutes).
test-appliance: $(BUILD_IT)
	DEBIAN="$(DEBIAN)" $(BIN)/python -m tests.appliance

# All tests on Debian 13's Python 3.13, in a copy of this checkout (root; mmdebstrap, systemd-container). The copy is
# thrown away, so tests that fail, perhaps on a busy machine, are retried once inside it.
IN_313 = $(or $(ARGS),-n $(WORKERS) --dist worksteal)
test-python313: $(READY)
	$(BIN)/python -m debian.system 13 sh -c 'make test ARGS="$(IN_313)" || make test ARGS="$(IN_313) --last-failed"'

docs: $(READY)
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv build dist
