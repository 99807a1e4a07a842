"""The rules of the house that no linter holds, and that the README keeps up with the code."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from pipeline.cli.main import COMMANDS, app
from profiler.collectors import COLLECTORS
from profiler.importers import IMPORTERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHIPPED = sorted([*(ROOT / "profiler").rglob("*.py"), *(ROOT / "pipeline").rglob("*.py")])
PYTHON = sorted([*SHIPPED, *(ROOT / "tests").rglob("*.py")])

MAX_LINES = 400
MAX_POSITIONAL = 2
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "misc", "manager", "tools"}
COMPILERS = {"compiled", "njit", "jit", "vectorize", "guvectorize", "cfunc", "intrinsic", "overload", "entry", "inner"}
"""numba compiles positional arguments only (`entry` and `inner` are of `pipeline.compat.compiled`,
`compiled` is of `profiler.importers.captures.kernel.compiling`)."""
IN_TABLE_ORDER = {"append", "note", "series_id", "write_samples", "write_segment"}
"""Their arguments are a row, in the order of the table's columns. This set may shrink, not grow."""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    words = (re.split(r"\W+", ast.unparse(decorator)) for decorator in function.decorator_list)
    return {word for group in words for word in group}


def _listed(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return None


def _rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order that ruff's RUF022 writes."""
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_readme_names_every_command(command: str) -> None:
    assert f"offbeat {command}" in README


@pytest.mark.parametrize("collector", sorted(COLLECTORS))
def test_readme_names_every_collector(collector: str) -> None:
    assert f"`{collector}`" in README


@pytest.mark.parametrize("importer", sorted(IMPORTERS))
def test_readme_names_every_importer(importer: str) -> None:
    assert f"`{importer}`" in README


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_one_line_of_help_and_an_example_that_parses(command: str) -> None:
    text = inspect.getdoc(COMMANDS[command]) or ""
    summary, _, rest = text.partition("\n\n")

    assert summary
    assert "\n" not in summary
    assert "Example:" in rest
    examples = _examples(rest)
    assert examples, f"offbeat {command}: its Example block shows no use of it"
    for example in examples:
        assert example[:2] == ["offbeat", command]
        _parse(example[1:])


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_option_is_told_by_a_type_of_python(command: str) -> None:
    group = typer.main.get_group(app)
    with group.make_context("offbeat", [command], resilient_parsing=True) as context:
        found = group.get_command(context, command)
        assert found is not None
        text = found.get_help(context)
    assert not re.findall(r"^ +-.*<(?:str|int|float|path|Path|list)\b.*$", text, re.MULTILINE)


def _examples(text: str) -> list[list[str]]:
    """Return the command lines of an Example block, cut at a pipe; a line that begins otherwise goes on the last."""
    block = text.partition("Example:")[2].strip()
    commands = re.split(r"^ *(?=offbeat )", block, flags=re.MULTILINE)
    words = [shlex.split(" ".join(command.split("\n")).replace("\\ ", " "), comments=True) for command in commands]
    return [line[: line.index("|")] if "|" in line else line for line in words if line]


def _parse(arguments: list[str]) -> None:
    """Parse a command line as far as one can without running it; a wrong option raises."""
    group = typer.main.get_group(app)
    with group.make_context("offbeat", list(arguments), resilient_parsing=True) as context:
        _, command, rest = group.resolve_command(context, arguments)
        assert command is not None
        command.make_parser(context).parse_args(rest)


def test_no_file_outgrows_its_wall() -> None:
    lengths = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON}

    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_modules_are_named_by_nouns_that_say_something() -> None:
    assert [_name(path) for path in PYTHON if path.stem in VAGUE_NAMES or path.parent.name in VAGUE_NAMES] == []


def test_every_module_says_what_it_is_for() -> None:
    assert [_name(path) for path in SHIPPED if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []


def test_every_module_lists_what_it_offers_in_order() -> None:
    unlisted, unsorted = [], []
    for path in SHIPPED:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        offered = _listed(tree)
        defines = any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_" for node in tree.body)
        if offered is None and defines:
            unlisted.append(_name(path))
        if offered is not None and offered != sorted(offered, key=_rank):
            unsorted.append(_name(path))

    assert unlisted == []
    assert unsorted == []


def test_what_a_module_does_not_offer_begins_with_an_underscore() -> None:
    hidden = []
    for path in SHIPPED:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        offered = set(_listed(tree) or ())
        made = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        hidden += [f"{_name(path)}: {name}" for name in made if not name.startswith("_") and name not in offered]

    assert hidden == []


def test_arguments_beyond_two_of_what_is_offered_are_named_by_the_caller() -> None:
    crowded = []
    for path in SHIPPED:
        for function in _functions(ast.parse(path.read_text(encoding="utf-8"))):
            if function.name.startswith("_") or _decorators(function) & COMPILERS or _is_command(path, function):
                continue
            positional = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
            n_free = len([arg for arg in positional if arg not in ("self", "cls")])
            if n_free > MAX_POSITIONAL and function.name not in IN_TABLE_ORDER:
                crowded.append(f"{_name(path)}:{function.lineno} {function.name}")

    assert crowded == []


def _is_command(path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether typer calls the function, and by keyword."""
    return path.parent.name == "cli" and function.name in {command.__name__ for command in COMMANDS.values()}
