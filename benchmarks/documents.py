"""The definitions that are measured."""

from __future__ import annotations

from typing import Any


def flow_only() -> dict[str, Any]:
    """Five actions without effect: a condition with a template, a transfer, a condition, a transfer, the end."""
    text = {"field": "message.text", "operator": "has_any_word", "value": ["precio", "plan"]}
    name = {"field": "contact.name", "operator": "equals", "value": "{{ contact.name | default: 'nadie' }}"}
    return {
        "format": 1,
        "kind": "automation",
        "name": "Medida",
        "trigger": {"type": "message.inbound", "config": {}},
        "steps": [
            _step("uno", "flow.condition", when=text, on_true="dos", on_false="cinco"),
            _step("dos", "flow.goto_step", step="tres"),
            _step("tres", "flow.condition", when=name, on_true="cuatro", on_false="cinco"),
            _step("cuatro", "flow.goto_step", step="cinco"),
            _step("cinco", "flow.end"),
        ],
    }


def _step(key: str, kind: str, **config: Any) -> dict[str, Any]:
    return {"key": key, "actions": [{"key": f"{key}_a", "type": kind, "config": config}]}


def context(number: int) -> dict[str, Any]:
    """What a trigger gives for contact `number`: about 600 bytes."""
    return {
        "trigger": {
            "type": "message.inbound",
            "message_id": f"m{number}",
            "channel": "whatsapp",
            "sent_at": None,
        },
        "message": {
            "message_id": f"m{number}",
            "channel": "whatsapp",
            "direction": "inbound",
            "author": "contact",
            "kind": "text",
            "text": "¿Cuál es el precio del plan?",
            "payload": None,
            "attachments": [],
        },
        "contact": {
            "id": f"c{number}",
            "name": f"Ana {number}",
            "phone": None,
            "email": None,
            "tags": ["vip"],
        },
        "chat": {"id": f"ch{number}", "channel": "whatsapp", "window_open_until": None},
    }
