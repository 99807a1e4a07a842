"""The shell of ``offbeat sql``: statements asked for one after the other, with history and completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import create_output

from pipeline.cli.answer_format import AnswerFormat
from pipeline.cli.answers import print_answer
from pipeline.cli.assignments import read_assignments
from pipeline.cli.completion import SqlCompleter
from pipeline.cli.printer import note, print_lines
from pipeline.cli.query_bar import QueryBar
from profiler.errors import OffbeatError, UsageError

if TYPE_CHECKING:
    from pipeline.sql import Answer, Database

__all__ = ["COMMANDS", "Shell", "history_file", "run_shell"]

PROMPT: Final = "offbeat> "
MORE: Final = "    ...> "
COMMANDS: Final[Mapping[str, str]] = {
    ".help": "these commands",
    ".tables": "tables and views, and what they hold",
    ".columns NAME": "columns of a table or view, with type, unit and meaning",
    ".functions": "functions that SQL can call",
    ".queries": "named queries, and their parameters",
    ".query NAME [PARAM=VALUE ...]": "answer a named query",
    ".show NAME": "the SQL of a view, a function or a named query",
    ".format table|json|csv": "how answers are printed",
    ".quit": "leave; so does Ctrl-D",
}
"""What begins with a dot, and what it does."""

_HEAD: Final = {"kind": "rows", "version": 1}


def run_shell(database: Database, *, output: AnswerFormat) -> None:
    """Ask for statements until ``.quit`` or Ctrl-D; Ctrl-C gives up a line, or ends a query and asks again."""
    if output is AnswerFormat.PARQUET:
        raise UsageError("--format parquet: answers of the shell are text; give a statement, or --out")
    shell = Shell(database, output=output)
    session: PromptSession[str] = _session(shell.completer(), _history())
    note(f"Read-only SQL over the lake; end a statement with a semicolon. {PROMPT.strip()[:-1]}: .help for more.")
    while True:
        try:
            text = session.prompt(PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if not shell.answer(text):
            return


class Shell:
    """Answers what is typed.

    Parameters
    ----------
    database
        What is asked.
    output
        How answers are printed, until ``.format`` changes it.
    """

    def __init__(self, database: Database, *, output: AnswerFormat) -> None:
        self._database = database
        self._output = output
        self._dots: Mapping[str, Callable[[list[str]], None]] = {
            ".help": self._help,
            ".tables": self._tables,
            ".columns": self._columns,
            ".functions": self._functions,
            ".queries": self._queries,
            ".query": self._query,
            ".show": self._show,
            ".format": self._format,
        }

    def answer(self, text: str) -> bool:
        """Answer a statement or a command; errors go to stderr. Return whether to go on."""
        text = text.strip()
        if text in (".quit", ".exit"):
            return False
        try:
            if text.startswith("."):
                self._command(text)
            else:
                for statement in self._database.split(text):
                    with QueryBar() as bar:
                        self._print(self._database.stream(statement, on_progress=bar.show), bar)
        except OffbeatError as error:
            note(f"offbeat: {error}")
        except KeyboardInterrupt:
            note("offbeat: interrupted")
        return True

    def completer(self) -> Completer:
        """Return what completes names of this database."""
        from pipeline.sql import list_functions, list_queries

        columns: dict[str, list[str]] = {}
        for row in self._rows("select table_name, column_name from duckdb_columns() where not internal order by all"):
            columns.setdefault(row["table_name"], []).append(row["column_name"])
        built_in = self._rows("select distinct function_name as name from duckdb_functions() where name ~ '^[a-z]'")
        keywords = self._rows(
            "select keyword_name as name from duckdb_keywords() where keyword_category in ('reserved', 'type_function')"
        )
        return SqlCompleter(
            columns,
            functions=[*(function.name for function in list_functions()), *(row["name"] for row in built_in)],
            keywords=[row["name"] for row in keywords],
            queries=[query.name for query in list_queries()],
            commands=[".quit", *self._dots],
        )

    def _command(self, text: str) -> None:
        name, *arguments = text.rstrip(";").split()
        if name not in self._dots:
            raise UsageError(f"{name}: no such command; .help lists them")
        self._dots[name](arguments)

    def _print(self, answer: Answer, bar: QueryBar) -> int:
        bar.close()
        return print_answer(answer, output=self._output, head=_HEAD)

    def _rows(self, statement: str) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = self._database.sql(statement).to_pylist()
        return rows

    def _help(self, _arguments: list[str]) -> None:
        width = max(map(len, COMMANDS))
        print_lines(f"{command:{width}}  {meaning}" for command, meaning in COMMANDS.items())

    def _tables(self, _arguments: list[str]) -> None:
        from pipeline.sql import Answer, describe_relations

        print_answer(Answer.of_table(describe_relations()), output=self._output, head=_HEAD)

    def _columns(self, arguments: list[str]) -> None:
        from pipeline.sql import Answer, describe_columns

        described = describe_columns(self._database, _one(arguments, ".columns NAME, such as .columns rates"))
        print_answer(Answer.of_table(described), output=self._output, head=_HEAD)

    def _functions(self, _arguments: list[str]) -> None:
        from pipeline.sql import Answer, describe_functions

        print_answer(Answer.of_table(describe_functions()), output=self._output, head=_HEAD)

    def _queries(self, _arguments: list[str]) -> None:
        from pipeline.sql import Answer, describe_queries

        print_answer(Answer.of_table(describe_queries()), output=self._output, head=_HEAD)

    def _query(self, arguments: list[str]) -> None:
        from pipeline.sql import unknown_names

        if not arguments:
            raise UsageError(".query NAME [PARAM=VALUE ...]; .queries lists them")
        name, *given = arguments
        values = read_assignments(given, place=f".query {name}")
        with QueryBar() as bar:
            n_rows = self._print(self._database.stream_query(name, values, on_progress=bar.show), bar)
        for sentence in unknown_names(self._database, values) if not n_rows else ():
            note(f"offbeat: {sentence}")

    def _show(self, arguments: list[str]) -> None:
        from pipeline.sql import find_text

        print_lines(find_text(_one(arguments, ".show NAME, such as .show rates")).splitlines())

    def _format(self, arguments: list[str]) -> None:
        chosen = _one(arguments, ".format table, json or csv")
        if chosen not in ("table", "json", "csv"):
            raise UsageError(f".format {chosen}: expected table, json or csv")
        self._output = AnswerFormat(chosen)


def history_file() -> Path:
    """Return where statements are kept from one session to the next."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "offbeat" / "sql_history"


def _one(arguments: list[str], usage: str) -> str:
    if len(arguments) != 1:
        raise UsageError(f"expected {usage}")
    return arguments[0]


def _history() -> History:
    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        note(f"offbeat: {path}: {error.strerror}; statements are not kept after this session")
        return InMemoryHistory()
    return FileHistory(path)


def _session(completer: Completer, history: History) -> PromptSession[str]:
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=completer,
        complete_while_typing=False,
        multiline=Condition(lambda: not _is_whole(session.default_buffer.text)),
        prompt_continuation=MORE,
        # Answers alone go to stdout, which may be a file.
        output=create_output(stdout=sys.stderr),
    )
    return session


def _is_whole(text: str) -> bool:
    """Return whether Enter ends what is typed: a command, nothing at all, or a statement with its semicolon."""
    from pipeline.sql import ends_statement

    text = text.strip()
    return not text or text.startswith(".") or ends_statement(text)
