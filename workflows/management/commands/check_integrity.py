"""Prove the invariants over the whole database."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from workflows.integrity import Finding, check_integrity


class Command(BaseCommand):
    """`check_integrity [--json]`: exit code 1 where an invariant is broken."""

    help = "Check every invariant of every entity's data; says what is wrong and exits with 1 if anything is."

    def add_arguments(self, parser: CommandParser) -> None:
        """For people or for programs."""
        parser.add_argument("--json", action="store_true", help="one JSON object instead of sentences")

    def handle(self, *args: Any, **options: Any) -> None:
        """A line per check, and under it the first rows that break it."""
        findings = check_integrity()
        broken = [finding for finding in findings if finding.count]
        if options["json"]:
            self.stdout.write(json.dumps(_document(findings), ensure_ascii=False))
        else:
            for finding in findings:
                self._show(finding)
        if broken:
            raise CommandError(
                _("%(count)d of %(all)d invariants are broken.")
                % {"count": len(broken), "all": len(findings)}
            )

    def _show(self, finding: Finding) -> None:
        verdict = f"BROKEN {finding.count}" if finding.count else "ok"
        self.stdout.write(f"{verdict} {finding.check.code}: {_(finding.check.sentence)}")
        for fault in finding.faults:
            self.stdout.write(f"  entity {fault.entity} {fault.row}: {fault.detail}")
        if finding.count > len(finding.faults):
            self.stdout.write(f"  … {finding.count - len(finding.faults)}")


def _document(findings: list[Finding]) -> dict[str, Any]:
    return {
        "sound": not any(finding.count for finding in findings),
        "checks": [
            {
                "code": finding.check.code,
                "sentence": finding.check.sentence,
                "count": finding.count,
                "faults": [{"entity": f.entity, "row": f.row, "detail": f.detail} for f in finding.faults],
            }
            for finding in findings
        ],
    }
