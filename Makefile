# Two commands on a fresh machine with Python >= 3.11 and make:
#   make quickstart    a management plane and a Ready cluster
#   make test          the tests
# Each makes its own virtual environment and makes it again when pyproject.toml changes.

PYTHON ?= python3
VENVS ?= .
RUN := $(VENVS)/.venv
TEST := $(VENVS)/.venv-test
CHECK := $(VENVS)/.venv-check
DIST := $(VENVS)/.venv-dist
DOCS := $(VENVS)/.venv-docs
BENCH := $(VENVS)/.venv-bench
ARGS ?=
# One more than a small machine has cores, because tests wait for programs that they start.
WORKERS ?= 3

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help quickstart test test-quick test-real test-hosts test-migration real-parts test-recorded samples soak exhaustive rules mutations differential functions instructions check format bench reference image docs dist release clean

help:
	@echo "make quickstart   start a management plane and a Ready cluster (ARGS=--exit to stop after it)"
	@echo "make test         run the tests (ARGS='tests/kube -k patch' for some of them, WORKERS=4 at a time)"
	@echo "make test-quick   the tests of the libraries and the engine, without sockets (about a minute)"
	@echo "make test-real    the life of a real cluster in containers (needs root, dockerd, mmdebstrap, Go; builds for minutes once)"
	@echo "make test-hosts   clusters on machines of one's own, which are containers with OpenSSH (needs what test-real needs)"
	@echo "make test-migration  live clusters change hands between upstream's managers and kapy's (needs root, Go, KUBEBUILDER_ASSETS)"
	@echo "make test-recorded  compare all of the recorded data (needs ../shared)"
	@echo "make samples      take the sample in tests/data from the recorded data (needs ../shared)"
	@echo "make soak         what takes minutes: commands killed at every request, a herd of 1,000 Clusters, random faults (KAPY_SOAK_SECONDS=3600)"
	@echo "make exhaustive   simulate every scenario with a fault at every write; explore the models completely"
	@echo "make rules        break every rule of the provider contracts once; fails where no test notices"
	@echo "make mutations    put bugs into the source one at a time; print those that no test finds (ARGS='machineset', ARGS=--found: those of models and simulation)"
	@echo "make differential  compare with kube-apiserver in KUBEBUILDER_ASSETS (ARGS='--area apply --count 2000 --seed 7 --jobs 2')"
	@echo "make functions    compare functions with Cluster API's own, built with Go (ARGS='--count 5000 --seed 7 variables')"
	@echo "make instructions  count the instructions of a small story with Valgrind; fails if it costs more than recorded (ARGS=--record)"
	@echo "make check        ruff, mypy, import-linter"
	@echo "make format       let ruff format and fix"
	@echo "make bench        run the benchmarks (ARGS='1x1+0 api-server-https' for some of them; ARGS='--goals' for those of the goals; ARGS='--publish --repeat 3 …' for docs/reference/benchmarks.md)"
	@echo "make reference    print docs/reference (api, commands), docs/contracts, docs/images and docs/concepts/runtime-sdk.md"
	@echo "make docs         build the site of the documentation into build/docs"
	@echo "make image        build the image of kapy's managers with docker or podman (IMAGE=name:tag, BASE=image with Python)"
	@echo "make dist         build the wheel and the source archive into dist/"
	@echo "make release      build all files of a release into dist/: packages, one-file kapy.pyz, manifests, SBOM, image, checksums"
	@echo "make clean        remove what the other commands made"

# One virtual environment for each purpose: $(call environment,folder,what pip installs)
define environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kapy needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) comes without venv (on Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "making the virtual environment $(1), which takes a minute or two the first time"
	@$(PYTHON) -m venv --clear $(1)
	@echo "installing kapy and what it needs into $(1) (pip says nothing meanwhile)"
	@$(1)/bin/python -m pip install --quiet $(2)
	@touch $@
endef

$(RUN)/.made: pyproject.toml
	$(call environment,$(RUN),-e .)

$(TEST)/.made: pyproject.toml
	$(call environment,$(TEST),-e '.[test]')

$(CHECK)/.made: pyproject.toml
	$(call environment,$(CHECK),-e '.[test$(comma)check]')

$(DOCS)/.made: pyproject.toml
	$(call environment,$(DOCS),-e '.[docs]')

$(BENCH)/.made: pyproject.toml
	$(call environment,$(BENCH),-e '.[bench]')

$(DIST)/.made: pyproject.toml
	$(call environment,$(DIST),build shiv cyclonedx-bom)

comma := ,

quickstart: $(RUN)/.made
	@$(RUN)/bin/kapy quickstart $(ARGS)

test: $(TEST)/.made
	@$(TEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(ARGS)

QUICK := $(addprefix tests/,aio api client conditions contract engine kube topology)

test-quick: $(TEST)/.made
	@$(TEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not sockets and not recorded and not slow" $(or $(ARGS),$(QUICK))

# What real clusters are made of, in a cache outside of the repository.
real-parts: $(TEST)/.made
	@$(TEST)/bin/python -m tests.real_clusters.parts
	@$(TEST)/bin/python -m tests.real.cloud_init

# The network is left behind before dockerd starts: nothing of a cluster can leave the machine.
test-real: real-parts
	@unshare --net --mount --propagation slave sh -c 'ip link set lo up && \
		KAPY_TEST_CLOUD_INIT=true KAPY_REAL_CLUSTERS=true exec $(TEST)/bin/python -m pytest -q \
		tests/kube/boot/test_cloud_init.py tests/real_clusters $(ARGS)'

# Machines of one's own are containers with OpenSSH, whose file system is one more part.
test-hosts: real-parts
	@$(TEST)/bin/python -c 'from tests.real_clusters.host_containers import ssh_file_system; ssh_file_system()'
	@unshare --net --mount --propagation slave sh -c 'ip link set lo up && \
		KAPY_REAL_HOSTS=true KAPY_REAL_CLUSTERS=true exec $(TEST)/bin/python -m pytest -q \
		tests/real_clusters -k test_hosts $(ARGS)'

# In a network of its own: upstream's simulated clusters have fixed ports on all addresses.
test-migration: $(TEST)/.made
	@$(TEST)/bin/python -m tests.real.migration.upstream
	@unshare --net --mount --propagation slave sh -c 'ip link set lo up && \
		ip address add 10.254.0.1/32 dev lo && ip route add default dev lo src 10.254.0.1 && \
		KAPY_UPSTREAM_MANAGERS=true exec $(TEST)/bin/python -m pytest -q tests/real/migration $(ARGS)'

test-recorded: $(TEST)/.made
	@CI=true $(TEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -m recorded $(ARGS)

samples: $(TEST)/.made
	@$(TEST)/bin/python -m tests.oracle.sampling

soak: $(TEST)/.made
	@KAPY_SOAK=1 $(TEST)/bin/python -m pytest -q -n $(WORKERS) $(or $(ARGS),tests/clusterctl/move/test_killed.py tests/clusterctl/test_interrupted.py tests/hooks/test_herd.py tests/testing/simulation/test_long_life.py tests/testing/simulation/test_exhaustive.py)

exhaustive: $(TEST)/.made
	@KAPY_EXHAUSTIVE=1 $(TEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal $(or $(ARGS),tests/testing/simulation/test_exhaustive.py tests/models)

rules: $(TEST)/.made
	@KAPY_EVERY_RULE=1 $(TEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal tests/contract/test_breaks.py $(ARGS)

mutations: $(TEST)/.made
	@$(TEST)/bin/python -m tests.mutations $(ARGS)

differential: $(TEST)/.made
	@$(TEST)/bin/python -m tests.differential $(ARGS)

functions: $(TEST)/.made
	@$(TEST)/bin/python -m tests.functions $(ARGS)

instructions: $(TEST)/.made
	@$(TEST)/bin/python -m tests.instructions $(ARGS)

check: $(CHECK)/.made
	$(CHECK)/bin/ruff check .
	$(CHECK)/bin/ruff format --check .
	$(CHECK)/bin/mypy
	$(CHECK)/bin/lint-imports

format: $(CHECK)/.made
	$(CHECK)/bin/ruff check --fix .
	$(CHECK)/bin/ruff format .

bench: $(BENCH)/.made
	@$(BENCH)/bin/python -m benchmarks $(ARGS)

reference: $(RUN)/.made $(TEST)/.made
	$(RUN)/bin/python -m kapy.api.reference docs/reference/api
	$(RUN)/bin/python -m kapy.cli.reference docs/reference/commands.md
	$(RUN)/bin/python -m kapy.hooks.openapi.pages docs/reference
	$(TEST)/bin/python -m tests.contract.rules.pages docs/contracts
	$(RUN)/bin/python -m tests.hooks.proposal.pages docs/concepts/runtime-sdk.md
	$(TEST)/bin/python -m tests.library.sound_schemas
	$(TEST)/bin/python -m tests.library.surface docs/reference/public-surface.md
	$(TEST)/bin/python -m tests.library.diagrams docs/images

docs: $(DOCS)/.made
	$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/docs
	@echo "open build/docs/index.html"

ENGINE ?= $(firstword $(foreach one,docker podman,$(shell command -v $(one))))
IMAGE ?= localhost/kapy:$(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/kapy/__init__.py)
BASE ?=

image:
	@test -n "$(ENGINE)" || { echo "make image needs docker or podman (ENGINE=/path/to/it)" >&2; exit 1; }
	$(ENGINE) build -f Containerfile -t $(IMAGE) $(if $(BASE),--build-arg BASE=$(BASE)) $(ARGS) .

dist: $(DIST)/.made
	rm -rf dist
	$(DIST)/bin/python -m build --outdir dist .

# All files of a release carry the time of its commit, and nothing of the folder that they are made in:
# the same commit with the same packages (CONSTRAINTS=dist/constraints.txt of the other one) gives the same files.
RELEASE := build/release
CONSTRAINTS ?=
SAME_TIME = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)
SITE = $$($(RELEASE)/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

release: $(DIST)/.made
	@rm -rf dist $(RELEASE)
	@$(SAME_TIME) $(DIST)/bin/python -m build --outdir dist . > /dev/null
	@$(PYTHON) -m venv --without-pip $(RELEASE)/venv
	@$(DIST)/bin/python -m pip --python $(RELEASE)/venv/bin/python install --quiet --no-compile $(addprefix -c ,$(CONSTRAINTS)) dist/*.whl
	@for manager in core bootstrap-kubeadm control-plane-kubeadm infrastructure-dev; do \
		$(RELEASE)/venv/bin/kapy components $$manager --release $(RELEASE)/components || exit 1; done
	@find $(SITE) -name __pycache__ -prune -exec rm -r {} +
	@$(DIST)/bin/python -m pip --python $(RELEASE)/venv/bin/python freeze --exclude kapy > dist/constraints.txt
	@$(SAME_TIME) $(DIST)/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o dist/kapy.cdx.json $(RELEASE)/venv/bin/python
	@find $(SITE) \( -name RECORD -o -name direct_url.json \) -path '*.dist-info/*' -delete
	@$(SAME_TIME) $(DIST)/bin/shiv --site-packages $(SITE) --reproducible --compressed --extend-pythonpath --entry-point kapy.cli.main:main --output-file dist/kapy.pyz
	@tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) --file dist/kapy-components.tar.gz -C $(RELEASE)/components .
	@if test -n "$(ENGINE)" && $(ENGINE) info > /dev/null 2>&1; then $(MAKE) image && $(ENGINE) save -o dist/kapy-image.tar $(IMAGE); \
		else echo "dist has no image of kapy: neither docker nor podman answers (make image makes one later)" >&2; fi
	@cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf $(RUN) $(TEST) $(CHECK) $(DIST) $(DOCS) $(BENCH) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
