# Everything works on a fresh machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# torch is only of use where the rig can run: as root, with iproute2.
RIG    := $(shell [ "$$(id -u)" = 0 ] && command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 && echo yes)

.PHONY: demo test check bench clean

demo: $(VENV)/.run
	$(BIN)/offbeat demo

test: $(VENV)/.dev $(VENV)/.ray $(if $(RIG),$(VENV)/.rig)
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint --disable-progress-bar queries

# Peers are compared with where they can be installed; each one that is missing is skipped with its reason.
bench: $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --editable '.[bench]'
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/bench -c pyproject.toml --override-ini=addopts= -s

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "offbeat needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.run

$(VENV)/.rig: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[rig]'
	touch $@

# Ray has no build for every Python; where there is none, its tests skip.
$(VENV)/.ray: $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --editable '.[ray]'
	touch $@

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
