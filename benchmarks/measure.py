"""The measured part of `make bench`: runs the rounds, prints each and the medians."""

from __future__ import annotations

import argparse
import os

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
    from benchmarks import calls, engine
    from benchmarks.meter import Meter
    from devtools.sandbox.client import Sandbox

    meter = Meter(os.environ["MIGRATE_DATABASE_URL"], [int(pid) for pid in options.workers.split(",")])
    prepared = engine.prepare()
    engine.run(prepared, meter, count=200, first=10_000_000)
    results = []
    for number in range(options.rounds):
        engine.clear(os.environ["MIGRATE_DATABASE_URL"])
        first = number * options.executions
        results.append(engine.run(prepared, meter, count=options.executions, first=first))
        print(f"round {number + 1}  {results[-1].sentence()}")
    print(f"median   {engine.median(results).sentence()}")
    sandbox = Sandbox(os.environ["CRM_BASE_URL"])
    for milliseconds in (1, 50):
        print(calls.run_calls(sandbox, milliseconds=milliseconds, count=options.executions // 2))
    print(calls.run_replies(sandbox, count=200))
    sandbox.close()
    meter.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
