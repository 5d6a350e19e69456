"""What the demo's stories are told with: contacts who write and hear, executions that reach a state, expectations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devtools.processes import wait_for
from devtools.stage import ENTITY, Api, Stage
from devtools.story import Story

REPLY_SECONDS = 60.0


class Unexpected(Exception):
    """The demo saw something else than it should."""


def expect(seen: Any, wanted: Any, what: str) -> None:
    """Stop the demo where the two differ."""
    if seen != wanted:
        raise Unexpected(f"{what}: expected {wanted!r}, saw {seen!r}")


@dataclass(frozen=True, slots=True)
class Scene:
    """The running installation, an operator's access to it, and the story that is told."""

    stage: Stage
    operator: Api
    story: Story

    def says(self, contact: str, text: str, outcome: str) -> str:
        """The contact writes; the execution that took the message, with the outcome that it must have."""
        self.story.contact(name_of(contact), text)
        sent = self.stage.sandbox.reply(ENTITY, contact, text)
        expect(sent["status"], 200, f"the engine's status for {contact}'s message ({sent['answer']})")
        answer: dict[str, Any] = sent["answer"]
        self.story.aside(f"POST events/messages/ -> {answer['outcome']}")
        expect(answer["outcome"], outcome, f"the outcome of {contact}'s message")
        return str(answer["execution_id"])

    def heard(self, contact: str) -> list[dict[str, Any]]:
        """What the engine sent to the contact."""
        lines = self.stage.sandbox.conversation(ENTITY, contact)
        return [line for line in lines if line["direction"] == "out"]

    def hears(self, contact: str, count: int) -> None:
        """Wait until the contact has got `count` messages, no more, and tell the last one."""
        self.until(lambda: len(self.heard(contact)) >= count, f"{contact} gets message {count}")
        expect(len(self.heard(contact)), count, f"messages sent to {contact}")
        self.story.engine(self.heard(contact)[-1])

    def execution(self, execution: str) -> dict[str, Any]:
        """The execution as the interface shows it."""
        found: dict[str, Any] = self.operator.get(f"executions/{execution}/")
        return found

    def context(self, execution: str) -> dict[str, Any]:
        """Its data."""
        found: dict[str, Any] = self.operator.get(f"executions/{execution}/context/")
        return found

    def reaches(self, execution: str, status: str, reason: str | None = None) -> None:
        """Wait until the execution stands in `status`; a pause by another error ends the wait at once."""

        def reached() -> bool:
            found = self.execution(execution)
            if found["status"] == "paused_error" and (status != "paused_error" or found["reason"] != reason):
                raise Unexpected(f"execution {execution} is paused: {found['reason']} {found['error']}")
            return bool(found["status"] == status)

        self.until(reached, f"execution {execution} is {status}")

    def resumes(self, execution: str, why: str, **how: Any) -> None:
        """The operator lets a paused execution go on."""
        seen = self.execution(execution)
        self.story.aside(f"{seen['reason']}: {seen['reason_text']['next_step']}")
        body = {"reason": why, "state_version": seen["state_version"], **how}
        self.operator.post(f"executions/{execution}/resume/", body)
        self.story.aside(f"POST executions/…/resume/ as {how.get('as', 'retry')}: {why}")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for what running processes bring about."""
        wait_for(condition, self.stage.processes, REPLY_SECONDS, what)


def name_of(contact: str) -> str:
    """`c-ana` is Ana."""
    return contact.removeprefix("c-").capitalize()
