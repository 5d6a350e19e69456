"""What the console serves; whatever other apps brought of their own is taken away."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.models import User

from workflows.admin.accounts import ApiKeyAdmin, EntitiesAdmin, MembershipAdmin, PeopleAdmin
from workflows.admin.executions import ExecutionAdmin
from workflows.admin.incidents import IncidentAdmin
from workflows.admin.messages import InboundMessageAdmin
from workflows.admin.workflows import WorkflowAdmin
from workflows.models import ApiKey, Entity, Execution, InboundMessage, Incident, Membership, Workflow

for model in list(admin.site._registry):
    admin.site.unregister(model)

admin.site.register(Workflow, WorkflowAdmin)
admin.site.register(Execution, ExecutionAdmin)
admin.site.register(InboundMessage, InboundMessageAdmin)
admin.site.register(Incident, IncidentAdmin)
admin.site.register(Entity, EntitiesAdmin)
admin.site.register(ApiKey, ApiKeyAdmin)
admin.site.register(Membership, MembershipAdmin)
admin.site.register(User, PeopleAdmin)
