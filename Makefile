# The two commands that a newcomer needs are `make run` and `make test`; both set everything up first.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
STAMP := $(VENV)/.complete
BUDGET ?= 4m
TRIAGE_BUDGET ?= 5m
MINDSPORE_BUDGET ?= 1m
MINDSPORE_TRIAGE_BUDGET ?= 90s
OUT ?= out
TEST_WORKERS ?= 2

.PHONY: setup run test check format clean

setup: $(STAMP)

# Built aside and stamped last, so that an interrupted set-up is done again, not half believed.
$(STAMP): pyproject.toml .ci/constraints.txt
	rm -f $@
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --editable '.[torch,mindspore,dirigo,dev]'
	touch $@

# 1 means "new findings", which is what a campaign is for; 4 that some suspects are left for `nightfuzz triage`.
run: setup
	$(BIN)/nightfuzz run --framework mindspore --budget $(MINDSPORE_BUDGET) \
	  --triage-budget $(MINDSPORE_TRIAGE_BUDGET) --out $(OUT)/mindspore || case $$? in 1|4) ;; *) exit 1 ;; esac
	$(BIN)/nightfuzz run --budget $(BUDGET) --triage-budget $(TRIAGE_BUDGET) --out $(OUT) || \
	  case $$? in 1|4) ;; *) exit 1 ;; esac

test: setup
	$(BIN)/python -m pytest --numprocesses $(TEST_WORKERS) --dist loadfile

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/actionlint .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --strict-collection --quiet .github

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis
