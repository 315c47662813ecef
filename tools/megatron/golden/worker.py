"""Run the cases of one kind on one revision: JSON lines {"input"} on standard input, {"ok", "error", "expect"} out.

A process of its own for each kind and revision: modules are global in Python, and kinds replace different ones.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from .outcome import AbsentError, Outcome
from .registry import KINDS
from .source import Megatron


def work(kind: str, repository: Path, revision: str, unpacked: Path) -> None:
    answers = sys.stdout
    # what Megatron-LM prints is no answer
    with contextlib.redirect_stdout(sys.stderr):
        try:
            run = KINDS[kind].prepare(Megatron(repository, revision, unpacked))
        except (AbsentError, ModuleNotFoundError) as raised:
            print(json.dumps({"absent": _absence(raised)}), file=answers)
            return
        for line in sys.stdin:
            outcome: Outcome = run(json.loads(line)["input"])
            print(json.dumps(vars(outcome), ensure_ascii=True), file=answers, flush=True)


def _absence(raised: Exception) -> str:
    return str(raised) if isinstance(raised, AbsentError) else f"{type(raised).__name__}: {raised}"


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
