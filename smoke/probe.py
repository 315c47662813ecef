"""Says in one line of JSON what a Python interpreter can run: `torch` (a version, or null) and `gpus`, which torch sees."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import Optional, Tuple


def versions() -> Tuple[Optional[str], Optional[str]]:
    """The versions of torch and of the CUDA it was built for, read without importing torch, which takes seconds."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        return None, None
    try:
        with open(os.path.join(os.path.dirname(found.origin), "version.py"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None, None
    return assigned(text, "__version__"), assigned(text, "cuda")


def assigned(text: str, name: str) -> Optional[str]:
    """The string that the text of a module assigns to a name."""
    match = re.search(r"^%s\b[^=\n]*=\s*['\"]([^'\"]+)['\"]" % name, text, re.MULTILINE)
    return match.group(1) if match else None


def gpus() -> int:
    """How many GPUs torch sees on this machine."""
    import torch

    return int(torch.cuda.device_count())


if __name__ == "__main__":
    torch_version, cuda_version = versions()
    print(json.dumps({"torch": torch_version, "gpus": gpus() if cuda_version else 0}))
