"""The measured part of `make bench`: runs the rounds, prints each and the medians."""

from __future__ import annotations

import argparse
import os
import statistics
from dataclasses import fields

import django


def main() -> int:
    """Warm up, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", required=True)
    parser.add_argument("--executions", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "boostflow.settings")
    django.setup()
    from benchmarks import engine
    from benchmarks.meter import Meter

    meter = Meter(os.environ["MIGRATE_DATABASE_URL"], [int(pid) for pid in options.workers.split(",")])
    prepared = engine.prepare()
    engine.run(prepared, meter, count=200, first=10_000_000)
    results = []
    for number in range(options.rounds):
        engine.clear(os.environ["MIGRATE_DATABASE_URL"])
        results.append(engine.run(prepared, meter, count=options.executions, first=number * options.executions))
        _print(f"round {number + 1}", results[-1])
    _print("median", engine.Result(*(statistics.median(getattr(r, f.name) for r in results) for f in fields(engine.Result))))
    meter.close()
    return 0


def _print(title: str, result: object) -> None:
    r = result
    print(  # noqa: T201
        f"{title:8} {r.executions} executions x 5 flow actions in {r.seconds:.2f} s: "  # type: ignore[attr-defined]
        f"{r.steps_per_second:,.0f} steps/s; a step: CPU {r.cpu_ms:.2f} ms (database {r.database_ms:.2f}, "  # type: ignore[attr-defined]
        f"workers {r.worker_ms:.2f}), {r.statements:.2f} statements, {r.commits:.2f} commits, {r.wal_bytes:.0f} bytes of WAL"  # type: ignore[attr-defined]
    )


if __name__ == "__main__":
    raise SystemExit(main())
