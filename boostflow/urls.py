"""Routes: console, API, health, metrics."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from boostflow import health, metrics

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/v1/", include("workflows.api.urls")),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("metrics", metrics.metrics),
]
