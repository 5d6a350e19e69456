"""`make demo`: two conversations through a real worker fleet, told as they happen and checked at every turn."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

import requests

from devtools.processes import ProcessError, wait_for
from devtools.sandbox.client import SandboxError
from devtools.server import ServerError
from devtools.signals import interruptible
from devtools.stage import ENTITY, Api, Stage, raised, seed_sandbox
from devtools.story import Story

WORKFLOWS = ("examples/lead_qualification.json", "examples/support_follow_up.json")
REPLY_SECONDS = 20.0


class Unexpected(Exception):
    """The demo saw something else than it should."""


def expect(seen: Any, wanted: Any, what: str) -> None:
    """Stop the demo where the two differ."""
    if seen != wanted:
        raise Unexpected(f"{what}: expected {wanted!r}, saw {seen!r}")


def main() -> int:
    """0 when everything was as expected; everything that was started is stopped in any case."""
    story = Story()
    began = time.monotonic()
    try:
        with (
            interruptible(),
            raised(env="demo", database="boostflow_demo", fresh=True, say=story.aside) as stage,
        ):
            operator = prepare(stage, story)
            first = qualify_lead(stage, operator, story)
            second = follow_up(stage, operator, story)
            for title, execution in (("Ana", first), ("Beto", second)):
                story.timeline(title, operator.get(f"executions/{execution}/timeline/"))
            story.chapter("The whole database is checked")
            story.aside(stage.manage("check_integrity").strip())
    except KeyboardInterrupt:
        story.aside("stopped")
        return 130
    except (Unexpected, ProcessError, ServerError, SandboxError, requests.RequestException) as problem:
        print(f"\nThe demo failed: {problem}", file=sys.stderr)
        return 1
    story.chapter(f"Everything was as expected, and is stopped ({time.monotonic() - began:.0f} s)")
    return 0


def prepare(stage: Stage, story: Story) -> Api:
    """One entity, its keys, two published workflows; the API as an administrator."""
    story.chapter("An entity and two workflows")
    stage.manage(
        "create_entity",
        ENTITY,
        "--name",
        "La Cafetalera",
        "--timezone",
        "America/Guatemala",
        "--system-user",
        "sistema",
    )
    seed_sandbox(stage, create_key(stage, "events"))
    for path in WORKFLOWS:
        story.aside(stage.manage("load_workflow", path, "--entity", ENTITY, "--publish").strip())
    return stage.api(create_key(stage, "admin"))


def create_key(stage: Stage, role: str) -> str:
    """The secret of a new key."""
    printed = stage.manage("create_api_key", "--entity", ENTITY, "--name", f"demo {role}", "--role", role)
    found = re.search(r"bf_[\w-]+", printed)
    if found is None:
        raise Unexpected(f"create_api_key printed no key: {printed!r}")
    return found.group()


def qualify_lead(stage: Stage, operator: Api, story: Story) -> str:
    """Ana asks for a price, is asked back, says yes, and gets a seller."""
    story.chapter("Ana asks for a price")
    answer = say(stage, story, "c-ana", "Ana", "Hola, ¿cuál es el precio?")
    expect(answer["outcome"], "started", "Ana's first message")
    execution = str(answer["execution_id"])
    hear(stage, story, "c-ana", "Ana", 1)
    reach(stage, operator, execution, "waiting_for_reply")
    story.aside("the execution waits for her reply: it holds no worker and no connection")
    answer = say(stage, story, "c-ana", "Ana", "Sí")
    expect(answer["outcome"], "resumed", "Ana's reply")
    expect(answer["execution_id"], execution, "the execution that took Ana's reply")
    reach(stage, operator, execution, "completed")
    context = operator.get(f"executions/{execution}/context/")
    seller = context["crm"]["asigna"]["user_id"]
    expect(seller, "vendedora-1", "the assigned seller")
    expect(len(stage.sandbox.notifications(ENTITY)), 1, "notices to the seller")
    story.aside(f"{seller} is assigned to Ana and was notified")
    return execution


def follow_up(stage: Stage, operator: Api, story: Story) -> str:
    """Beto asks for support and never answers; the clock is moved, and the time-out path runs."""
    story.chapter("Beto asks for support and does not answer")
    answer = say(stage, story, "c-beto", "Beto", "Necesito soporte")
    expect(answer["outcome"], "started", "Beto's message")
    execution = str(answer["execution_id"])
    hear(stage, story, "c-beto", "Beto", 1)
    reach(stage, operator, execution, "waiting_for_reply")
    story.aside(stage.manage("move_clock", "--by", "PT2H").strip())
    reach(stage, operator, execution, "completed")
    reply = operator.get(f"executions/{execution}/context/")["reply"]
    expect(reply["timed_out"], True, "what the context says of Beto's reply")
    expect(len(stage.sandbox.notifications(ENTITY)), 2, "notices sent")
    expect(len(heard(stage, "c-beto")), 1, "messages sent to Beto")
    story.aside("nobody answered: soporte-1 was notified, and the execution is complete")
    return execution


def say(stage: Stage, story: Story, contact: str, name: str, text: str) -> dict[str, Any]:
    """The contact writes; the engine's answer to the CRM."""
    story.contact(name, text)
    sent = stage.sandbox.reply(ENTITY, contact, text)
    expect(sent["status"], 200, f"the engine's status for {name}'s message ({sent['answer']})")
    answer: dict[str, Any] = sent["answer"]
    story.aside(f"POST events/messages/ -> {answer['outcome']}")
    return answer


def heard(stage: Stage, contact: str) -> list[dict[str, Any]]:
    """What the engine sent to the contact."""
    return [line for line in stage.sandbox.conversation(ENTITY, contact) if line["direction"] == "out"]


def hear(stage: Stage, story: Story, contact: str, name: str, count: int) -> None:
    """Wait until the contact has got `count` messages, and tell the last one."""
    until(stage, lambda: len(heard(stage, contact)) >= count, f"{name} gets message {count}")
    expect(len(heard(stage, contact)), count, f"messages sent to {name}")
    story.engine(heard(stage, contact)[-1])


def reach(stage: Stage, operator: Api, execution: str, status: str) -> None:
    """Wait until the execution stands in `status`; a pause by an error ends the wait at once."""

    def reached() -> bool:
        found = operator.get(f"executions/{execution}/")
        if found["status"] == "paused_error" != status:
            raise Unexpected(
                f"execution {execution} stands in paused_error: {found['reason']} {found['error']}"
            )
        return bool(found["status"] == status)

    until(stage, reached, f"execution {execution} is {status}")


def until(stage: Stage, condition: Callable[[], bool], what: str) -> None:
    """Wait for what running processes bring about."""
    wait_for(condition, stage.processes, REPLY_SECONDS, what)


if __name__ == "__main__":
    sys.exit(main())
