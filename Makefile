# The doors of the project. Every one of them sets up .venv by itself; only python3, venv and make are needed.
# Debian's own Python where it can make environments: a table runs on it, and it is built for speed.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  && echo /usr/bin/python3 || echo python3)
BIN := .venv/bin
READY := .venv/.ready
FAST := build/fast
SOURCES := $(shell find firmware_bridge controller simulators -name '*.py')

.PHONY: run test test-compiled fast test-crash test-powercut test-browser screens chromium fuzz soak lint bench campaign docs manual lock deb
.PHONY: test-campaign test-attack test-mutants test-deb test-appliance test-python313 clean

run: $(READY)
	@$(BIN)/shoed --simulate --announce --speed 4

# Lint and all tests at the same time. `make test ARGS=tests/core/test_round.py` runs that file alone, without lint; ARGS
# takes any option of pytest. Two test processes per core, because many tests wait for another process. Temporary files
# are in memory if there is room. Bytecode is always cached: otherwise each process that a test starts compiles everything.
# The recipe must not contain the variable MAKE: `make -n` would run it.
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

# Every planted defect, every kind of tampering, every shift that ever failed, and EXAMPLES random tables.
EXAMPLES ?= 220
test-campaign: $(READY)
	EXAMPLES=$(EXAMPLES) $(PYTEST) -n $(WORKERS) --dist worksteal tests/campaign tests/core/test_property.py

# Kill the real daemon at every write and send of a round (STEP=3: every third), and KILLS times at random instants.
KILLS ?= 1000
STEP ?= 1
test-crash: $(READY)
	KILLS=$(KILLS) STEP=$(STEP) $(BIN)/pytest -s tests/crash

# Floods and attacks on the real daemon: from devices, from clients at the socket and at the screen's port.
test-attack: $(READY)
	$(PYTEST) tests/attack

# The screen in Debian's Chromium, against a real daemon that simulates a table.
test-browser: $(READY) chromium
	$(BIN)/pytest -n 2 --dist worksteal tests/browser

# Retake the pictures in docs/screens.
screens: $(READY) chromium
	$(BIN)/python -m tests.browser.screens

# A machine that has Chromium and the font of the pictures is left as it is.
chromium:
	@dpkg -s chromium fonts-inter >/dev/null 2>&1 || { \
	  test "$$(id -u)" = 0 || { echo "as root: apt-get install chromium fonts-inter"; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	  apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends chromium fonts-inter; }

# The journal and the daemon on a disk that loses power and tears writes: SEEDS stories, CUTS in the daemon's life.
SEEDS ?= 200
CUTS ?= 40
test-powercut: $(READY)
	SEEDS=$(SEEDS) CUTS=$(CUTS) $(BIN)/pytest -s tests/powercut

# Look for bytes that break a reader, FUZZ_S seconds for each: with atheris where it can be had, else with hypothesis.
FUZZ_S ?= 60
fuzz: $(READY)
	@test -d build/atheris || $(BIN)/pip install -q --disable-pip-version-check --target build/atheris atheris==3.0.0 || true
	PYTHONPATH=build/atheris $(BIN)/python -m tests.fuzz --seconds $(FUZZ_S)

# SOAK_ROUNDS rounds of the real daemon; what it takes of the machine goes to build/soak.json and build/soak.html.
SOAK_ROUNDS ?= 2000
soak: $(READY)
	SOAK_ROUNDS=$(SOAK_ROUNDS) $(BIN)/python -m tests.soak

lint: $(READY)
	$(LINT)

# ROUNDS rounds with failures of every kind, and every planted defect; docs/reliability.md. Without SEED, a new one is
# drawn; it is printed first and in the report, so that the run can be repeated.
ROUNDS ?= 100000
campaign: $(FAST)/.ready
	PYTHONPATH=$(FAST) $(BIN)/shoesim campaign $(if $(SEED),--seed $(SEED)) --rounds $(ROUNDS) --jobs $$(nproc) --html build/campaign.html
	$(BIN)/shoesim campaign --rounds 0 --jobs $$(nproc) --defects

# Change N conditions in the rules of the core, one at a time, and see whether the tests notice; tests/mutants.
N ?= 100
test-mutants: $(READY)
	$(BIN)/python -m tests.mutants --number $(N) $(if $(SEED),--seed $(SEED))

# What a round goes through, compiled with mypyc: for campaigns and figures alone. Needs a C compiler.
fast: $(FAST)/.ready
$(FAST)/.ready: $(READY) $(SOURCES)
	@echo "compiling what a round goes through, a few minutes ..."
	@$(BIN)/python -m simulators.compiled $(FAST)
	@touch -r $(FAST)/.made $@ # as old as the copy: what was changed while it was compiled is not in it

# The same rounds and the same campaign, compiled and not: every byte of the journal and of the report is the same.
test-compiled: $(FAST)/.ready
	FAST=$(FAST) $(BIN)/pytest tests/compiled

bench: $(READY) $(FAST)/.ready chromium
	FAST=$(FAST) $(BIN)/python -m tests.bench

# The environment holds exactly what requirements.lock names, hashes checked, and this checkout itself.
$(READY): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv ..."
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Regenerate requirements.lock from pyproject.toml (needs pip-tools; run by a maintainer, read the diff).
lock:
	$(PYTHON) -m venv build/lock-venv
	build/lock-venv/bin/pip install -q pip-tools
	build/lock-venv/bin/pip-compile -q --all-extras --generate-hashes --strip-extras --allow-unsafe --upgrade \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-header -o requirements.lock pyproject.toml

# The manual pages and the completions of the shells, written from the help of the commands.
manual: $(READY)
	@$(BIN)/python -m controller.cli.manual build/man
	@$(BIN)/python -m controller.cli.completion build/completion

# The Debian package, into build/: for Debian 13, or another release with DEBIAN=12 (root; mmdebstrap, systemd-container).
deb: $(READY) manual
	$(BIN)/python -m debian.build $(DEBIAN)

# With PACKAGE=built, these two test the packages that are already in build/.
BUILD_IT := $(if $(filter built,$(PACKAGE)),$(READY),deb)

# Install, upgrade, remove and purge the packages for both releases, or the one in DEBIAN, in containers (root; cc too).
# Each test builds on those before it, so a second try forgets which ones failed and runs all of them.
test-deb: DEBIAN ?= 13 12
test-deb: $(BUILD_IT)
	DEBIAN="$(DEBIAN)" $(BIN)/pytest --cache-clear tests/package

# The package on a real Debian 13 in an emulated machine: kernel, systemd, udev, USB and power (root; takes minutes).
test-appliance: $(BUILD_IT)
	DEBIAN="$(DEBIAN)" $(BIN)/python -m tests.appliance

# All tests on the Python 3.13 of Debian 13, in a copy of this checkout (root; mmdebstrap, systemd-container). The copy is
# thrown away, so those that fail on a busy machine are tried once more inside.
IN_313 = $(or $(ARGS),-n $(WORKERS) --dist worksteal)
test-python313: $(READY)
	$(BIN)/python -m debian.system 13 sh -c 'make test ARGS="$(IN_313)" || make test ARGS="$(IN_313) --last-failed"'

docs: $(READY)
	$(BIN)/python docs/generate.py

clean:
	rm -rf .venv build dist
