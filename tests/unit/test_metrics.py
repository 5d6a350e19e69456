"""The exposition made of readings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import OperationalError
from prometheus_client import CollectorRegistry, generate_latest

from boostflow.metrics import FleetCollector, Gauge


@dataclass(frozen=True, slots=True)
class Reading:
    name: str
    help: str
    labels: Mapping[str, str]
    value: float


def _exposition(readings: list[Gauge] | Exception) -> list[str]:
    def read() -> Iterable[Gauge]:
        if isinstance(readings, Exception):
            raise readings
        return readings

    registry = CollectorRegistry()
    registry.register(FleetCollector(read))
    return [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]


def test_readings_of_one_name_are_one_family_whatever_the_order_of_labels() -> None:
    assert _exposition(
        [
            Reading("boostflow_executions", "Executions.", {"kind": "automation", "status": "running"}, 3),
            Reading("boostflow_backlog", "Hints.", {}, 5),
            Reading("boostflow_executions", "Executions.", {"status": "delayed", "kind": "pipeline"}, 4),
        ]
    ) == [
        "boostflow_database_up 1.0",
        'boostflow_executions{kind="automation",status="running"} 3.0',
        'boostflow_executions{kind="pipeline",status="delayed"} 4.0',
        "boostflow_backlog 5.0",
    ]


def test_a_database_that_does_not_answer_is_a_reading() -> None:
    assert _exposition(OperationalError("down")) == ["boostflow_database_up 0.0"]
