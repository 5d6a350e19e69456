#!/bin/sh
# Run once by the postgres image on an empty data directory: the two roles, and privileges for tables made later.
set -eu
psql -v ON_ERROR_STOP=1 -v owner_password="$OWNER_PASSWORD" -v app_password="$APP_PASSWORD" \
    --username "$POSTGRES_USER" --dbname postgres <<'SQL'
create role boostflow_owner login nosuperuser nobypassrls createdb password :'owner_password';
create role boostflow_app login nosuperuser nobypassrls nocreatedb password :'app_password';
alter role boostflow_app set lock_timeout = '5s';
alter role boostflow_app set statement_timeout = '30s';
alter role boostflow_app set idle_in_transaction_session_timeout = '30s';
create database boostflow owner boostflow_owner;
\connect boostflow
revoke create on schema public from public;
grant usage on schema public to boostflow_app;
alter default privileges for role boostflow_owner grant select, insert, update, delete on tables to boostflow_app;
alter default privileges for role boostflow_owner grant usage, select on sequences to boostflow_app;
create extension if not exists pg_stat_statements;
SQL
