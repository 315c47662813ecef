"""The event stream: one JSON object a line, from one writer (schemas/smoke-events.schema.json)."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any, Dict, TextIO

from plan import list_ranks
from terminal import printable

#: No line of the event stream is longer, in bytes with its end: srun breaks longer ones.
MAX_LINE = 1023

#: Fields that are never cut: without them an event says nothing, and they are short.
WHOLE = ("ev", "t", "code", "exit", "verdict", "ok", "cut", "limits")


class EventWriter:
    """Writes events, and for each a line for people to standard error."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._began = time.monotonic()
        #: Whether the reader of the events is gone.
        self.closed = False

    def seconds(self) -> float:
        """Seconds since the stream began."""
        return round(time.monotonic() - self._began, 3)

    def emit(self, event: str, **fields: Any) -> None:
        """Writes one event. Fields that are None are left out."""
        body: Dict[str, Any] = {"ev": event, "t": self.seconds()}
        body.update((key, value) for key, value in fields.items() if value is not None)
        line = human(event, body)
        self.closed = not write_line(self._out, fit(body)) or self.closed
        write_line(sys.stderr, printable(line))


def write_line(out: TextIO, line: str) -> bool:
    """Writes a line at once; whether its reader is still there. What is written to a reader that is gone is dropped."""
    try:
        out.write(line + "\n")
        out.flush()
        return True
    except (OSError, ValueError):
        # the interpreter flushes its streams at exit, and fails where it cannot
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return False


def fit(body: Dict[str, Any]) -> str:
    """The event as one line of at most MAX_LINE bytes, its end included; `cut` says that the largest fields were cut."""
    line = compact(body)
    while len(line) >= MAX_LINE:
        key = max((key for key in body if key not in WHOLE), key=lambda one: len(compact(body[one])))
        body[key] = shorter(body[key])
        body["cut"] = True
        line = compact(body)
    return line


def compact(value: Any) -> str:
    """ASCII JSON, so that characters are bytes."""
    return json.dumps(value, separators=(",", ":"))


def shorter(value: Any) -> Any:
    """About half of a text, a list or a map."""
    if isinstance(value, str):
        return value[: len(value) // 2].rstrip(".") + "..."
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return [shorter(value[0])]
    if isinstance(value, (list, tuple)):
        return list(value[: (len(value) + 1) // 2])
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return None


def human(event: str, body: Dict[str, Any]) -> str:
    """The line for people that goes with an event."""
    if event == "start":
        return "smoke job %(job)s: %(layout)s, %(world)d ranks, %(groups)d process groups" % body
    if event == "rank":
        return "rank %(rank)d joined from %(host)s, pid %(pid)d" % body
    if "ops" in body:
        return "ok  %s%s %s%s %s  %s" % (
            body["name"] + "  " if "name" in body else "",
            body["kind"],
            body["idx"],
            " of " + body["module"] if "module" in body else "",
            list_ranks(body["ranks"]),
            ", ".join(speed(name, operation) for name, operation in body["ops"].items()),
        )
    if event == "fault":
        return "FAULT %(code)s: %(msg)s" % body
    if event == "end":
        return "%s after %s s" % ("passed" if body["ok"] else "FAILED: " + body["verdict"], body["secs"])
    details = ", ".join("%s %s" % (key, value) for key, value in body.items() if key not in ("ev", "t", "name", "ok"))
    return "%s %s%s" % (event, body.get("name"), ": " + details if details else "")


def speed(name: str, operation: Dict[str, Any]) -> str:
    """One operation of a group, for people."""
    if "skipped" in operation:
        return "%s skipped" % name
    return "%s %s GB/s at %s" % (name, operation["busGBs"], size(operation["bytes"]))


def size(moved: int) -> str:
    """A number of bytes, for people."""
    return "%.4g MiB" % (moved / 2**20) if moved >= 1 << 20 else "%.4g KiB" % (moved / 2**10)
