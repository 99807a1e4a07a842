"""What can stand next in a statement: tables, columns, functions, queries and words of SQL, for the Tab key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion

if TYPE_CHECKING:
    from prompt_toolkit.document import Document

__all__ = ["SqlCompleter"]

_WORD: Final = re.compile(r"\.?\w+$")
_RELATION_BEFORE: Final = re.compile(r"\b(?:from|join|describe|summarize)\s+\w*$", re.IGNORECASE)
_QUALIFIED: Final = re.compile(r"(?P<relation>\w+)\.(?P<column>\w*)$")


class SqlCompleter(Completer):
    """Completes names by what stands before the cursor.

    Parameters
    ----------
    columns
        Columns of each table and view.
    functions
        Names of functions.
    keywords
        Words of SQL.
    queries
        Named queries, after ``.query``.
    commands
        Commands of the shell, which begin with a dot.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[str]],
        *,
        functions: Iterable[str],
        keywords: Iterable[str],
        queries: Iterable[str],
        commands: Iterable[str],
    ) -> None:
        self._columns = columns
        self._functions = sorted(set(functions))
        self._keywords = sorted(keywords)
        self._queries = sorted(queries)
        self._commands = sorted(commands)
        self._all_columns = sorted({name for names in columns.values() for name in names})

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """Yield what may stand at the cursor, those of the tables that are named first."""
        before = document.text_before_cursor
        word = self._word(before)
        for text, meaning in self._candidates(before, document.text):
            if text.lower().startswith(word.lower()) and text != word:
                yield Completion(text, start_position=-len(word), display_meta=meaning)

    def _word(self, before: str) -> str:
        qualified = _QUALIFIED.search(before)
        if qualified and qualified["relation"] in self._columns:
            return qualified["column"]
        found = _WORD.search(before)
        return found[0] if found else ""

    def _candidates(self, before: str, text: str) -> Iterator[tuple[str, str]]:
        if before.lstrip().startswith("."):
            yield from self._after_dot(before.lstrip())
            return
        qualified = _QUALIFIED.search(before)
        if qualified and qualified["relation"] in self._columns:
            yield from ((name, qualified["relation"]) for name in self._columns[qualified["relation"]])
            return
        if _RELATION_BEFORE.search(before):
            yield from ((name, "table or view") for name in sorted(self._columns))
            yield from ((name, "function") for name in self._functions)
            return
        yield from self._anything(text)

    def _after_dot(self, before: str) -> Iterator[tuple[str, str]]:
        command, space, _ = before.partition(" ")
        if not space:
            yield from ((name, "command") for name in self._commands)
            return
        if command in (".query", ".show"):
            yield from ((name, "query") for name in self._queries)
        if command in (".columns", ".show"):
            yield from ((name, "table or view") for name in sorted(self._columns))

    def _anything(self, text: str) -> Iterator[tuple[str, str]]:
        named = [name for name in self._columns if re.search(rf"\b{name}\b", text)]
        first = [column for name in named for column in self._columns[name]]
        seen: set[str] = set()
        for column in (*first, *(() if named else self._all_columns)):
            if column not in seen:
                seen.add(column)
                yield column, "column"
        yield from ((name, "function") for name in self._functions)
        yield from ((name, "table or view") for name in sorted(self._columns))
        yield from ((word, "") for word in self._keywords)
