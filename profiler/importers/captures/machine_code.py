"""The kernel as machine code: compiled once on a machine, from a cache after that, without importing numba.

numba takes a second of processor time to import and to load what it cached, as long as the kernel takes for twenty
million packets. So its object code is kept, and loaded by the LLVM that numba brings. It is kept for what it was made
of: the sources of the kernel, the versions that compiled it, and the processor.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

import llvmlite.binding as llvm

__all__ = ["Kernel", "load_kernel"]

Kernel = Callable[[int, int, int, int], int]
"""Takes addresses of bytes and words, the first byte and the one past the last; returns where the walk ended."""

_log = logging.getLogger(__name__)

_NOT_KEPT: Final = "%s: %s, so the reader of captures is compiled in each run; set %s to a folder of yours alone"
_SYMBOL: Final = "offbeat_captures"
_FOLDER_VARIABLE: Final = "OFFBEAT_CACHE_DIR"
_ROOT: Final = Path(__file__).parent
_SOURCES: Final = ("clocks", "flow_words", "interface_words", "layout", "machine_code", "opcodes", "statuses")
"""Modules beside the kernel of which it takes constants, and this one."""
_NATIVE: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
)
"""How numba calls what it compiles: where to put the result, where to put an exception, then the arguments."""


@cache
def load_kernel() -> Kernel:
    """Return the kernel, compiled now if no earlier run on this machine has: that takes some seconds."""
    machine = _machine()
    path = _cache_folder() / f"captures-{_key()}.o"
    code = _read(path)
    if code is None:
        code = _compile(machine)
        _write(path, code)
    native = _linked(code, machine)
    _give_back_pages()
    result = ctypes.c_int64()
    address = ctypes.addressof(result)

    def _enter(data: int, words: int, at: int, stop: int) -> int:
        native(address, None, data, words, at, stop)
        return result.value

    return _enter


def _give_back_pages() -> None:
    """Let the system take back the 30 MiB of LLVM's own code that loading touched; it comes back if it is needed."""
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, *_, path = line.split(maxsplit=5)
        if access == "r-xp" and path.endswith("libllvmlite.so"):
            start, stop = (int(end, 16) for end in span.split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), mmap.MADV_DONTNEED)


def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


def _key() -> str:
    """Return what the object code depends on, as a name."""
    parts = [sys.implementation.cache_tag or "", version("numba"), version("llvmlite"), llvm.get_host_cpu_name()]
    parts.append(llvm.get_host_cpu_features().flatten())
    digest = hashlib.sha256("|".join(parts).encode())
    for path in (*(_ROOT / f"{name}.py" for name in _SOURCES), *sorted((_ROOT / "kernel").glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _cache_folder() -> Path:
    told = os.environ.get(_FOLDER_VARIABLE)
    if told:
        return Path(told)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offbeat"
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"offbeat-{os.geteuid()}"


def _read(path: Path) -> bytes | None:
    """Return the object code that is cached, None if there is none that is whole.

    It will be run, so it counts only if nobody but this user and root can have put it there: what is looked at is the
    open folder and file, since a path can mean another between a look and the next.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        content = _own_file(path.name, folder=folder) if _is_ours(folder) else b""
    except OSError:
        return None
    finally:
        os.close(folder)
    digest, code = content[:32], content[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def _own_file(name: str, *, folder: int) -> bytes:
    """Return what a file of a folder holds, nothing if others can write it."""
    # A pipe in its place must not be waited for.
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and _is_ours(file.fileno()) else b""


def _is_ours(descriptor: int) -> bool:
    """Return whether this user or root owns what is open, and no other user can write it."""
    found = os.fstat(descriptor)
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _write(path: Path, code: bytes) -> None:
    """Cache object code under its digest; where that cannot be, the next run compiles it again, and it is said."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
    except OSError as error:
        _log.warning(_NOT_KEPT, path.parent, error.strerror, _FOLDER_VARIABLE)
        return
    try:
        Path(file.name).replace(path)
    except OSError as error:
        Path(file.name).unlink(missing_ok=True)
        _log.warning(_NOT_KEPT, path.parent, error.strerror, _FOLDER_VARIABLE)
        return
    if _read(path) is None:
        _log.warning(_NOT_KEPT, path.parent, "others can write it", _FOLDER_VARIABLE)


def _compile(machine: llvm.TargetMachine) -> bytes:
    from numba import cfunc

    from profiler.importers.captures.kernel.compiling import SIGNATURE
    from profiler.importers.captures.kernel.entry import enter

    module = llvm.parse_assembly(cfunc(SIGNATURE)(enter.py_func).inspect_llvm())
    for function in module.functions:
        # What numba wraps around for callers in C asks for the interpreter's lock; without it nothing is left to link.
        if function.name.startswith("cfunc."):
            function.linkage = llvm.Linkage.internal
        elif not function.is_declaration and "enter" in function.name and function.linkage == llvm.Linkage.external:
            function.name = _SYMBOL
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    code: bytes = machine.emit_object(module)
    return code


_ENGINES: Final[list[llvm.ExecutionEngine]] = []
"""Owners of machine code that is in use."""


def _linked(code: bytes, machine: llvm.TargetMachine) -> Callable[..., int]:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _ENGINES.append(engine)
    return _NATIVE(engine.get_function_address(_SYMBOL))
