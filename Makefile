# Sojourn. `make demo` and `make test` install their dependencies; they need Python 3.11+, Rust and a C compiler.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
TRACE ?=
TRACES ?=
# Where clippy and rustdoc build. In a folder of its own they neither wait for other builds nor hold them up.
CHECKS ?= target
# Of make laws, laws-loop and kills.
LAWS_FIRST ?= 0
LAWS_RUNS ?= 100000
LAWS_LOOPS ?= 1000
KILLS_SECONDS ?= 3600
export LAWS_FIRST LAWS_RUNS
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# maturin refuses to choose between two active environments.
unexport CONDA_PREFIX
# Tests start programs hundreds of times: their modules are compiled the first time.
unexport PYTHONDONTWRITEBYTECODE

# Distributions installed editable, in the order of their dependencies.
PACKAGES := interfaces e2sm-tc-spec/bounded_input nonrt-ric/model_contract nonrt-ric/report gateway/server xapps/ric xapps/ric_doctor \
            xapps/tc_controller xapps/rlc_forecaster gateway/flexric/bridge ran-function/oai/plan lab/tc_evaluate datasets nonrt-ric/training demo dashboards
PACKAGE_FILES := $(addsuffix /pyproject.toml,$(PACKAGES))
TYPED_TESTS := $(patsubst %,xapps/%/tests,ric ric_doctor tc_controller) gateway/server/tests gateway/flexric/bridge/tests
PYTHON_SOURCES := $(addsuffix /src,$(PACKAGES)) gateway/serving/python/py lab/python/py gateway/flexric/service-model $(wildcard gateway/flexric/bridge/swig/*.py) \
                  $(TYPED_TESTS) gateway/flexric/tests ran-function/oai/tests ran-function/oai/plan/tests ran-function/c-abi/tests dashboards/tests demo/tests benchmarks tests docs/site helm deploy
# Those that the demo runs.
DEMO_PACKAGES := interfaces e2sm-tc-spec/bounded_input nonrt-ric/model_contract nonrt-ric/report xapps/ric \
                 xapps/tc_controller xapps/rlc_forecaster demo
CLI := gnb-lab e2sm-tc
TRAINING_EXTRAS := tensorflow,jax,baselines,estimators,mlflow,dask
# Crates that are Python modules.
MODULES := e2sm-tc-spec/codec/python gateway/serving/python nonrt-ric/model_contract/native/python \
           xapps/tc_controller/windows/python lab/python
DEMO_MODULES := $(filter-out lab/python,$(MODULES))
# What they are built of, and files beside it: too many rather than one too few.
MODULE_SOURCES := $(shell find Cargo.toml Cargo.lock e2sm-tc-spec gateway/serving nonrt-ric/model_contract xapps/tc_controller/windows deploy/shared_features interfaces/proto ran-function lab -type f -not -path '*/__pycache__/*' -not -path '*/.*')
STEP := @.ci/step
# The lab is a Cargo workspace of its own.
LAB := --manifest-path lab/Cargo.toml

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Sojourn needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.tools: constraints.txt requirements-dev.txt | $(BIN)/python
	$(STEP) 1/5 'Python tools' $(BIN)/python -m pip install -c constraints.txt -r requirements-dev.txt pip
	@touch $@

# What others publish, the tools too, is fetched while Rust compiles; then come the modules, which the packages require.
# One pip at a time changes the environment.
$(VENV)/.fetched: $(VENV)/.tools $(PACKAGE_FILES) lab/python/pyproject.toml
	$(STEP) 2/5 'Python dependencies' $(BIN)/python -m pip install -c constraints.txt -r <($(BIN)/python .ci/third_party.py $(PACKAGES) lab/python,sweeps)
	@touch $@

$(VENV)/.fetched-training: $(VENV)/.fetched nonrt-ric/training/constraints.txt
	$(STEP) training 'TensorFlow, JAX, LightGBM, MLflow, Dask' $(BIN)/python -m pip install -c constraints.txt -c nonrt-ric/training/constraints.txt \
	  -r <($(BIN)/python .ci/third_party.py nonrt-ric/training,$(TRAINING_EXTRAS))
	@touch $@

.PHONY: programs
programs: | $(BIN)/python
# With shared-features: modules and tests then find their dependencies built, and the lab those of the product.
	$(STEP) 3/5 'Rust release build, product' cargo build --release --locked -p shared-features -p e2sm-tc -p tc-rf-c -p gnb-host
	$(STEP) 3/5 'Rust release build, lab' cargo build $(LAB) --release --locked -p lab-shared-features -p gnb-lab
	@install -m 755 $(addprefix target/release/,$(CLI)) $(BIN)/
	@install -m 644 -D -t $(VENV)/include target/release/tc_rf.h target/release/sojourn_gnb.h
	@install -m 644 -D -t $(VENV)/lib target/release/libtc_rf_c.a target/release/libtc_rf_c.so \
	  target/release/libsojourn_gnb.a

$(VENV)/.modules: $(VENV)/.tools $(MODULE_SOURCES)
	$(STEP) 4/5 'Python modules in Rust' env VIRTUAL_ENV=$(abspath $(VENV)) bash -ec \
	  'for module in $(MODULES); do $(BIN)/maturin develop --release --locked -m $$module/Cargo.toml; done'
	@touch $@

$(VENV)/.packages: $(VENV)/.fetched $(PACKAGE_FILES) Cargo.toml $(wildcard interfaces/proto/*.proto)
	$(STEP) 5/5 'Python packages' $(BIN)/python -m pip install -c constraints.txt --no-build-isolation $(addprefix -e ,$(PACKAGES))
	@touch $@

.PHONY: setup
setup: | $(BIN)/python ## Build everything; every command-line tool is then in .venv/bin
	@$(MAKE) --no-print-directory -j2 programs $(VENV)/.fetched
	@$(MAKE) --no-print-directory $(VENV)/.modules
	@$(MAKE) --no-print-directory $(VENV)/.packages
	@echo "Ready: the command-line tools are in $(BIN)"

# The first demo starts sooner with what it runs alone; what it has built, `make setup` uses.
.PHONY: demo-programs
demo-programs: | $(BIN)/python
	$(STEP) 2/4 'Rust release build for the demo' cargo build $(LAB) --release --locked -p lab-shared-features -p gnb-lab --no-default-features
	@install -m 755 target/release/gnb-lab $(BIN)/

$(VENV)/.fetched-demo: $(addsuffix /pyproject.toml,$(DEMO_PACKAGES)) constraints.txt | $(BIN)/python
	$(STEP) 1/4 'Python dependencies' $(BIN)/python -m pip install -c constraints.txt editables grpcio-tools hatchling maturin pip \
	  -r <($(BIN)/python .ci/third_party.py $(DEMO_PACKAGES))
	@touch $@

$(VENV)/.demo: $(VENV)/.fetched-demo $(MODULE_SOURCES)
	$(STEP) 3/4 'Python modules in Rust' env VIRTUAL_ENV=$(abspath $(VENV)) bash -ec \
	  'for module in $(DEMO_MODULES); do $(BIN)/maturin develop --release --locked -m $$module/Cargo.toml; done'
	$(STEP) 4/4 'Python packages' $(BIN)/python -m pip install -c constraints.txt --no-build-isolation $(addprefix -e ,$(DEMO_PACKAGES))
	@touch $@

.PHONY: setup-demo
setup-demo: | $(BIN)/python
	@$(MAKE) --no-print-directory -j2 demo-programs $(VENV)/.fetched-demo
	@$(MAKE) --no-print-directory $(VENV)/.demo

.PHONY: setup-training
setup-training: | $(BIN)/python ## The same with the dependencies of training: TensorFlow, LightGBM, MLflow, Dask
	@$(MAKE) --no-print-directory -j2 programs $(VENV)/.fetched-training
	@$(MAKE) --no-print-directory $(VENV)/.modules
	@$(MAKE) --no-print-directory $(VENV)/.packages
	@echo "Ready: the command-line tools are in $(BIN)"

.PHONY: flexric-node
flexric-node: $(VENV)/.tools ## The lab as an E2 node of FlexRIC (FLEXRIC_SRC, FLEXRIC_BUILD)
	cargo build $(LAB) --release --locked -p lab-shared-features -p flexric-node --features flexric
	install -m 755 target/release/flexric-node $(BIN)/

.PHONY: flexric-sm
flexric-sm: $(VENV)/.tools ## E2SM-TC v1 as a service model of FlexRIC (FLEXRIC_SRC, FLEXRIC_BUILD)
	$(BIN)/python gateway/flexric/service-model/build_model.py $(VENV)/lib/flexric

.PHONY: demo
demo: $(if $(wildcard $(VENV)/.packages),setup,setup-demo) ## Run the control loop for 40 s on loopback; report in out/demo (TRACE=file for a Mahimahi trace)
	$(BIN)/sojourn-demo --out $(OUT)/demo $(if $(TRACE),--trace $(TRACE))

.PHONY: demo-ops
demo-ops: setup ## A fault, its alerts in a real Prometheus and Alertmanager (on PATH), its repair; report in out/demo-ops
	$(BIN)/python -m sojourn_demo.ops --out $(OUT)/demo-ops

.PHONY: demo-live
demo-live: setup ## iperf3, ping, irtt, a browser's video and pages, without and with control (root, chromium; TRACE=file); out/demo-live
	$(BIN)/python -m sojourn_demo.kernel --out $(OUT)/demo-live $(if $(TRACE),--trace $(TRACE)) $(LIVE_DEMO)

.PHONY: demo-flexric
demo-flexric: flexric-bridge flexric-sm flexric-node ## The same loop through a FlexRIC near-RT RIC (FLEXRIC_SRC, FLEXRIC_BUILD)
	$(BIN)/sojourn-demo --through flexric --out $(OUT)/demo-flexric $(if $(TRACE),--trace $(TRACE))

.PHONY: demo-oai
demo-oai: flexric-bridge flexric-sm ## The same loop with the OpenAirInterface gNB of OAI_BUILD (FLEXRIC_SRC, FLEXRIC_BUILD)
	$(BIN)/sojourn-demo --through oai --out $(OUT)/demo-oai $(OAI_DEMO)

# Python alone; with OAI_BUILD, OAI's configured build tree, the adapter is compiled against its headers as well.
.PHONY: oai-check
oai-check: ## Does the source tree OAI=folder fit, and which generation is it; nothing of it need be built (JSON=1 for programs)
	@PYTHONPATH=ran-function/oai/plan/src $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m oai_plan.check "$(OAI)" \
	  $(if $(OAI_BUILD),--build "$(OAI_BUILD)") $(if $(JSON),--json)

.PHONY: test-oai
test-oai: flexric-bridge flexric-sm ## Tests in the OpenAirInterface gNB of OAI_BUILD (FLEXRIC_SRC, FLEXRIC_BUILD)
	$(BIN)/python ran-function/oai/tests/with_oai.py $(OAI_TESTS)

.PHONY: dist
dist: setup ## Wheels, programs and the chart's package under one version: out/dist
	$(BIN)/python deploy/dist.py --packages $(PACKAGES) --modules $(MODULES)

.PHONY: test-live
test-live: setup ## Kernel traffic through gnb-lab live and link, the demo on it; needs network namespaces (root)
	SOJOURN_TEST_LIVE=1 $(BIN)/python -m pytest -q -p no:xdist tests/test_kernel_traffic.py \
	  tests/test_kernel_link.py tests/test_live_packets.py demo/tests/test_demo_live.py

.PHONY: test-dist
test-dist: dist ## The wheels alone in a fresh environment: programs, a control loop
	SOJOURN_TEST_DIST=$(OUT)/dist $(BIN)/python -m pytest -q deploy/tests/test_dist.py

# IMAGES=names; BASE, BUILDER and BASE_C name base images, else they are made of Debian packages.
.PHONY: images
images: dist ## OCI archives of all programs, without a registry: out/images (docs/images.md)
	$(BIN)/python deploy/images/build_images.py $(IMAGES) $(if $(BASE),--base $(BASE)) \
	  $(if $(BUILDER),--builder $(BUILDER)) $(if $(BASE_C),--base-c $(BASE_C))

# Sources are folders: FLEXRIC_SRC, OAI_SRC (for the gNB too), ASN1C_SRC and SIMDE_SRC (of the versions that OAI names), CPM_CACHE;
# BASE=image of Debian 12. STACK="--oai-options=… --flexric-options=…": further options of their CMake.
.PHONY: stack-images
stack-images: $(if $(OAI_SRC),programs,$(VENV)/.tools) ## OCI archives of SDK module and service models, nearRT-RIC, OAI gNB with traffic control (FLEXRIC_SRC, OAI_SRC)
	PYTHONPATH=deploy $(BIN)/python deploy/images/build_stack.py --flexric "$(FLEXRIC_SRC)" $(if $(OAI_SRC),--oai $(OAI_SRC)) \
	  $(if $(ASN1C_SRC),--asn1c $(ASN1C_SRC)) $(if $(SIMDE_SRC),--simde $(SIMDE_SRC)) $(if $(CPM_CACHE),--cpm $(CPM_CACHE)) $(if $(BASE),--base $(BASE)) $(STACK)

# IMAGES=names; ARCHIVES="out/images DIR": archives of other architectures too; KEY=ECDSA private key, PEM; COPY=--plain-http
# for registries without TLS.
COPY_IMAGES = PYTHONPATH=deploy $(BIN)/python deploy/images/push_images.py $(COPY) $(addprefix --image ,$(IMAGES))
.PHONY: push
push: $(VENV)/.tools ## Images to a registry, signed with KEY; their digests as values of the chart: out/images/values.yaml (REGISTRY=…)
	$(COPY_IMAGES) push $(REGISTRY) $(if $(ARCHIVES),--archives $(ARCHIVES)) $(if $(KEY),--key $(KEY))

.PHONY: mirror
mirror: $(VENV)/.tools ## Images and signatures from FROM to TO, each a registry or dir:PATH, digests unchanged
	$(COPY_IMAGES) mirror $(FROM) $(TO)

.PHONY: verify-images
verify-images: $(VENV)/.tools ## Signatures of the images in REGISTRY by KEY, a public key
	$(COPY_IMAGES) verify $(REGISTRY) --key $(KEY)

.PHONY: sbom
sbom: dist ## Bills of materials of what goes into images, without building them: out/sbom (IMAGES=names)
	$(BIN)/python deploy/images/build_images.py $(IMAGES) --sbom $(OUT)/sbom

# Without a network beyond the package registries; ONLINE=1 looks known vulnerabilities up.
.PHONY: audit
audit: $(VENV)/.tools ## Licences, sources and bans of crates and distributions; known vulnerabilities with ONLINE=1
	$(BIN)/python deploy/audit.py $(if $(ONLINE),--online)

.PHONY: test-images
test-images: images ## Every image without a container engine: read-only, not root; a control loop
	SOJOURN_TEST_IMAGES=$(OUT)/images $(BIN)/python -m pytest -q deploy/tests/test_images.py

.PHONY: readme-picture
readme-picture: demo ## The picture of the README, from a run of the demo
	$(BIN)/python -m sojourn_demo.picture $(OUT)/demo docs/images/demo.svg

.PHONY: test
test: setup-training ## Every test that needs no root and no service
	$(BIN)/python tests/run.py

.PHONY: test-training
test-training: setup-training ## Of make test those that need TensorFlow, LightGBM, MLflow or Dask, and the tutorial
	$(BIN)/python tests/run.py Training

.PHONY: flexric-bridge
flexric-bridge: setup ## The bridge's FlexRIC SDK module; needs FLEXRIC_SRC, FLEXRIC_BUILD and swig
	$(BIN)/python gateway/flexric/bridge/swig/build.py

.PHONY: test-flexric
test-flexric: setup ## Tests with one or more FlexRIC versions: FLEXRIC_SRC=a:b FLEXRIC_BUILD=a/build:b/build
	$(BIN)/python gateway/flexric/tests/with_flexric.py

# TRACES=DIR: recorded radios beside the simulated cells, some of them held out; one run of each in place of two.
.PHONY: default-model
default-model: setup-training ## Simulate, train and judge the model that comes with the forecaster (TRACES=folder of recorded radios)
	$(BIN)/rlc-train dataset wide --out $(OUT)/default-model/data --duration-s 30 --repeats 2 $(if $(TRACES),--traces $(TRACES) --radio-repeats 5)
	$(BIN)/rlc-train dataset grid --out $(OUT)/default-model/data --duration-s 30
	$(BIN)/rlc-train train --data $(OUT)/default-model/data --run $(OUT)/default-model/run --settings nonrt-ric/training/settings/default-model.yaml
	$(BIN)/rlc-train evaluate --run $(OUT)/default-model/run
	$(BIN)/rlc-train promote --run $(OUT)/default-model/run --out xapps/rlc_forecaster/src/rlc_forecaster/models/default
	$(BIN)/rlc-train report --run $(OUT)/default-model/run

# FUZZ_RUNS=N: so many inputs per target instead of a time; FUZZ_TARGETS=names; FUZZ_SEED=N: the same
# inputs each time; FUZZ_OWN=1: a short build, without coverage of libraries.
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: $(VENV)/.tools ## Fuzz every parser in Rust for FUZZ_SECONDS each (needs a C++ compiler); findings in out/fuzz
	$(BIN)/python tests/fuzz/fuzzing.py $(if $(FUZZ_RUNS),--runs $(FUZZ_RUNS),--seconds $(FUZZ_SECONDS)) $(if $(FUZZ_OWN),--only-own) \
	  $(if $(FUZZ_SEED),--seed $(FUZZ_SEED)) \
	  --out $(OUT)/fuzz $(FUZZ_TARGETS)

.PHONY: clippy
clippy: ## Lints of the crates, part of make lint
	cargo clippy --workspace --all-targets --release --locked --target-dir $(CHECKS) -- -D warnings
	cargo clippy $(LAB) --workspace --all-targets --release --locked --target-dir $(CHECKS) -- -D warnings

# Of the release profile, as the lints: the metadata of dependencies serve both.
.PHONY: rustdoc
rustdoc: ## The documentation of the crates, part of make docs
	RUSTDOCFLAGS='-D warnings' cargo doc --release --workspace --exclude '*-python' --no-deps --locked --quiet --target-dir $(CHECKS)
	RUSTDOCFLAGS='-D warnings' cargo doc $(LAB) --release --workspace --exclude '*-python' --no-deps --locked --quiet --target-dir $(CHECKS)

.PHONY: lint
lint: setup ## Formatting, lints, types, import contracts, doc comments, links of the documentation
	cargo fmt --all --check
	cargo fmt $(LAB) --all --check
	@$(MAKE) --no-print-directory clippy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PYTHON_SOURCES)
	$(BIN)/lint-imports
	$(BIN)/python tests/rust_circles.py
	$(BIN)/python tests/doc_comments.py
	$(BIN)/python docs/site/doc_links.py

$(VENV)/.docs: $(VENV)/.tools docs/requirements.txt docs/constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -c docs/constraints.txt -r docs/requirements.txt
	touch $@

.PHONY: docs
docs: setup $(VENV)/.docs ## The documentation as a site: out/site/index.html
	@$(MAKE) --no-print-directory rustdoc
	RUST_DOCS=$(CHECKS)/doc NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

.PHONY: quick
quick: $(VENV)/.packages ## Lints and tests of what changed since main; after make setup
	@$(BIN)/python tests/quick.py

.PHONY: laws
laws: $(VENV)/.tools ## The laws of control on random runs: LAWS_RUNS of them from seed LAWS_FIRST (docs/laws.md)
	cargo test $(LAB) --release --locked -p lab-shared-features -p lab-gateway --lib laws::long -- --ignored --nocapture

.PHONY: laws-loop
laws-loop: setup ## The same with controllers in the loop: LAWS_LOOPS runs from seed LAWS_FIRST
	$(BIN)/python xapps/tc_controller/tests/tc_storm.py --first $(LAWS_FIRST) --runs $(LAWS_LOOPS)

.PHONY: kills
kills: setup ## Random kills, stops and full disks for KILLS_SECONDS: nothing lost, all heals; out/kills
	$(BIN)/python benchmarks/kills.py --seconds $(KILLS_SECONDS) --out $(OUT)/kills

.PHONY: bench
bench: setup ## Speed, as ratios and rates measured in one run
	cargo bench $(LAB) --locked -p lab-shared-features -p gnb-benchmarks -p lab-world
	$(BIN)/python benchmarks/latency.py gnb --out $(OUT)/bench
	$(BIN)/python benchmarks/controller_speed.py load --out $(OUT)/bench
	$(BIN)/python benchmarks/controller_speed.py lockstep --out $(OUT)/bench
	$(BIN)/python benchmarks/forecaster.py --out $(OUT)/bench
	$(BIN)/python benchmarks/serving_cost.py --out $(OUT)/bench
	$(BIN)/python benchmarks/transient.py --out $(OUT)/bench
	$(BIN)/python benchmarks/latency.py bridge --out $(OUT)/bench
	$(BIN)/python benchmarks/kernel_traffic.py rate --out $(OUT)/bench

# SOAK_SECONDS=7200, RESUME=1 goes on after an interrupt.
.PHONY: soak
soak: setup ## Two hours of the loop at 1 ms: memory, threads, descriptors, CPU, latencies; out/soak
	$(BIN)/python benchmarks/soak.py --out $(OUT)/soak $(if $(SOAK_SECONDS),--seconds $(SOAK_SECONDS)) $(if $(RESUME),--resume)

# LIVE_SECONDS=3600. Needs a TUN device and root, or unprivileged user namespaces.
.PHONY: live-hour
live-hour: setup ## An hour of kernel TCP and UDP through gnb-lab live under faults: every packet accounted for, memory flat; out/live-hour
	$(BIN)/python benchmarks/live_hour.py --out $(OUT)/live-hour $(if $(LIVE_SECONDS),--seconds $(LIVE_SECONDS))

.PHONY: hostile
hostile: setup ## What a hostile client can take from another, 30 s for each attack
	$(BIN)/python benchmarks/hostile.py --out $(OUT)/bench

.PHONY: bench-flexric
bench-flexric: flexric-bridge flexric-sm ## The bridge under load behind a real FlexRIC; after make flexric-node
	PYTHONPATH=tests:gateway/flexric/tests $(BIN)/python benchmarks/flexric_chain.py load --out $(OUT)/bench
	PYTHONPATH=tests:gateway/flexric/tests $(BIN)/python benchmarks/flexric_chain.py transactions --out $(OUT)/bench

.PHONY: chart-tools
chart-tools: $(VENV)/.tools ## Helm, helm-unittest, Kubernetes schemas, checkov, for the tests of the chart (needs Go)
	$(BIN)/python -m pip install -q -c constraints.txt kubernetes-validate
	# Its dependencies are pinned to other versions than ours.
	$(PYTHON) -m venv $(OUT)/chart-tools/checkov && $(OUT)/chart-tools/checkov/bin/pip install -q checkov
	ln -sf $(abspath $(OUT))/chart-tools/checkov/bin/checkov $(BIN)/checkov
	@mkdir -p $(OUT)/chart-tools && cp helm/tools/go.mod $(OUT)/chart-tools/
	cd $(OUT)/chart-tools && GOFLAGS=-mod=mod go mod tidy && GOFLAGS=-mod=mod go build -o $(abspath $(BIN))/ tool

.PHONY: test-kube
test-kube: $(VENV)/.tools ## The chart on the cluster of KUBECONFIG: install, upgrade, kills (KUBE="--values FILE --kills N")
	PYTHONPATH=tests:helm/tests $(BIN)/python -m kube --out $(OUT)/kube $(KUBE)

.PHONY: chart
chart: setup ## The schema of the chart's values, from the programs, and the table in its README
	$(BIN)/python helm/chart_schema.py
	$(BIN)/python helm/chart_readme.py

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf $(VENV) $(OUT) target
	find . -name '*_pb2*.py*' -path '*sojourn_interfaces*' -delete
