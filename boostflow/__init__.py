"""Wires everything; imported by nobody."""

from boostflow.celery import app as celery_app

__all__ = ["celery_app"]
