"""Prometheus metrics: this process's own, and gauges read from PostgreSQL at each scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import structlog
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

log = structlog.stdlib.get_logger(__name__)


class Gauge(Protocol):
    """One reading. Readings of one name have the same label names."""

    @property
    def name(self) -> str:
        """The metric's name, `boostflow_…`."""

    @property
    def help(self) -> str:
        """What it counts, and in what unit."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Label values by name."""

    @property
    def value(self) -> float:
        """The reading."""


class FleetCollector(Collector):
    """Turns readings into metric families; a database that does not answer is itself a reading."""

    def __init__(self, read: Callable[[], Iterable[Gauge]]) -> None:
        self._read = read

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing: asking for names at registration would ask the database."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The readings of now, by name."""
        families: dict[str, GaugeMetricFamily] = {}
        answered = 1.0
        try:
            for gauge in self._read():
                family = families.get(gauge.name)
                if family is None:
                    family = GaugeMetricFamily(gauge.name, gauge.help, labels=sorted(gauge.labels))
                    families[gauge.name] = family
                family.add_metric([gauge.labels[name] for name in sorted(gauge.labels)], gauge.value)
        except DatabaseError as error:
            log.warning("metrics_unread", error=str(error))
            connection.close()
            families, answered = {}, 0.0
        yield GaugeMetricFamily(
            "boostflow_database_up", "1 if the database answered this scrape", value=answered
        )
        yield from families.values()


def read_fleet() -> Iterable[Gauge]:
    """The platform's readings."""
    from workflows.selectors import fleet_gauges  # models are not loaded yet when this module is

    return fleet_gauges()


REGISTRY.register(FleetCollector(read_fleet))


@never_cache
@require_safe
def metrics(_request: HttpRequest) -> HttpResponse:
    """The text exposition. It holds counts only; keep it off the public side of the proxy."""
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)
