"""Routes of `/api/v1/`."""

from __future__ import annotations

from django.urls import path, re_path

from workflows.api import catalog, events, executions, incidents, schema, versions, workflows

urlpatterns = [
    path("events/messages/", events.MessagesView.as_view()),
    path("events/messages/<uuid:message_id>/", events.MessageView.as_view()),
    path("workflows/", workflows.WorkflowsView.as_view()),
    path("workflows/validate/", workflows.ValidateView.as_view()),
    path("workflows/reorder/", workflows.ReorderView.as_view()),
    path("workflows/export/", workflows.ExportView.as_view()),
    path("workflows/<uuid:workflow_id>/", workflows.WorkflowView.as_view()),
    path("workflows/<uuid:workflow_id>/draft/", workflows.DraftView.as_view()),
    path("workflows/<uuid:workflow_id>/versions/", versions.VersionsView.as_view()),
    path("workflows/<uuid:workflow_id>/versions/<int:number>/", versions.VersionView.as_view()),
    path("workflows/<uuid:workflow_id>/publish/", versions.PublishView.as_view()),
    path("workflows/<uuid:workflow_id>/pause/", versions.PauseView.as_view()),
    path("workflows/<uuid:workflow_id>/activate/", versions.ActivateView.as_view()),
    path("executions/", executions.ExecutionsView.as_view()),
    path("executions/<uuid:execution_id>/", executions.ExecutionView.as_view()),
    path("executions/<uuid:execution_id>/timeline/", executions.TimelineView.as_view()),
    path("executions/<uuid:execution_id>/context/", executions.ContextView.as_view()),
    path("executions/<uuid:execution_id>/cancel/", executions.CancelView.as_view()),
    path("executions/<uuid:execution_id>/resume/", executions.ResumeView.as_view()),
    path("executions/<uuid:execution_id>/retry-wait/", executions.RetryWaitView.as_view()),
    path("incidents/", incidents.IncidentsView.as_view()),
    path("incidents/<int:incident_id>/close/", incidents.CloseIncidentView.as_view()),
    path("catalog/actions/", catalog.ActionsView.as_view()),
    path("catalog/triggers/", catalog.TriggersView.as_view()),
    path("catalog/operators/", catalog.OperatorsView.as_view()),
    path("catalog/reasons/", catalog.ReasonsView.as_view()),
    path("schema/", schema.SchemaView.as_view(), name="schema"),
    path("docs/", schema.DocsView.as_view(), name="docs"),
    re_path(r"", schema.NowhereView.as_view()),
]
