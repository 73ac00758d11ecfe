# Short names for everyday commands; `make help` lists them. They call CMake, see CMakePresets.json.

PRESET ?= dev
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
export DESTDIR

# The thread sanitizer needs fixed addresses, which address randomisation may occupy.
FIXED_ADDRESSES = $(shell setarch -R true 2>/dev/null && echo setarch -R)

configure_and_build = cmake --preset $(1) && cmake --build --preset $(1) --parallel $(JOBS)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the library, tests and benchmarks with assertions (PRESET=dev)
	$(call configure_and_build,$(PRESET))

.PHONY: test
test: build ## run all tests except the slow ones
	ctest --preset $(PRESET) --label-exclude '^(slow|acceptance|distributed)$$' --parallel $(JOBS)

.PHONY: slow
slow: ## run the slow, acceptance, distributed, guarantee and hostile-input tests on the release build, and the quick form of the paper (WIDTHWISE_SLOW_SCALE=0.1 shortens the slow tests)
	$(call configure_and_build,release)
	WIDTHWISE_FULL=1 ctest --preset release --label-regex '^(slow|acceptance|distributed)$$' --parallel $(JOBS)
	WIDTHWISE_FULL=1 $(GUARANTEE)
	WIDTHWISE_FULL=1 $(HOSTILE)
	WIDTHWISE_DATA=$${WIDTHWISE_DATA:-../shared/data} WIDTHWISE_PROGRAM=$(CURDIR)/build/release/cli/widthwise python3 -B -m experiments.paper --quick

# These targets test the installed Python package, see the target python.
WITH_PACKAGE = WIDTHWISE_PROGRAM=$(CURDIR)/build/release/cli/widthwise python3 -B -m pytest -p no:cacheprovider -rs
GUARANTEE = $(WITH_PACKAGE) tests/guarantee
HOSTILE = $(WITH_PACKAGE) tests/hostile

.PHONY: load
load: ## load-test the C++ service (ten minutes) and the installed Python package (an hour); WIDTHWISE_LOAD_SECONDS sets another time
	$(call configure_and_build,release)
	WIDTHWISE_FULL=1 WIDTHWISE_PROGRAM=$(CURDIR)/build/release/cli/widthwise WIDTHWISE_LOAD=$(CURDIR)/build/release/tests/widthwise_load \
	  python3 -B -m pytest -p no:cacheprovider -s tests/acceptance/test_load.py
	WIDTHWISE_FULL=1 python3 -B -m pytest -p no:cacheprovider -s tests/python/test_load.py

.PHONY: guarantee
guarantee: ## compare coverage with its exact law through every interface, short form (needs the Python package: make python)
	$(call configure_and_build,release)
	$(GUARANTEE)

.PHONY: hostile
hostile: ## feed hostile inputs to the command line and to Python, short form (needs the Python package: make python)
	$(call configure_and_build,release)
	$(HOSTILE)

.PHONY: bench
bench: ## run the benchmarks on the release build; only the table goes to stdout
	@{ $(call configure_and_build,release); } >&2
	@build/release/bench/widthwise_bench

.PHONY: bench-peers
bench-peers: ## time and memory next to MAPIE, crepes, XGBoost and PyTorch (needs the Python package and experiments/requirements.txt); WORDS="groups one_row" selects tasks
	@WIDTHWISE_DATA=$${WIDTHWISE_DATA:-../shared/data} python3 -B -m bench.peers $(WORDS)

.PHONY: bench-scaling
bench-scaling: ## how time grows with rows, levels, groups and trees: table and docs/pictures/scaling.png (needs the Python package and matplotlib)
	@python3 -B -m bench.scaling

.PHONY: pictures
pictures: ## draw the pictures of docs/choosing.md from the results of the experiments (needs the Python package and experiments/requirements.txt)
	@python3 -B -m experiments.choosing

.PHONY: site
site: ## build the documentation site in build/site/html (needs Doxygen, the Python package with all its modules, and docs/site/requirements.txt)
	@python3 -B tools/site

.PHONY: asan
asan: ## test under the address and undefined-behaviour sanitizers
	$(call configure_and_build,asan-ubsan)
	ctest --preset asan-ubsan --parallel $(JOBS)

.PHONY: tsan
tsan: ## test under the thread sanitizer
	$(call configure_and_build,tsan)
	$(FIXED_ADDRESSES) ctest --preset tsan --parallel $(JOBS)

.PHONY: fuzz
fuzz: ## fuzz the parsers, one minute per target (needs clang 19 with libclang-rt-19-dev)
	tools/fuzz

.PHONY: tidy
tidy: ## run clang-tidy on all sources except the tests
	tools/tidy

.PHONY: python
python: ## install the Python package into the active environment and run its tests
	python3 -m pip install '.[all]' --requirement tests/python/requirements.txt
	python3 -B -m pytest -p no:cacheprovider -rs tests/python
	python3 -B -m pytest -p no:cacheprovider --config-file=tests/python/pytest.ini --doctest-modules --pyargs widthwise

.PHONY: experiments
experiments: ## run the suites of the paper and of the comparison (hours; needs WIDTHWISE_DATA, see experiments/README.md)
	$(call configure_and_build,release)
	WIDTHWISE_PROGRAM=$(CURDIR)/build/release/cli/widthwise python3 -m experiments.paper
	WIDTHWISE_PROGRAM=$(CURDIR)/build/release/cli/widthwise python3 -m experiments.field

.PHONY: format
format: ## format the C++ and Python sources
	tools/format

.PHONY: lint
lint: ## check the format, then tidy
	tools/format --check
	$(MAKE) tidy

.PHONY: install
install: PRESET = install
install: ## build and install the libraries and the program into DESTDIR and PREFIX (/usr/local); PRESET=core for widthwise::core alone, OPTIONS for CMake
	cmake --preset $(PRESET) $(OPTIONS)
	cmake --build --preset $(PRESET) --parallel $(JOBS)
	cmake --install build/$(PRESET) --prefix '$(PREFIX)'

.PHONY: clean
clean: ## remove everything built
	rm -rf build

.PHONY: ci
ci: ## run everything a change must pass
	.ci/run
