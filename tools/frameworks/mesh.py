"""A device mesh that records its groups in place of making them: the part of torch that is replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Groups = list[list[int]]


@dataclass(frozen=True)
class Axis:
    """A named dimension: how many ranks lie along it, and how far apart neighbours are."""

    name: str
    size: int
    stride: int


class RecordedMesh:
    """Ranks `[0, world)` factored into axes, the slowest first, or some of those axes (torch's `DeviceMesh`)."""

    def __init__(self, axes: Sequence[Axis], whole: Sequence[Axis] | None = None) -> None:
        self.axes = tuple(axes)
        self.whole = tuple(whole if whole is not None else axes)

    @staticmethod
    def over(shape: Sequence[int], names: Sequence[str]) -> RecordedMesh:
        """A mesh of a whole world, in rank order."""
        axes = [
            Axis(name, size, math.prod(shape[i + 1 :])) for i, (name, size) in enumerate(zip(names, shape, strict=True))
        ]
        return RecordedMesh(axes)

    def __getitem__(self, names: str | Sequence[str]) -> RecordedMesh:
        wanted = [names] if isinstance(names, str) else list(names)
        return RecordedMesh([axis for name in wanted for axis in self.axes if axis.name == name], self.whole)

    def _unflatten(self, dim: int, sizes: Sequence[int], names: Sequence[str], **_: object) -> RecordedMesh:
        if len(self.axes) != 1 or dim != 0 or math.prod(sizes) != self.size():
            raise ValueError(f"{sizes} do not factor {self.size()} ranks")
        return RecordedMesh.over(list(sizes), list(names))

    def _flatten(self, _name: str) -> RecordedMesh:
        return self

    @property
    def ndim(self) -> int:
        return len(self.axes)

    def size(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    def groups(self) -> Groups:
        """The rank lists along these axes, one for each place along the others."""
        others = [axis for axis in self.whole if axis.name not in {own.name for own in self.axes}]
        return [[first + step for step in steps(self.axes)] for first in steps(others)]


def steps(axes: Sequence[Axis]) -> list[int]:
    """The distances from the first rank to all ranks along some axes, the last axis fastest."""
    found = [0]
    for axis in axes:
        found = [one + place * axis.stride for one in found for place in range(axis.size)]
    return found
