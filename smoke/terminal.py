"""Text for a terminal or a log: names and messages come from files and from ranks, and a terminal obeys what is in them."""

from __future__ import annotations

import re

#: Control characters, and those that hide text or turn its direction.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")


def printable(text: str) -> str:
    """One line of text, with every unsafe character as an escape such as `\\x1b`."""
    return UNSAFE.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)
