"""Opcodes of InfiniBand's base transport header: what a packet is, and how many bytes of headers follow.

References
----------
.. [1] InfiniBand Architecture Specification 1.7, volume 1, section 9.2, table 35; annex A17 for congestion
   notifications (CNP), annex A14 for extended reliable connections.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["ACK", "CLASSES", "CNP", "READ_RESPONSE", "opcode_table"]

CLASSES: Final = ("other", "send", "write", "read_request", "read_response", "ack", "atomic", "cnp")
"""Names of the classes, by number."""
_OTHER, _SEND, _WRITE, _READ_REQUEST, READ_RESPONSE, ACK, _ATOMIC, CNP = range(8)

_CNP_OPCODE: Final = 0x81
_CNP_BYTES: Final = 16
"""Reserved bytes that a CNP carries in place of a payload."""

_RETH, _AETH, _IMMEDIATE, _ATOMIC_ETH, _ATOMIC_ACK, _DETH, _RDETH, _XRCETH = 16, 4, 4, 28, 8, 8, 4, 4
_OPERATIONS: Final[dict[int, tuple[int, int]]] = {
    0x00: (_SEND, 0),
    0x01: (_SEND, 0),
    0x02: (_SEND, 0),
    0x03: (_SEND, _IMMEDIATE),
    0x04: (_SEND, 0),
    0x05: (_SEND, _IMMEDIATE),
    0x06: (_WRITE, _RETH),
    0x07: (_WRITE, 0),
    0x08: (_WRITE, 0),
    0x09: (_WRITE, _IMMEDIATE),
    0x0A: (_WRITE, _RETH),
    0x0B: (_WRITE, _RETH + _IMMEDIATE),
    0x0C: (_READ_REQUEST, _RETH),
    0x0D: (READ_RESPONSE, _AETH),
    0x0E: (READ_RESPONSE, 0),
    0x0F: (READ_RESPONSE, _AETH),
    0x10: (READ_RESPONSE, _AETH),
    0x11: (ACK, _AETH),
    0x12: (_ATOMIC, _AETH + _ATOMIC_ACK),
    0x13: (_ATOMIC, _ATOMIC_ETH),
    0x14: (_ATOMIC, _ATOMIC_ETH),
    0x16: (_SEND, _IMMEDIATE),
    0x17: (_SEND, _IMMEDIATE),
}
"""Class and bytes of further headers of each operation, the lower five bits."""
_ATOMIC_ANSWER: Final = 0x12

_RELIABLE, _UNRELIABLE, _RELIABLE_DATAGRAM, _DATAGRAM, _EXTENDED = 0, 1, 2, 3, 5
"""Services, the upper three bits."""

_HEADER_SHIFT, _SPACE_SHIFT = 8, 16


def opcode_table() -> NDArray[np.int64]:
    """Return for each opcode its class (bits 0 to 7), bytes of further headers (8 to 15), and whose numbers it has.

    Bits 16 and up are 1 where a number that comes again is a request sent again, 2 where it is an answer to a READ
    sent again, 0 where numbers come again without that: in acknowledgements, and where no service is reliable.

    Returns
    -------
    table : ndarray of int64, shape (256,)
    """
    return np.array([_entry(opcode) for opcode in range(256)], dtype=np.int64)


def _entry(opcode: int) -> int:
    if opcode == _CNP_OPCODE:
        return CNP | _CNP_BYTES << _HEADER_SHIFT
    service, operation = opcode >> 5, opcode & 0x1F
    if service == _DATAGRAM:
        kind, header_bytes = _OPERATIONS.get(operation, (_OTHER, 0))
        return kind | (header_bytes + _DETH) << _HEADER_SHIFT if kind == _SEND else _OTHER
    if service not in (_RELIABLE, _UNRELIABLE, _RELIABLE_DATAGRAM, _EXTENDED) or operation not in _OPERATIONS:
        return _OTHER
    kind, header_bytes = _OPERATIONS[operation]
    is_answer = kind in (READ_RESPONSE, ACK) or operation == _ATOMIC_ANSWER
    if service == _RELIABLE_DATAGRAM:
        header_bytes += _RDETH if is_answer else _RDETH + _DETH
    elif service == _EXTENDED and not is_answer:
        header_bytes += _XRCETH
    space = 0 if service == _UNRELIABLE else 2 if kind == READ_RESPONSE else 0 if is_answer else 1
    return kind | header_bytes << _HEADER_SHIFT | space << _SPACE_SHIFT
