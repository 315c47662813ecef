"""Megatron-LM's source at one revision, imported module by module on a machine without GPUs.

Importing a package of Megatron-LM runs `__init__.py` files that need Transformer Engine and CUDA. Here packages are
registered without running them, and a module that cannot be imported is replaced by an inert one. Every function that
decides a verdict is Megatron-LM's own.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import traceback
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from . import recorder

TREES = ("megatron", "examples/mimo")


class Inert:
    """Stands for any object: every attribute and every call gives another one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()

    def __call__(self, *_: Any, **__: Any) -> Inert:
        return Inert()

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (object,)


class _InertModule(ModuleType):
    def __getattr__(self, name: str) -> Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        value = Inert()
        setattr(self, name, value)
        return value


class Megatron:
    """One revision of Megatron-LM in this process. A process loads one revision only: modules are global in Python."""

    def __init__(self, repository: Path, revision: str, unpacked: Path) -> None:
        """Unpack `revision` of the git repository below the folder `unpacked` (once) and make it importable."""
        self.root = unpack(repository, revision, unpacked)
        _register_packages(self.root)
        recorder.install()

    def load(self, module: str) -> Any:
        """Import one module. Raises ImportError where the revision lacks it."""
        return importlib.import_module(module)

    def stub(self, *modules: str, **attributes: Any) -> None:
        """Replace modules by inert ones that have only the given attributes."""
        for name in modules:
            module = _InertModule(name)
            module.__spec__ = ModuleSpec(name, None)
            module.__path__ = []
            for key, value in attributes.items():
                setattr(module, key, value)
            sys.modules[name] = module
            _attach(name, module)

    def run_package(self, package: str) -> None:
        """Run the `__init__.py` of one registered package after all."""
        module = sys.modules[package]
        path = Path(module.__path__[0]) / "__init__.py"
        module.__file__ = str(path)
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)

    def parse(self, path: str) -> ast.Module:
        return ast.parse((self.root / path).read_text())

    def compiled(self, path: str, body: Iterable[ast.stmt], namespace: dict[str, Any]) -> dict[str, Any]:
        """Run statements of a file of Megatron-LM under its name and at its lines, in a namespace of ours."""
        exec(compile(ast.Module(list(body), []), str(self.root / path), "exec"), namespace)
        return namespace

    def function(self, path: str, name: str, namespace: dict[str, Any]) -> Any:
        """One top-level function of a file whose module cannot be imported here. Raises LookupError without one."""
        body = [node for node in self.parse(path).body if getattr(node, "name", None) == name]
        if not body:
            raise LookupError(f"{path} has no {name}")
        return self.compiled(path, body, dict(namespace))[name]

    def error(self, raised: Exception) -> dict[str, Any]:
        """An exception as data: type, message, who decided (`origin`) and the innermost place in Megatron-LM."""
        frames = traceback.extract_tb(raised.__traceback__)
        inside = [frame for frame in frames if Path(frame.filename).is_relative_to(self.root)]
        key = isinstance(raised, KeyError) and raised.args
        where = None
        if inside:
            where = f"{Path(inside[-1].filename).relative_to(self.root).as_posix()}:{inside[-1].lineno}"
        return {
            "type": type(raised).__name__,
            "message": str(raised.args[0]) if key else str(raised),
            "origin": self._origin(raised, frames[-1]),
            "where": where,
        }

    def _origin(self, raised: Exception, frame: traceback.FrameSummary) -> str:
        if Path(frame.filename) == Path(recorder.__file__):
            return "torch"
        if Path(frame.filename).is_relative_to(self.root):
            statement = _innermost_statement(Path(frame.filename), frame.lineno or 0)
            if isinstance(statement, ast.Raise):
                return "megatron"
            if isinstance(statement, ast.Assert) and isinstance(raised, AssertionError):
                return "megatron"
        return "python"


def unpack(repository: Path, revision: str, unpacked: Path) -> Path:
    """The folder with the trees of a revision; unpacked from git if it is not there yet."""
    commit = _git(repository, "rev-parse", f"{revision}^{{commit}}").decode().strip()
    root = unpacked / commit
    if not (root / "megatron").is_dir():
        root.mkdir(parents=True, exist_ok=True)
        present = [tree for tree in TREES if _git(repository, "ls-tree", commit, tree)]
        archive = _git(repository, "archive", commit, *present)
        subprocess.run(["tar", "x", "-C", str(root)], input=archive, check=True)
    return root


def _git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, stdout=subprocess.PIPE).stdout


def _register_packages(root: Path) -> None:
    """Make every folder below `megatron` and `examples` a package whose `__init__.py` does not run."""
    for top in ("megatron", "examples"):
        folders = [root / top, *sorted(path for path in (root / top).rglob("*") if path.is_dir())]
        for folder in folders:
            parts = folder.relative_to(root).parts
            if folder.is_dir() and all(part.isidentifier() and part != "__pycache__" for part in parts):
                name = ".".join(parts)
                module = ModuleType(name)
                module.__path__ = [str(folder)]
                module.__package__ = name
                module.__spec__ = ModuleSpec(name, None, is_package=True)
                module.__spec__.submodule_search_locations = [str(folder)]
                sys.modules[name] = module
                _attach(name, module)


def _attach(name: str, module: ModuleType) -> None:
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)


def _innermost_statement(path: Path, line: int) -> ast.stmt | None:
    covering = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    # of equally short ones the last: ast.walk meets the outer statement first
    return min(reversed(covering), key=_lines) if covering else None


def _lines(statement: ast.stmt) -> int:
    return (statement.end_lineno or statement.lineno) - statement.lineno
