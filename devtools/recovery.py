"""`python -m devtools.recovery`: every worker killed in the middle of 200 executions, the broker emptied, and nothing
lost and nothing sent twice; once with a CRM that honours idempotency keys, once with one that ignores them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import redis
import requests

from boostflow import local
from devtools import installation
from devtools.demo import create_key
from devtools.processes import ProcessError, wait_for
from devtools.sandbox.client import SandboxError
from devtools.scene import Unexpected, expect
from devtools.server import ServerError
from devtools.signals import interruptible
from devtools.stage import ENTITY, FRESH_BROKER, Api, Stage, raised
from devtools.story import Story

EXECUTIONS = 200
EFFECTS = ("send_text", "assign_seller", "notify_user")
WORKERS = ("worker-main-1", "worker-main-2", "worker-slow")
SECONDS = 240.0
WORKFLOW: dict[str, Any] = {
    "format": 1,
    "kind": "automation",
    "name": "Recuperación",
    "trigger": {"type": "message.inbound", "config": {}},
    "steps": [
        {
            "key": "uno",
            "actions": [
                {"key": "saluda", "type": "comms.send_message", "config": {"text": "Hola {{ contact.id }}"}},
                {
                    "key": "asigna",
                    "type": "crm.assign_seller",
                    "config": {"strategy": "round_robin", "team": "ventas"},
                },
                {
                    "key": "avisa",
                    "type": "notification.notify_user",
                    "config": {"user_id": "u-1", "text": "{{ contact.id }}"},
                },
                {"key": "fin", "type": "flow.end", "config": {}},
            ],
        }
    ],
}
OUTPUTS: dict[str, dict[str, Any]] = {
    "saluda": {"message_id": "checked", "status": "accepted", "accepted_at": "2026-11-30T14:03:05Z"},
    "asigna": {"user_id": "u-1", "employee_id": "e-1"},
    "avisa": {"notification_id": "checked"},
}
OPERATION = {"saluda": "send_text", "asigna": "assign_seller", "avisa": "notify_user"}


def main() -> int:
    """0 when both kinds of CRM came out whole."""
    story = Story()
    try:
        for honours_keys in (True, False):
            with (
                interruptible(),
                raised(env="test", database="boostflow_recovery", fresh=True, say=lambda line: None) as stage,
            ):
                story.chapter(f"All workers killed; the CRM {'honours' if honours_keys else 'ignores'} keys")
                run(stage, story, honours_keys=honours_keys)
    except KeyboardInterrupt:
        return 130
    except (Unexpected, ProcessError, ServerError, SandboxError, requests.RequestException) as problem:
        print(f"\nRecovery failed: {problem}", file=sys.stderr)
        return 1
    story.chapter("Nothing was lost, and nothing was sent twice")
    return 0


def run(stage: Stage, story: Story, *, honours_keys: bool) -> None:
    """One installation, one kind of CRM."""
    api = prepare(stage, honours_keys=honours_keys)
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda number: api.post("events/messages/", message(number)), range(EXECUTIONS))
        )
    expect(Counter(answer["outcome"] for answer in answers), Counter({"started": EXECUTIONS}), "answers")
    until(stage, lambda: len(accepted(stage)) >= EXECUTIONS, "half of the work is done")
    for name in WORKERS:
        stage.processes.kill(name)
    with redis.Redis.from_url(
        local.redis_client_url(local.redis_url()).replace("db=0", f"db={FRESH_BROKER}")
    ) as broker:
        broker.flushdb()
    killed = time.monotonic()
    before = Counter(execution["status"] for execution in executions(api))
    story.aside(f"killed with {dict(before)}; the broker is emptied")
    for number in (1, 2):
        installation.start_main(stage.processes, number)
    until(stage, lambda: at_rest(api), "all executions are final or wait for a person")
    story.aside(f"{time.monotonic() - killed:.0f} s later: {dict(Counter(map(standing, executions(api))))}")
    check_effects(stage)
    if honours_keys:
        expect(Counter(map(standing, executions(api))), Counter({"completed": EXECUTIONS}), "executions")
    else:
        decide(stage, api, story)
    expect(len(accepted(stage)), EXECUTIONS * len(EFFECTS), "effects in all")
    story.aside(
        f"every contact got each of {len(EFFECTS)} effects once; {last_line(stage.manage('check_integrity'))}"
    )


def prepare(stage: Stage, *, honours_keys: bool) -> Api:
    """An entity with 200 contacts, a workflow of three effects, and a CRM that takes 50 ms a call."""
    stage.manage(
        "create_entity", ENTITY, "--name", "R", "--timezone", "America/Guatemala", "--system-user", "u-1"
    )
    stage.sandbox.seed(
        ENTITY,
        contacts=[{"id": f"c-{number}"} for number in range(EXECUTIONS)],
        chats=[{"id": f"ch-{number}", "contact_id": f"c-{number}"} for number in range(EXECUTIONS)],
        users=[{"id": "u-1", "employee_id": "e-1"}],
        teams={"ventas": ["u-1"]},
    )
    stage.sandbox.capabilities(idempotency_keys=honours_keys)
    for operation in EFFECTS:
        stage.sandbox.fault(operation, delay_s=0.05, times=None)
    api = stage.api(create_key(stage, "admin"))
    workflow = api.post("workflows/", WORKFLOW)
    api.post(f"workflows/{workflow['id']}/publish/")
    return api


def message(number: int) -> dict[str, Any]:
    """What contact `number` writes."""
    return {
        "message_id": f"m-{number}",
        "channel": "whatsapp",
        "direction": "inbound",
        "author": "contact",
        "kind": "text",
        "text": "Hola",
        "sent_at": "2026-11-30T14:03:05Z",
        "contact": {"id": f"c-{number}"},
        "chat": {"id": f"ch-{number}", "channel": "whatsapp"},
    }


def executions(api: Api) -> list[dict[str, Any]]:
    """All of them."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("executions/", limit="200", **cursor)
        found += page["results"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def standing(execution: dict[str, Any]) -> str:
    """Its status, or the reason for which it stands."""
    return str(execution["reason"] or execution["status"])


def at_rest(api: Api) -> bool:
    """Whether nothing runs any more."""
    return all(execution["status"] != "running" for execution in executions(api))


def accepted(stage: Stage) -> list[tuple[str, str]]:
    """The work that the CRM did: operation and contact."""
    done = []
    for call in stage.sandbox.calls(ENTITY):
        if call["outcome"] == "accepted" and call["operation"] in EFFECTS:
            body = call["body"]
            contact = body.get("contact_id") or body.get("text") or call["path"].split("/")[-2]
            done.append((call["operation"], contact))
    return done


def check_effects(stage: Stage) -> None:
    """No effect was had twice for any contact."""
    twice = {effect: times for effect, times in Counter(accepted(stage)).items() if times > 1}
    expect(twice, {}, "effects that were had twice")


def decide(stage: Stage, api: Api, story: Story) -> None:
    """Those in flight at the kill wait for a person, who looks whether the CRM did the work, and resumes."""
    done = set(accepted(stage))
    doubtful = [execution for execution in executions(api) if execution["status"] == "paused_error"]
    expect(
        {execution["reason"] for execution in doubtful} <= {"outcome_unknown"},
        True,
        "reasons of those paused",
    )
    for execution in doubtful:
        position = api.get(f"executions/{execution['id']}/")["position"]["action"]
        happened = (OPERATION[position], execution["contact_id"]) in done
        body: dict[str, Any] = {"reason": "looked in the CRM", "state_version": execution["state_version"]}
        body |= {"as": "done", "output": OUTPUTS[position]} if happened else {"as": "retry"}
        api.post(f"executions/{execution['id']}/resume/", body)
    until(stage, lambda: at_rest(api), "the resumed executions end")
    expect(Counter(map(standing, executions(api))), Counter({"completed": EXECUTIONS}), "executions")
    story.aside(f"{len(doubtful)} stood in outcome_unknown, and a person resumed them")
    check_effects(stage)


def last_line(text: str) -> str:
    """The summary of a command."""
    return text.strip().splitlines()[-1].strip()


def until(stage: Stage, condition: Any, what: str) -> None:
    """Wait for what running processes bring about."""
    wait_for(condition, stage.processes, SECONDS, what)


if __name__ == "__main__":
    sys.exit(main())
