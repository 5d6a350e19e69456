"""Short ways to publish, receive, work, move the clock and look, for tests of services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.builders import automation, inbound_event
from tests.fakes import FakeCrm
from workflows import tenancy
from workflows.api.message_model import MessageIn, to_event
from workflows.models import Attempt, Entity, Event, Execution, Frame, InboundMessage, StepRun, Wait, Workflow
from workflows.services import acts, sweeps
from workflows.services.advance import advance
from workflows.services.entities import set_clock_offset
from workflows.services.inbound import receive_message
from workflows.services.route import Decision

LONG_AGO = "2020-01-01T00:00:00Z"
END = {"key": "fin", "type": "flow.end", "config": {}}
EXACTLY = "equals"


def action(key: str, kind: str, **config: Any) -> dict[str, Any]:
    """One action of a document."""
    return {"key": key, "type": kind, "config": config}


def send(key: str, text: str | None = None, **config: Any) -> dict[str, Any]:
    """A message whose text is its key, unless told otherwise."""
    return action(key, "comms.send_message", text=text or key, **config)


def ask(key: str, timeout: str = "PT24H", text: str | None = None, **wait: Any) -> dict[str, Any]:
    """A message that awaits its reply."""
    return send(key, text, response_policy={"await_reply": {"timeout": timeout, **wait}})


def wait(key: str = "espera", timeout: str = "PT24H", **config: Any) -> dict[str, Any]:
    """A wait for a reply."""
    return action(key, "flow.wait_for_reply", timeout=timeout, **config)


def step(key: str, *actions: dict[str, Any]) -> dict[str, Any]:
    """A step; where its last action is not terminal, it ends."""
    terminal = ("flow.end", "flow.goto_step", "flow.condition", "flow.evaluate_reply")
    ends = [] if actions and actions[-1]["type"] in terminal else [{**END, "key": f"fin_{key}"}]
    return {"key": key, "actions": [*actions, *ends]}


def says(word: str) -> dict[str, Any]:
    """The filter on a message's whole text."""
    return {"field": "message.text", "operator": EXACTLY, "value": word}


def flow(*actions: dict[str, Any], name: str = "Saludo", **changes: Any) -> dict[str, Any]:
    """An automation of one step."""
    return automation(name=name, steps=[step("inicio", *actions)], **changes)


@dataclass(slots=True)
class World:
    """One entity and all that happens in it."""

    entity: Entity
    crm: FakeCrm
    hints: list[Any]
    publish: Callable[..., Workflow]
    work: Callable[..., int]
    offset: timedelta = timedelta(0)

    def message(self, text: str = "Hola", **changes: Any) -> Decision:
        """Receive a message as the interface hands it on, and do nothing else."""
        event = to_event(MessageIn.model_validate(inbound_event(text=text, **changes)))
        return receive_message(entity=self.entity, event=event)

    def says(self, text: str = "Hola", **changes: Any) -> Decision:
        """Receive a message and do all the work that follows."""
        decision = self.message(text, **changes)
        self.work()
        return decision

    def start(self, *actions: dict[str, Any], text: str = "Hola", **changes: Any) -> UUID:
        """Publish an automation of one step and let a message run it until its pause or end."""
        self.publish(flow(*actions, **changes))
        return self.started(text)

    def started(self, text: str = "Hola", **changes: Any) -> UUID:
        """Let a message start an execution and run it."""
        decision = self.says(text, **changes)
        assert decision.outcome == "started"
        assert decision.execution_id is not None
        return decision.execution_id

    def stand_in(self, status: str) -> UUID:
        """An execution of contact c-1 in chat ch-1 that stands so, of a workflow that starts at `Hola`."""
        pauses: dict[str, list[dict[str, Any]]] = {
            "running": [send("a")],
            "waiting_for_reply": [wait()],
            "delayed": [action("pausa", "flow.delay", duration="P2D")],
            "queued_wait_conflict": [action("pausa", "flow.delay", duration="PT1H"), wait()],
            "paused_error": [send("a", "{{ contact.email }}")],
        }
        self.publish(flow(*pauses[status], filters=says("Hola")))
        execution_id = self.message("Hola").execution_id
        assert execution_id is not None
        if status != "running":
            self.work()
        if status == "queued_wait_conflict":
            self.start(wait(), name="otro", filters=says("antes"), text="antes")
            self.later(hours=2)
        assert self.status(execution_id)[0] == status
        return execution_id

    def later(self, **length: float) -> None:
        """Move the clock on, sweep, and do the work."""
        self.offset += timedelta(**length)
        set_clock_offset(offset=self.offset)
        self.swept()

    def swept(self) -> None:
        """One tick of the sweep, and the work that it hints at."""
        sweeps.sweep()
        self.work()

    def retried(self) -> None:
        """Let all leases pass, and sweep: how a call that failed is made again."""
        with tenancy.entity(self.entity.pk):
            Frame.objects.filter(status="running").update(lease_until=LONG_AGO)
        self.swept()

    def run_hint(self, hint: Any, **options: Any) -> None:
        """What a worker does with a hint."""
        entity_id, frame_id, state_version, queue = hint
        advance(entity_id=entity_id, frame_id=frame_id, state_version=state_version, queue=queue, **options)

    def cancel(self, execution_id: UUID) -> None:
        acts.cancel(entity=self.entity, execution_id=execution_id, actor="ana", reason="test")

    def execution(self, execution_id: UUID | None) -> Any:
        """The execution; untyped as `run`."""
        with tenancy.entity(self.entity.pk):
            return Execution.objects.get(pk=execution_id)

    def status(self, execution_id: UUID | None) -> tuple[str, str]:
        """Status and reason."""
        found = self.execution(execution_id)
        return found.status, found.reason

    def context(self, execution_id: UUID | None) -> dict[str, Any]:
        found: dict[str, Any] = self.execution(execution_id).context
        return found

    def executions(self) -> list[Execution]:
        with tenancy.entity(self.entity.pk):
            return list(Execution.objects.order_by("id"))

    def frame(self, execution_id: UUID | None) -> Frame:
        with tenancy.entity(self.entity.pk):
            found: Frame = Frame.objects.get(execution_id=execution_id)
        return found

    def runs(self, execution_id: UUID | None) -> list[tuple[str, str]]:
        """Action and status of every step run, in order."""
        with tenancy.entity(self.entity.pk):
            rows = StepRun.objects.filter(frame__execution_id=execution_id).order_by("seq")
            return list(rows.values_list("action_key", "status"))

    def run(self, execution_id: UUID | None, action_key: str) -> Any:
        """The latest step run of an action; untyped, for what a test knows not to be null."""
        with tenancy.entity(self.entity.pk):
            rows = StepRun.objects.filter(frame__execution_id=execution_id, action_key=action_key)
            return rows.order_by("-seq")[0]

    def waits(self, execution_id: UUID | None) -> list[str]:
        """The states of the execution's waits, oldest first."""
        with tenancy.entity(self.entity.pk):
            rows = Wait.objects.filter(frame__execution_id=execution_id).order_by("created_at", "id")
            return list(rows.values_list("state", flat=True))

    def wait(self, execution_id: UUID | None) -> Any:
        """The execution's latest wait; untyped as `run`."""
        with tenancy.entity(self.entity.pk):
            return Wait.objects.filter(frame__execution_id=execution_id).order_by("-created_at", "-id")[0]

    def events(self, execution_id: UUID | None) -> list[str]:
        with tenancy.entity(self.entity.pk):
            return list(Event.objects.filter(execution_id=execution_id).values_list("kind", flat=True))

    def attempts(self, execution_id: UUID | None) -> list[tuple[int, str | None]]:
        """Number and kind of failure of every attempt."""
        with tenancy.entity(self.entity.pk):
            rows = Attempt.objects.filter(frame__execution_id=execution_id).order_by("seq", "number")
            return list(rows.values_list("number", "error__kind"))

    def inbound(self, decision_text: str) -> InboundMessage:
        """The latest message of a text."""
        with tenancy.entity(self.entity.pk):
            found: InboundMessage = InboundMessage.objects.filter(event__text=decision_text).order_by("-id")[
                0
            ]
        return found

    def verdicts(self, text: str) -> list[str]:
        """What the router concluded at each look."""
        return [look["verdict"] for look in self.inbound(text).trace]
