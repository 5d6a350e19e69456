"""The Celery app: queues, fixed beat ticks, and a broker that may lose anything (truth is in PostgreSQL)."""

from __future__ import annotations

import os

from celery import Celery
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "boostflow.settings")

from django.conf import settings

app = Celery("boostflow")
app.conf.update(
    broker_url=settings.REDIS_URL,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "queue_order_strategy": "priority",
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "health_check_interval": 10,
        # a broker that is down costs a hint, and no request its time: the transport's own retries took 6 s
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.1,
    },
    task_queues=[
        Queue(name, Exchange("boostflow"), routing_key=name)
        for name in ("interactive", "bulk", "sweeps", "zauru", "llm", "browser")
    ],
    task_default_queue="interactive",
    task_default_exchange="boostflow",
    task_default_routing_key="interactive",
    task_ignore_result=True,
    task_acks_late=True,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    enable_utc=True,
    timezone="UTC",
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    beat_max_loop_interval=1,
    beat_schedule={
        "sweep": {
            "task": "workflows.sweep",
            "schedule": 1.0,
            "options": {"queue": "sweeps", "expires": 5},
        },
    },
)
# Celery closes Django's connection around every task otherwise: 623 steps/s against 1,450.
app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000_000
app.autodiscover_tasks(["workflows"])
