"""The demo's stories, each a conversation with what the machinery and an operator do in it."""

from __future__ import annotations

from devtools.scene import Scene, expect
from devtools.stage import ENTITY


def qualify_lead(scene: Scene) -> str:
    """Ana asks for a price, is asked back, says yes, and gets a seller."""
    scene.story.chapter("Ana asks for a price")
    execution = scene.says("c-ana", "Hola, ¿cuál es el precio?", "started")
    scene.hears("c-ana", 1)
    scene.reaches(execution, "waiting_for_reply")
    scene.story.aside("the execution waits for her reply: it holds no worker and no connection")
    expect(scene.says("c-ana", "Sí", "resumed"), execution, "the execution that took Ana's reply")
    scene.reaches(execution, "completed")
    seller = scene.context(execution)["crm"]["asigna"]["user_id"]
    expect(seller, "vendedora-1", "the assigned seller")
    expect(len(scene.stage.sandbox.notifications(ENTITY)), 1, "notices to the seller")
    scene.story.aside(f"{seller} is assigned to Ana and was notified")
    return execution


def follow_up(scene: Scene) -> str:
    """Beto asks for support and never answers; the clock is moved, and the time-out path runs."""
    scene.story.chapter("Beto asks for support and does not answer")
    execution = scene.says("c-beto", "Necesito soporte", "started")
    scene.hears("c-beto", 1)
    scene.reaches(execution, "waiting_for_reply")
    scene.story.aside(scene.stage.manage("move_clock", "--by", "PT2H").strip())
    scene.reaches(execution, "completed")
    expect(scene.context(execution)["reply"]["timed_out"], True, "what the context says of Beto's reply")
    expect(len(scene.stage.sandbox.notifications(ENTITY)), 2, "notices sent")
    expect(len(scene.heard("c-beto")), 1, "messages sent to Beto")
    scene.story.aside("nobody answered: soporte-1 was notified, and the execution is complete")
    return execution


def conflict(scene: Scene) -> str:
    """Carla asks for a reminder and a price: one question may wait in her chat, the other is asked after it."""
    scene.story.chapter("Two workflows want Carla's answer")
    reminder = scene.says("c-carla", "Recuérdame llamar", "started")
    scene.reaches(reminder, "delayed")
    price = scene.says("c-carla", "¿Y el precio?", "started")
    scene.hears("c-carla", 1)
    scene.story.aside(scene.stage.manage("move_clock", "--by", "PT1H").strip())
    scene.reaches(reminder, "queued_wait_conflict")
    expect(len(scene.heard("c-carla")), 1, "messages sent to Carla while her chat is taken")
    scene.story.aside(
        "the reminder is due and stands unsent: Carla's next answer belongs to the question about the price"
    )
    expect(scene.says("c-carla", "Sí", "resumed"), price, "the execution that took Carla's answer")
    scene.reaches(price, "completed")
    scene.reaches(reminder, "waiting_for_reply")
    scene.hears("c-carla", 2)
    expect(scene.says("c-carla", "Sí", "resumed"), reminder, "the execution that was promoted")
    scene.reaches(reminder, "completed")
    return reminder


def failed_send(scene: Scene) -> str:
    """The CRM refuses Dora's question; an operator resumes, and it is sent once."""
    scene.story.chapter("The CRM refuses the message to Dora")
    scene.stage.sandbox.fault("send_text", status=422, code="invalid", contact="c-dora")
    execution = scene.says("c-dora", "¿Cuál es el precio?", "started")
    scene.reaches(execution, "paused_error", "rejected")
    scene.resumes(execution, "the CRM was put right")
    scene.hears("c-dora", 1)
    scene.reaches(execution, "waiting_for_reply")
    return execution


def unknown_outcome(scene: Scene) -> str:
    """The CRM's answer about Elio's question is lost twice: a person looks, and says that it was sent."""
    scene.story.chapter("Nobody knows whether Elio got the message")
    scene.stage.sandbox.fault("send_text", drop="after", times=2, contact="c-elio")
    execution = scene.says("c-elio", "precio", "started")
    scene.reaches(execution, "paused_error", "outcome_unknown")
    scene.hears("c-elio", 1)
    sent = scene.heard("c-elio")[-1]
    output = {"message_id": sent["message_id"], "status": "accepted", "accepted_at": sent["at"]}
    scene.resumes(execution, "the message stands in the CRM", **{"as": "done", "output": output})
    scene.reaches(execution, "waiting_for_reply")
    expect(scene.says("c-elio", "Sí", "resumed"), execution, "the execution that took Elio's reply")
    scene.reaches(execution, "completed")
    expect(len(scene.heard("c-elio")), 1, "messages sent to Elio")
    return execution


STORIES = {
    "Ana": qualify_lead,
    "Beto": follow_up,
    "Carla": conflict,
    "Dora": failed_send,
    "Elio": unknown_outcome,
}
