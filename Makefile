# `make` or `make help` explains the targets.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# jobs of the test run: one more than there are processors, since tests that call the command line wait now and then
JOBS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
# tests start hundreds of processes, which would each compile the package to bytecode, and tests with their assertions
unexport PYTHONDONTWRITEBYTECODE
# as `smcmc` sets it: threads of linear algebra would wait for the processors that the jobs use
export OPENBLAS_NUM_THREADS ?= 1
# what an editable installation has to be built again for
SOURCES := pyproject.toml setup.py $(shell find splitmerge_cli conf tests/compiled -name '*.pyx' -o -name '*.pxd' -o -name '__init__.py')

# compiled modules with hand-written types, which are held against them; what only a .yaml names needs none
COMPILED := $(shell find splitmerge_cli -name '*.pyi' -not -name '__init__.pyi' | sed 's/\.pyi$$//; s,/,.,g' | sort)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-oldest sanitize lint bench figures figures-paper figures-kept reproduction articles notebooks docs linkcheck wheel release clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

demo: $(VENV)/installed-core ## install, reproduce two figures of Wang and Russell 2015 at quick scale, cluster the irises and draw them
	mkdir -p results
	$(BIN)/smcmc reproduce sdds-fig1 sdds-fig3 --scale quick
	$(BIN)/python -c "from sklearn.datasets import load_iris as i; i(as_frame=True).frame.to_csv('results/iris.csv', index=False)"
	$(BIN)/smcmc run results/iris.csv data.truth=target | tee results/demo.txt
	$(BIN)/smcmc plot "$$(tail -n 1 results/demo.txt)" --only pairs
	@echo
	@echo "You have three clusters of irises (the picture above) and two figures of Wang and Russell 2015 (results/figures)."
	@echo "next: . $(BIN)/activate && smcmc run FILE    (a table, a network or a folder of texts)"

test: $(VENV)/installed ## all tests but the slow ones; what each group of them costs is printed at the end
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow"

test-slow: $(VENV)/installed ## long exactness runs and paper-scale checks
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -m slow

test-oldest: $(VENV)/installed ## all tests but the slow ones, with the lowest versions that pyproject.toml allows (in build/oldest)
	$(PYTHON) -m venv --clear build/oldest
	$(BIN)/python scripts/list_requirements.py --oldest test | build/oldest/bin/python -m pip install --quiet --requirement /dev/stdin
	build/oldest/bin/python -m pip install --quiet 'setuptools>=77' 'Cython>=3.1'
	build/oldest/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	build/oldest/bin/python -m pytest -n $(JOBS) --dist loadgroup -m "not slow"

sanitize: $(VENV)/installed ## every sampler on every model with ASan and UBSan, then threads with TSan, in builds of their own (see CONTRIBUTING)
	$(BIN)/python scripts/sanitize.py --jobs $(JOBS)
	$(BIN)/python scripts/sanitize.py --thread --jobs $(JOBS)

lint: $(VENV)/installed-lint ## style, names and types
	$(BIN)/ruff check .
	$(BIN)/python scripts/check_names.py
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint splitmerge_cli tests/compiled
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml --ignore-disjoint-bases --allowlist scripts/stubtest-allowlist.txt $(COMPILED)

bench: $(VENV)/installed ## speed beside a plain C baseline
	$(BIN)/smcmc bench

figures: $(VENV)/installed ## every figure at quick scale
	$(BIN)/smcmc reproduce all --scale quick
	$(BIN)/smcmc report

figures-paper: $(VENV)/installed ## every figure at the papers' scale (hours)
	$(BIN)/smcmc reproduce all --scale paper
	$(BIN)/smcmc report

reproduction: $(VENV)/installed ## make what is missing at the papers' scale (hours), and keep it in docs/reproduction
	$(BIN)/smcmc reproduce all --scale paper
	$(BIN)/python scripts/keep_figures.py keep all --scale paper --to docs/reproduction

figures-kept: $(VENV)/installed ## every picture of every kept edition, from its numbers, in docs/_build/figures: no run is made
	$(BIN)/python scripts/draw_kept.py

articles: $(VENV)/installed-articles ## the five articles, from what is kept: PDF, Markdown, metadata.yaml in docs/_build/articles
	$(BIN)/python scripts/make_articles.py

notebooks: $(VENV)/installed ## execute the notebooks of docs anew
	$(BIN)/python scripts/execute_notebooks.py

docs: $(VENV)/installed-site ## the documentation site, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -b html docs docs/_build/html
	@echo docs/_build/html/index.html

linkcheck: $(VENV)/installed-site ## whether the external links of the site lead somewhere (needs the network)
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/linkcheck

wheel: $(VENV)/builds ## a manylinux wheel for Python 3.11 and later on any x86-64 of the last decade, in dist
	sh scripts/make_wheels.sh "$(BIN)/python"

release: $(VENV)/installed-lint $(VENV)/installed-site ## VERSION=0.3.0: date it, check all, build what is published into dist, try it; prints the command that publishes
	test -n "$(VERSION)"
	$(BIN)/python scripts/set_version.py "$(VERSION)" --date "$$(date +%F)"
	$(MAKE) lint test test-oldest docs
	rm -rf dist
	$(MAKE) wheel
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --sdist
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv --clear build/release
	build/release/bin/python -m pip install --quiet pytest dist/*.whl
	cd build/release && bin/python -m pytest -q --pyargs smcmc
	@echo "commit it, then publish: git tag -s v$(VERSION) -m $(VERSION) && git push origin v$(VERSION)"

clean: ## remove what was built (results stay)
	rm -rf $(VENV) build dist docs/_build docs/_generated bench/build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find splitmerge_cli tests -name '*.so' -delete -o -name '*.c' -delete -o -name '__pycache__' -prune -exec rm -rf {} +

# what compiles stands in the environment itself: in one made for each build all headers would be new
$(VENV)/builds: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"]))' \
	  | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	touch $@

$(VENV)/installed-core: $(VENV)/builds $(SOURCES)
	@echo "installing and compiling: two minutes or so the first time"
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

# pip, which uses one processor, unpacks what the tests need while the modules are compiled; bytecode is left to what is
# imported, a third of it. The package is installed by the pip that compiles it: another one after these would read all
# requirements again, ten seconds
$(VENV)/installed: $(VENV)/builds $(SOURCES)
	@echo "installing and compiling: two minutes or so the first time"
	$(BIN)/python scripts/list_requirements.py test | $(BIN)/python -m pip install --quiet --no-compile --requirement /dev/stdin \
	  & $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .; compiled=$$?; wait $$! && exit $$compiled
	touch $@ $(VENV)/installed-core

$(addprefix $(VENV)/installed-,lint site articles): $(VENV)/installed-%: $(VENV)/builds $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[test,$*]'
	touch $@ $(VENV)/installed $(VENV)/installed-core
