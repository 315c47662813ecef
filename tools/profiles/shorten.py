"""Shortens traces of torch.profiler in place to what is read of them: kernels, calls of collectives and steps."""

import gzip
import json
import sys
from typing import Any, Dict, Optional

KERNEL = (
    "External id",
    "device",
    "stream",
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "dtype",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "Src Rank",
    "Dst Rank",
)


def shortened(event: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """What is kept of an event; None for nothing."""
    args = event.get("args", {})
    if event.get("cat") == "kernel":
        kept = {key: args[key] for key in KERNEL if key in args}
    elif event.get("name") == "record_param_comms":
        kept = {key: args[key] for key in ("External id", "Rank") if key in args}
    elif event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep"):
        kept = {}
    else:
        return None
    return {**{key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}, "args": kept}


def main() -> None:
    """Shortens each file that is named."""
    for path in sys.argv[1:]:
        with gzip.open(path) as file:
            trace = json.load(file)
        trace["traceEvents"] = [short for event in trace["traceEvents"] if (short := shortened(event))]
        trace.pop("deviceProperties", None)
        with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as file:
            file.write(json.dumps(trace).encode())


if __name__ == "__main__":
    main()
