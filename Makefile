# Everything works on a fresh machine that has Python 3.11+ and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# torch is only of use where the rig can run: as root, with iproute2.
RIG    := $(shell [ "$$(id -u)" = 0 ] && command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 && echo yes)

# What Python has compiled is kept: a run of the tests starts hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check bench clean

demo: $(VENV)/.run
	$(BIN)/offbeat demo

# What happens in true time has the machine for itself; all else is shared out among the cores, file by file.
test: $(VENV)/.dev $(VENV)/.ray $(if $(RIG),$(VENV)/.rig)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadscope -m 'not rig and not true_time'
	$(BIN)/python -m pytest -m 'rig or true_time'

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

# Of these packages most files are never imported, so none is compiled before it is.
$(VENV)/.dev: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	touch $@ $(VENV)/.run

$(VENV)/.rig: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[rig]'
	touch $@

# Ray has no build for every Python; where there is none, its tests skip.
$(VENV)/.ray: $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --no-compile --editable '.[ray]'
	touch $@

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
