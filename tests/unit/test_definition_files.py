"""Documents as files: the examples, the identity of import and export, the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.definition_helpers import found
from workflows.definitions.automation import compile_automation, read_automation
from workflows.definitions.rows import ActionRow, StepRow, rows

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_valid_and_all_its_steps_are_reached(path: Path) -> None:
    reading = read_automation(json.loads(path.read_text()))
    assert (reading.violations, reading.warnings) == ((), ())


def test_the_first_examples_are_there() -> None:
    assert {"lead_qualification", "support_follow_up"} <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_import_export_import_is_the_identity(path: Path) -> None:
    document = json.loads(path.read_text())
    compile_automation(document)
    exported = yaml.safe_load(yaml.safe_dump(document, allow_unicode=True))
    assert exported == document
    assert found(exported) == []
    assert rows(exported) == rows(json.loads(json.dumps(document)))


def test_rows_show_places_keys_and_configs() -> None:
    document = json.loads((EXAMPLES[0].parent / "lead_qualification.json").read_text())
    made = rows(document)
    assert made.trigger.type == "message.inbound"
    assert made.trigger.config == {"channels": ["whatsapp"], "cooldown": "PT12H"}
    assert made.trigger.filters == document["trigger"]["filters"]
    assert made.steps == (
        StepRow(1, "bienvenida", "Bienvenida"),
        StepRow(2, "ventas", "ventas"),
        StepRow(3, "cierre", "cierre"),
    )
    assert [(row.step_position, row.position, row.key) for row in made.actions] == [
        (1, 1, "pregunta"),
        (1, 2, "decide"),
        (2, 1, "asigna"),
        (2, 2, "avisa"),
        (2, 3, "fin"),
        (3, 1, "fin2"),
    ]
    assert made.actions[5] == ActionRow(3, 1, "fin2", "flow.end", {})
