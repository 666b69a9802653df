# Doors to CMake, CTest and the scripts; the work itself lives there. `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help run test test-long test-arm64 unit packages programs build install debug images push load release bench-tuning bench-live chaos chaos-cluster cluster-up cluster-down cluster-test simulate bench bench-all docs format lint fuzz asan sanitize clean

ARCH ?=
PRESET ?= $(or $(ARCH),release)
BUILD := build/$(PRESET)
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
EXAMPLE ?= word2vec
MANIFEST ?= examples/$(EXAMPLE)/$(if $(TUNE),$(if $(wildcard examples/$(EXAMPLE)/tuned.yaml),tuned,job),job).yaml

help:  ## list these commands
	@echo "Attune: parameter-server training that tunes itself. Two commands are enough: make run, make test."
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'
	@echo
	@echo "Settings: PRESET=release|debug|asan|tsan  ARCH=arm64  JOBS=$(JOBS)  EXAMPLE=NAME  TUNE=1  MANIFEST=FILE  ARGS='...'"

run: programs  ## train word vectors on this machine's headers, or EXAMPLE=package-graph|next-character|header-words (installs, builds, runs); TUNE=1: watch the tuner
	$(BUILD)/bin/attune run $(if $(TUNE),--tune auto --limit-cores-per-pod 0.2) $(MANIFEST) $(ARGS)

test: packages  ## every test tier this machine can run: unit, simulation, local, cluster
	@scripts/install-packages test docs
	scripts/test $(ARGS)

test-long: packages  ## the same with the tests that take long, an hour in all: before a release
	@scripts/install-packages test docs
	scripts/test --long $(ARGS)

unit: build  ## unit and simulation tests only, a few seconds after the build
	ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS) -L 'unit|simulation'

packages:  ## install the Debian packages that are missing
	@scripts/install-packages build $(ARCH)
	@$(if $(ARCH),scripts/sysroot $(ARCH) build/sysroot/$(ARCH))

CONFIGURE = cmake --preset $(PRESET) >$(or $(TMPDIR),/tmp)/attune-configure.log 2>&1 || { cat $(or $(TMPDIR),/tmp)/attune-configure.log; exit 1; }
PROGRAMS := attune attune-server attune-sidecar attune-$(EXAMPLE)

programs: packages  ## configure and compile what `make run` needs
	@$(CONFIGURE)
	cmake --build --preset $(PRESET) -j$(JOBS) --target $(PROGRAMS)

build: packages  ## configure and compile everything, tests and benchmarks included
	@$(CONFIGURE)
	cmake --build --preset $(PRESET) -j$(JOBS)

install: PROGRAMS += attune-operator attune-word2vec attune-package-graph attune-next-character attune-header-words
install: programs  ## programs, man pages and the package for worker programs below PREFIX (default /usr/local)
	cmake --install $(BUILD) --prefix $(PREFIX)

debug:  ## build without optimization, with full debug information
	$(MAKE) build PRESET=debug

images: PROGRAMS += attune-operator attune-word2vec attune-package-graph attune-next-character attune-header-words
images: programs  ## container images of operator, sidecar, server and the examples, and what they are made of, in build/images; ARCH=arm64: in build/images/arm64
	@scripts/install-packages registry
	ARCH=$(ARCH) docker/build-images build/images$(if $(ARCH),/$(ARCH))

push:  ## images and chart into a registry: make images push REGISTRY=HOST[/PATH] [TAG=dev] [PLAIN_HTTP=1]
	@[ -n "$(REGISTRY)" ] || { echo "make push: REGISTRY=HOST[:PORT][/PATH] is missing" >&2; exit 2; }
	docker/push-images build/images $(REGISTRY)

load:  ## images into the nodes of the test cluster, without a registry: make images load
	tests/cluster/load-image build/images/*.tar
	@echo "loaded: helm install attune charts/attune --namespace attune-system --create-namespace"

# After what was asked for with them, also with -j.
ifneq ($(filter images,$(MAKECMDGOALS)),)
push load: images
endif

release:  ## everything that a release consists of, into build/dist: make release VERSION=x.y.z
release: PROGRAMS += attune-operator attune-word2vec attune-package-graph attune-next-character attune-header-words
release: programs
	@scripts/install-packages registry
	scripts/release "$(VERSION)" build/dist

cluster-up:  ## a real Kubernetes of two nodes on this machine (root; builds its binaries once, about 12 minutes)
	scripts/install-packages cluster
	tests/cluster/up 2

cluster-down:  ## end that cluster
	tests/cluster/down

cluster-test: build  ## the cluster tier alone: chart, example, scaling, faults, on a real Kubernetes
	scripts/test --tier cluster

test-arm64: build  ## what was compiled for arm64, run by emulation: servers and sidecars of a job, and what machines must agree on
	@scripts/install-packages test arm64
	scripts/sysroot arm64 build/sysroot/arm64
	cmake --preset arm64 >$(or $(TMPDIR),/tmp)/attune-configure.log 2>&1 || { cat $(or $(TMPDIR),/tmp)/attune-configure.log; exit 1; }
	cmake --build --preset arm64 -j$(JOBS) --target attune-server attune-sidecar attune-operator ps_store_test ps_checkpoint_test ps_core_test
	tests/arm64/run build/arm64 $(BUILD)

simulate:  ## the protocol under a simulated network, from a seed it draws: make simulate SEEDS=10000 [FIRST_SEED=1]
	@$(CONFIGURE)
	cmake --build --preset $(PRESET) -j$(JOBS) --target attune-simulate
	$(BUILD)/bin/attune-simulate --seeds $(or $(SEEDS),1000) $(if $(FIRST_SEED),--first-seed $(FIRST_SEED))

bench: build  ## benchmarks, printed as ratios side by side (docs/benchmarks.md keeps figures)
	bench/run $(BUILD) $(ARGS)

bench-all: build  ## every figure that has a goal, into one file: make bench-all FILE=figures.txt (some 20 minutes, idle machine)
	bench/all $(BUILD) $(FILE)

bench-tuning:  ## the tuner and its baselines on simulated jobs: make bench-tuning SEEDS=10 (figures in docs/benchmarks.md)
	@$(CONFIGURE)
	cmake --build --preset $(PRESET) -j$(JOBS) --target bench_tuning
	bench/tuning/run $(BUILD)/bin/bench_tuning $(or $(SEEDS),10)

bench-live: build  ## the tuner on real processes against every static setting (root, hours): make bench-live ARGS="--quick"
	bench/live-tuning $(BUILD)/bin $(ARGS)

chaos: build  ## faults at random on real processes for an hour: make chaos MINUTES=60 ARGS="--seed 1" (root for all of them)
	bench/chaos $(BUILD)/bin --minutes $(or $(MINUTES),60) $(ARGS)

chaos-cluster: build  ## lost, cut and drained machines of a real Kubernetes: make chaos-cluster MINUTES=30, or ARGS="--scenario all"
	scripts/install-packages cluster
	bench/chaos $(BUILD)/bin --cluster --minutes $(or $(MINUTES),30) $(ARGS)

docs:  ## the documentation as a site, build/site/index.html; it works as files, search included
	@scripts/install-packages docs
	scripts/site/build build/site
	@echo "open build/site/index.html, or: python3 -m http.server --bind 127.0.0.1 --directory build/site"

format:  ## rewrite our sources in the project's style
	git ls-files '*.cpp' '*.h' | xargs clang-format -i

lint: packages  ## clang-format, clang-tidy and clang's thread-safety analysis, changing nothing; every finding is an error: make lint [SINCE=COMMIT]
	@scripts/install-packages lint
	@$(CONFIGURE)
	scripts/lint --build $(BUILD) $(if $(SINCE),--since $(SINCE))

fuzz: packages  ## every fuzz target under the sanitizers, one after another: make fuzz SECONDS=1800
	@cmake --preset asan >$(or $(TMPDIR),/tmp)/attune-configure.log 2>&1 || { cat $(or $(TMPDIR),/tmp)/attune-configure.log; exit 1; }
	cmake --build --preset asan -j$(JOBS) --target fuzzers
	scripts/fuzz build/asan $(or $(SECONDS),1800)

asan: packages  ## the unit tests under the address and undefined-behavior sanitizers
	@cmake --preset asan >$(or $(TMPDIR),/tmp)/attune-configure.log 2>&1 || { cat $(or $(TMPDIR),/tmp)/attune-configure.log; exit 1; }
	cmake --build --preset asan -j$(JOBS) --target unit_tests
	ctest --test-dir build/asan --output-on-failure -j$(JOBS) -L '^unit$$'

sanitize:  ## unit and simulation tests under address, undefined-behavior and thread sanitizers; each fuzz target for a minute
	$(MAKE) fuzz SECONDS=60
	$(MAKE) unit PRESET=asan
	$(MAKE) unit PRESET=tsan

clean:  ## remove everything that was built
	rm -rf build
