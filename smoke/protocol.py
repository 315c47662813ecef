"""What the referee, the ranks and the pods of a smoke job tell each other: framing, authentication, bounds and exit codes.

Every message is one line of JSON. Whatever arrives is checked before it is used: a sender may be a stranger, or a rank
that has gone wrong.
"""

from __future__ import annotations

import hmac
import json
import socket
from typing import Any, Callable, Dict, Iterator, List, Optional

from plan import is_number

#: What the referee answers to a rank that it admits.
WELCOME = b"\n"

#: The longest line that a rank may send, in bytes: frames of a stack, timings of a sweep, an error.
MAX_MESSAGE = 1 << 20

#: The longest line of a rank that was asked for its plan, in bytes.
MAX_PLAN_MESSAGE = 512 << 20

#: The longest line that anybody may send who has not shown the token, in bytes.
MAX_HELLO = 4096

#: The longest text that is taken over from a message, in characters.
MAX_TEXT = 1000

#: The exit status of the job for each verdict.
EXITS = {
    "ok": 0,
    "join_timeout": 10,
    "plan_mismatch": 11,
    "rank_lost": 12,
    "rank_error": 13,
    "gate_timeout": 14,
    "op_timeout": 15,
    "wrong_data": 16,
    "rank_silent": 17,
    "device_clash": 18,
    "total_timeout": 19,
    "cancelled": 143,
}

#: The checks that this version of the job has.
CHECKS = ("groups", "collectives", "bandwidth", "all_gather_overlap", "sequence", "ntp")

#: Exit status for arguments or a plan that cannot be used.
USAGE = 64


class MessageError(ValueError):
    """A message that does not say what its sender must say; the text names the field."""


def send(sock: socket.socket, **message: Any) -> None:
    """Sends one message as a line of JSON. Raises OSError where the connection is lost."""
    sock.sendall((json.dumps(message, separators=(",", ":")) + "\n").encode())


def is_authentic(message: Dict[str, Any], token: str) -> bool:
    """Whether a message shows the run's token; takes as long for a wrong one as for the right one."""
    shown = message.get("token")
    if not isinstance(shown, str) or not token:
        return False
    return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), token.encode())


class MessageReader:
    """Cuts a stream of bytes into messages, in memory for two lines at most."""

    def __init__(self, most: int = MAX_MESSAGE) -> None:
        #: The longest line that is accepted, in bytes.
        self.most = most
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[Dict[str, Any]]:
        """The messages that these bytes complete. Raises MessageError at a line that is none, or that is too long."""
        searched = len(self._rest)
        self._rest += data
        while True:
            end = self._rest.find(b"\n", searched)
            if (len(self._rest) if end < 0 else end) > self.most:
                raise MessageError("a line of more than %d bytes" % self.most)
            if end < 0:
                return
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            searched = 0
            yield parse_message(line)


def parse_message(line: bytes) -> Dict[str, Any]:
    """The object that a line holds. Raises MessageError."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MessageError("a line that is no JSON") from error
    if not isinstance(message, dict):
        raise MessageError("a line that is no JSON object")
    return message


# ---- fields of messages


def text_of(message: Dict[str, Any], key: str, default: Optional[str] = None) -> str:
    """A text, cut at MAX_TEXT characters. Raises MessageError."""
    value = message.get(key, default)
    if not isinstance(value, str):
        raise MessageError("`%s` is no text" % key)
    return value[:MAX_TEXT]


def optional_text_of(message: Dict[str, Any], key: str) -> Optional[str]:
    """A text, or None where there is none. Raises MessageError."""
    return None if message.get(key) is None else text_of(message, key)


def whole_of(message: Dict[str, Any], key: str, below: int = 1 << 63) -> int:
    """A whole number from 0. Raises MessageError."""
    value = message.get(key)
    if type(value) is not int or not 0 <= value < below:
        raise MessageError("`%s` is no whole number below %d" % (key, below))
    return value


def seconds_or_bytes_of(message: Dict[str, Any], key: str) -> float:
    """A finite number from 0. Raises MessageError."""
    value: Any = message.get(key)
    if not is_number(value) or value < 0:
        raise MessageError("`%s` is no number from 0" % key)
    return float(value)


def list_of(message: Dict[str, Any], key: str, check: Callable[[Any], bool], most: int) -> List[Any]:
    """A list of at most so many values that pass a check; empty where there is none. Raises MessageError."""
    values = message.get(key)
    if values is None:
        return []
    if not isinstance(values, list) or len(values) > most or not all(check(value) for value in values):
        raise MessageError("`%s` is no list of the right values" % key)
    return values


def ranks_of(message: Dict[str, Any], key: str, world: int) -> List[int]:
    """A list of ranks; empty where there is none. Raises MessageError."""
    return list_of(message, key, lambda value: type(value) is int and 0 <= value < world, world)


def operations_of(value: Any, known: Dict[str, Any]) -> Dict[str, Dict[str, Any]]:
    """What a rank measured: of each operation bytes and milliseconds, or why it was skipped. Raises MessageError."""
    if not isinstance(value, dict) or set(value) - set(known):
        raise MessageError("`ops` names operations that there are not")
    return {name: _operation(one) for name, one in value.items()}


def _operation(value: Any) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise MessageError("an operation is no object")
    if "skipped" in value:
        return {"skipped": text_of(value, "skipped")}
    return {"bytes": whole_of(value, "bytes"), "ms": seconds_or_bytes_of(value, "ms")}
