"""version_drift: the recorded cases of main, run on other revisions; kept are those that differ.

Lines of source alone are no difference. Names of groups that only one revision has are counted in the summary of each
revision and kind. An argument that a revision lacks is left out where it holds its default (see known_arguments).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .cases import REVISIONS, Case, Workplace, read
from .outcome import Json

COMPARED = ("dev", "core_v0.18.2", "core_v0.19.0")
KINDS = ("homogeneous", "hetero", "hetero_args", "gtp_args")

# what is compared besides verdicts and groups
FIELDS = {
    "hetero_args": ("encoder_size", "llm_size", "specs", "specs_error"),
    "gtp_args": ("tensor_parallel_num_weight_shards", "gtp_weight_remat_size"),
}

_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass
class _Names:
    """How often a group name exists in one of the two revisions only."""

    main: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)


def version_drift(_: str, place: Workplace) -> list[Case]:
    """The cases of every revision and kind, each with its summary."""
    return [case for revision in COMPARED for kind in KINDS for case in _drift(kind, revision, place)]


def _drift(kind: str, revision: str, place: Workplace) -> Iterator[Case]:
    recorded = read(kind)
    results = place.results(kind, revision, [case["input"] for case in recorded])
    tag = f"drift-{revision}-{kind}"
    if isinstance(results, str):
        absence = {"type": "Absent", "message": results, "origin": "generator", "where": None}
        yield _record(f"{tag}-absent", kind, revision, None, {"ok": False, "error": absence, "expect": {}})
        return
    names = _Names()
    differing = 0
    for main, other in zip(recorded, results, strict=True):
        difference = _difference(kind, main, other, names)
        if difference:
            differing += 1
            outcome = {
                "ok": other["ok"],
                "error": _verdict(other)["error"],
                "expect": {"main": _verdict(main), **difference},
            }
            yield _record(f"{tag}-{main['id']}", kind, revision, main["input"], outcome)
    counts = {
        "compared": len(recorded),
        "differ": differing,
        "not_followed": 0,
        "group_names_only_in_main": dict(names.main),
        "group_names_only_in_other": dict(names.other),
    }
    yield _record(f"{tag}-summary", kind, revision, None, {"ok": True, "error": None, "expect": counts})


def _record(identity: str, kind: str, revision: str, given: Json, outcome: dict[str, Json]) -> Case:
    about = {"kind": kind, "revision": revision, "commit": REVISIONS[revision][:10], "case": given}
    return {"id": identity, "input": about, **outcome}


def _difference(kind: str, main: Json, other: Json, names: _Names) -> dict[str, Json] | None:
    if main["ok"] != other["ok"]:
        return {"differs": "verdict"}
    if not _same_error(main["error"], other["error"]):
        return {"differs": "message"}
    if not main["ok"]:
        return None
    groups = _group_difference(kind, main["expect"], other["expect"], names)
    if groups:
        return {"differs": "groups", "groups": groups}
    fields = _field_difference(kind, main["expect"], other["expect"])
    return {"differs": "fields", "fields": fields} if fields else None


def _group_difference(kind: str, main: Json, other: Json, names: _Names) -> dict[str, Json]:
    ours, theirs = _groups(kind, main), _groups(kind, other)
    names.main.update(_last(name) for name in sorted(ours.keys() - theirs.keys()))
    names.other.update(_last(name) for name in sorted(theirs.keys() - ours.keys()))
    shared = sorted(ours.keys() & theirs.keys())
    return {name: {"main": ours[name], "other": theirs[name]} for name in shared if ours[name] != theirs[name]}


def _field_difference(kind: str, main: Json, other: Json) -> dict[str, Json]:
    return {
        name: {"main": main.get(name), "other": other.get(name)}
        for name in FIELDS.get(kind, ())
        if not _same_field(name, main.get(name), other.get(name))
    }


def _same_field(name: str, main: Json, other: Json) -> bool:
    if name == "specs_error":
        return _same_error(main, other)
    # generalized TP is absent from some revisions
    return bool(_without_gtp(main) == _without_gtp(other)) if name == "specs" else bool(main == other)


def _without_gtp(specs: Json) -> Json:
    return specs and [{name: size for name, size in spec.items() if "gtp" not in name} for spec in specs]


def _groups(kind: str, expect: Json) -> dict[str, Json]:
    """All groups of a case by name, or their digests; those of a module with its number and name in front."""
    if kind == "homogeneous":
        return _listed(expect, "")
    groups = {f"language.{name}": ranks for name, ranks in _listed(expect, "language_").items()}
    for index, module in enumerate(expect.get("modules", [])):
        groups.update({f"{index}.{module['name']}.{name}": ranks for name, ranks in _listed(module, "").items()})
    return groups


def _listed(expect: Json, prefix: str) -> dict[str, Json]:
    return expect.get(f"{prefix}groups") or expect.get(f"{prefix}groups_sha256") or {}


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _same_error(main: Json, other: Json) -> bool:
    """Whether two errors have the same type and message; addresses in a message do not count."""
    if main is None or other is None:
        return main is other
    return all(_ADDRESS.sub("", main[key]) == _ADDRESS.sub("", other[key]) for key in ("type", "message"))


def _verdict(outcome: Json) -> dict[str, Json]:
    error = outcome["error"]
    return {
        "ok": outcome["ok"],
        "error": error and {name: error[name] for name in ("type", "message", "origin", "where")},
    }
