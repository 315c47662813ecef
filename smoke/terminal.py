"""Text for a terminal or a log: names and messages come from files and from ranks, and a terminal obeys what is in them."""

from __future__ import annotations

import re

#: Control characters, and those that hide text or turn its direction.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def printable(text: str) -> str:
    """One line of text, with every unsafe character as an escape such as `\\x1b`."""
    return UNSAFE.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)
