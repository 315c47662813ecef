#!/usr/bin/env python3
"""Remake the golden data from Megatron-LM's own code.

usage: python3 tools/megatron/remake.py MEGATRON [KIND ...] [--check]
MEGATRON: a git repository of NVIDIA/Megatron-LM that has the revisions of revisions.json (a clone, bare or not).
KIND: the kinds to remake; all by default. --check: write nothing, and exit with 1 where a file would change.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from golden import cases
from golden.drift import version_drift
from golden.registry import KINDS


def main() -> int:
    parser = argparse.ArgumentParser(description="Remake the golden data from Megatron-LM's own code.")
    parser.add_argument("megatron", type=Path, help="git repository of NVIDIA/Megatron-LM")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: all of {', '.join(MAKERS)}")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where a file would change")
    arguments = parser.parse_args()
    unknown = [kind for kind in arguments.kinds if kind not in MAKERS]
    if unknown:
        parser.error(f"no kind is called {unknown[0]}")
    with tempfile.TemporaryDirectory(prefix="megatron-lm-") as unpacked:
        place = cases.Workplace(arguments.megatron.resolve(), Path(unpacked))
        differing = [_remake(kind, place, arguments.check) for kind in arguments.kinds or MAKERS]
    return 1 if arguments.check and any(differing) else 0


Maker = Callable[[str, cases.Workplace], list[cases.Case]]
# last what is made of the other files
MAKERS: dict[str, Maker] = {**dict.fromkeys(KINDS, cases.remade), "version_drift": version_drift}


def _remake(kind: str, place: cases.Workplace, check: bool) -> bool:
    """Write the file of a kind, or only compare; whether a value differs. A line of equal value stays as it is."""
    path = cases.path_of(kind)
    lines = path.read_text().splitlines() if path.exists() else []
    recorded = {case["id"]: (case, line) for case, line in ((json.loads(line), line) for line in lines)}
    made = MAKERS[kind](kind, place)
    differing = [case["id"] for case in made if recorded.get(case["id"], (None,))[0] != case]
    gone = len(recorded.keys() - {case["id"] for case in made})
    if not check:
        kept = [recorded[case["id"]][1] if case["id"] not in differing else cases.line_of(case) for case in made]
        path.write_text("".join(f"{line}\n" for line in kept))
    detail = f": {', '.join(differing[:5])}{', ...' if len(differing) > 5 else ''}" if differing else ""
    print(f"{kind}: {len(made)} cases, {len(differing) + gone} differ{detail}", flush=True)
    return bool(differing or gone)


if __name__ == "__main__":
    raise SystemExit(main())
