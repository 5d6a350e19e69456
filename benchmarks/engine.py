"""Steps a second of the engine: executions of five actions without effect, on two main workers."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, fields
from typing import Any

import psycopg
from django.db import connection

from benchmarks.documents import context, flow_only
from benchmarks.meter import Meter
from workflows import tenancy
from workflows.models import Entity, Execution, StepRun
from workflows.services import entities, executions, publishing
from workflows.services.versions import CompiledVersion, load_version

ENTITIES = 10
ACTIONS = 5
BATCH = 20


@dataclass(frozen=True, slots=True)
class Result:
    """One run's figures; CPU in ms a step, over all that worked."""

    executions: float
    seconds: float
    steps_per_second: float
    cpu_ms: float
    database_ms: float
    worker_ms: float
    statements: float
    commits: float
    wal_bytes: float

    def sentence(self) -> str:
        """The figures in one line."""
        return (
            f"{self.executions:.0f} executions x {ACTIONS} flow actions in {self.seconds:.2f} s: "
            f"{self.steps_per_second:,.0f} steps/s; a step: CPU {self.cpu_ms:.2f} ms "
            f"(database {self.database_ms:.2f}, workers {self.worker_ms:.2f}), {self.statements:.2f} statements, "
            f"{self.commits:.2f} commits, {self.wal_bytes:.0f} bytes of WAL"
        )


def median(results: list[Result]) -> Result:
    """Of each figure by itself."""
    return Result(*(statistics.median(getattr(result, f.name) for result in results) for f in fields(Result)))


def prepare() -> list[tuple[Entity, CompiledVersion]]:
    """Ten entities, each with the measured workflow published."""
    prepared = []
    for number in range(ENTITIES):
        entity, _ = entities.create_entity(
            external_id=f"bench-{number}", name="Bench", timezone="America/Guatemala"
        )
        saved = publishing.create_workflow(entity=entity, document=flow_only())
        published = publishing.publish_workflow(
            entity=entity, workflow_id=saved.workflow.pk, actor="benchmark"
        )
        with tenancy.entity(entity.pk):
            version_id: Any = published.workflow.current_version_id
            prepared.append((entity, load_version(entity_id=entity.pk, version_id=version_id)))
    return prepared


def run(prepared: list[tuple[Entity, CompiledVersion]], meter: Meter, *, count: int, first: int) -> Result:
    """Start `count` executions, round robin over the entities, and wait until all have ended."""
    before = meter.read()
    for start in range(0, count, BATCH):
        entity, version = prepared[start // BATCH % ENTITIES]
        with tenancy.entity(entity.pk):
            for number in range(start, min(start + BATCH, count)):
                executions.start_execution(
                    entity_id=entity.pk,
                    version=version,
                    context=context(first + number),
                    contact_id=f"c{first + number}",
                    chat_id=f"ch{first + number}",
                    message_id=None,
                    actor="benchmark",
                )
    _wait_until_done(count, limit=300)
    seconds = _span()
    after = meter.read()
    steps = count * ACTIONS
    _check(count)
    return Result(
        executions=count,
        seconds=seconds,
        steps_per_second=steps / seconds,
        cpu_ms=1000
        * (
            after.database_cpu
            - before.database_cpu
            + after.worker_cpu
            - before.worker_cpu
            + after.client_cpu
            - before.client_cpu
        )
        / steps,
        database_ms=1000 * (after.database_cpu - before.database_cpu) / steps,
        worker_ms=1000 * (after.worker_cpu - before.worker_cpu) / steps,
        statements=(after.statements - before.statements) / steps,
        commits=(after.commits - before.commits) / steps,
        wal_bytes=(after.wal_bytes - before.wal_bytes) / steps,
    )


def _wait_until_done(count: int, *, limit: float) -> None:
    until = time.monotonic() + limit
    while time.monotonic() < until:
        with tenancy.fleet("benchmark"):
            done = Execution.objects.filter(status="completed").count()
        if done >= count:
            return
        time.sleep(0.1)
    raise SystemExit(f"only {done} of {count} executions ended within {limit:.0f} s")


def _span() -> float:
    """Seconds from the first execution's creation to the last one's end, by the database's clock."""
    with tenancy.fleet("benchmark"), connection.cursor() as cursor:
        cursor.execute(
            "select extract(epoch from max(finished_at) - min(created_at)) from workflows_execution"
        )
        return float(cursor.fetchone()[0])


def _check(count: int) -> None:
    """Every execution has exactly its five step runs."""
    with tenancy.fleet("benchmark"):
        runs = StepRun.objects.filter(status="done").count()
    if runs != count * ACTIONS:
        raise SystemExit(f"{runs} step runs instead of {count * ACTIONS}")


def clear(owner_url: str) -> None:
    """Empty what earlier rounds left; the workflows stay."""
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("truncate workflows_execution, workflows_inboundmessage, workflows_timer cascade")
        owner.execute("vacuum analyze")
