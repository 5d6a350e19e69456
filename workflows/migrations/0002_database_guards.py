"""What the database itself keeps: clock, row security, composite keys, immutable versions, storage settings."""

from django.db import migrations

TENANT_TABLES = [
    "workflow", "version", "versiontrigger", "step", "action",
    "execution", "frame", "steprun", "attempt", "event", "wait", "inboundmessage", "incident",
]  # fmt: skip

COMPOSITE_KEYS = [
    ("workflow", "current_version_id", "version", ""),
    ("version", "workflow_id", "workflow", ""),
    ("versiontrigger", "version_id", "version", ""),
    ("step", "version_id", "version", ""),
    ("action", "step_id", "step", ""),
    ("execution", "workflow_id", "workflow", ""),
    ("execution", "version_id", "version", ""),
    ("execution", "trigger_message_id", "inboundmessage", ""),
    ("frame", "execution_id", "execution", "on delete cascade"),
    ("frame", "parent_id", "frame", "on delete cascade"),
    ("steprun", "frame_id", "frame", "on delete cascade"),
    ("attempt", "frame_id", "frame", "on delete cascade"),
    ("event", "execution_id", "execution", "on delete cascade"),
    ("wait", "frame_id", "frame", "on delete cascade"),
    ("wait", "kept_message_id", "inboundmessage", ""),
    ("incident", "execution_id", "execution", ""),
    ("inboundmessage", "execution_id", "execution", ""),
    ("inboundmessage", "workflow_id", "workflow", ""),
]

FUNCTIONS = """
create function boostflow_now() returns timestamptz language sql stable parallel safe
return now() + coalesce((select "offset" from workflows_clock where id = 1), interval '0');

create function boostflow_may_read() returns boolean language plpgsql stable parallel safe as $$
begin
    if coalesce(current_setting('boostflow.entity', true), '') = ''
       and coalesce(current_setting('boostflow.fleet', true), '') = '' then
        raise exception 'no entity scope: open tenancy.entity() or tenancy.fleet() first' using errcode = 'BF001';
    end if;
    return true;
end $$;

create function boostflow_may_write() returns boolean language plpgsql stable parallel safe as $$
begin
    if coalesce(current_setting('boostflow.entity', true), '') = '' then
        raise exception 'no entity scope: writes need tenancy.entity()' using errcode = 'BF001';
    end if;
    return true;
end $$;

create function boostflow_refuse_update() returns trigger language plpgsql as $$
begin
    raise exception 'published versions are immutable' using errcode = 'BF002';
end $$;
"""

# The sub-select is computed once a query, and raises outside every scope. Reads may be the fleet's; writes never are.
POLICY = """
alter table workflows_{table} enable row level security;
alter table workflows_{table} force row level security;
create policy tenant_read on workflows_{table} for select using (
    case when (select boostflow_may_read()) then entity_id = nullif(current_setting('boostflow.entity', true), '')::bigint
        or coalesce(current_setting('boostflow.fleet', true), '') <> '' end);
create policy tenant_insert on workflows_{table} for insert with check (
    case when (select boostflow_may_write()) then entity_id = nullif(current_setting('boostflow.entity', true), '')::bigint end);
create policy tenant_update on workflows_{table} for update
    using (case when (select boostflow_may_write()) then entity_id = nullif(current_setting('boostflow.entity', true), '')::bigint end)
    with check (entity_id = nullif(current_setting('boostflow.entity', true), '')::bigint);
create policy tenant_delete on workflows_{table} for delete using (
    case when (select boostflow_may_write()) then entity_id = nullif(current_setting('boostflow.entity', true), '')::bigint end);
"""

IMMUTABLE = """
create trigger {table}_is_immutable before update on workflows_{table}
    for each row execute function boostflow_refuse_update();
"""

KEY = """
alter table workflows_{child} add constraint {child}_{name}_same_entity
    foreign key (entity_id, {column}) references workflows_{parent} (entity_id, id) {extra} deferrable initially immediate;
"""

STORAGE = """
alter table workflows_execution set (fillfactor = 50);
alter table workflows_frame set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
alter table workflows_steprun set (fillfactor = 80);
alter table workflows_wait set (fillfactor = 70);
alter table workflows_workflow add constraint workflow_of_known_entity
    foreign key (entity_id) references workflows_entity (id);
"""


def statements() -> str:
    """All guards as one script."""
    parts = [FUNCTIONS, STORAGE]
    parts += [
        KEY.format(child=child, column=column, name=column.removesuffix("_id"), parent=parent, extra=extra)
        for child, column, parent, extra in COMPOSITE_KEYS
    ]
    parts += [POLICY.format(table=table) for table in TENANT_TABLES]
    parts += [IMMUTABLE.format(table=table) for table in ("version", "versiontrigger", "step", "action")]
    return "".join(parts)


class Migration(migrations.Migration):
    """Forward only: taking tenant guards away is no step that a release makes."""

    dependencies = [("workflows", "0001_initial")]
    operations = [migrations.RunSQL(statements(), migrations.RunSQL.noop)]
