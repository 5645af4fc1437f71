"""The JSON of backups, purges, migrations and examinations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

if TYPE_CHECKING:
    from promptuary.maintenance.database_migration import Migration
    from promptuary.memory.values import Examination
    from promptuary.workspace.data_folder.kept_files import KeptReport


def kept_json(report: KeptReport) -> dict[str, Any]:
    """Return what ``backup --json``, ``restore --json`` and ``purge --json`` print."""
    return {"files": to_builtins(report.files), "bytes": report.bytes, "done": report.done, "notes": list(report.notes)}


def migration_json(migration: Migration) -> dict[str, Any]:
    """Return what ``migrate --json`` prints."""
    fields: dict[str, Any] = to_builtins(migration)
    return {"from": fields.pop("source"), "to": fields.pop("target"), **fields}


def examination_json(examination: Examination) -> dict[str, Any]:
    """Return what ``doctor --json`` prints."""
    return {
        "counts": dict(examination.counts),
        "findings": to_builtins(examination.findings),
        "threads": to_builtins(examination.threads),
        "well": examination.is_well,
    }
