"""`make demo`: conversations through a real worker fleet, told as they happen and checked at every turn."""

from __future__ import annotations

import re
import sys
import time

import requests

from devtools.processes import ProcessError
from devtools.sandbox.client import SandboxError
from devtools.scene import Scene, Unexpected
from devtools.server import ServerError
from devtools.signals import interruptible
from devtools.stage import ENTITY, Api, Stage, raised, seed_sandbox
from devtools.stories import STORIES
from devtools.story import Story

WORKFLOWS = ("examples/lead_qualification.json", "examples/support_follow_up.json", "examples/reminder.json")


def main() -> int:
    """0 when everything was as expected; everything that was started is stopped in any case."""
    story = Story()
    began = time.monotonic()
    try:
        with (
            interruptible(),
            raised(env="demo", database="boostflow_demo", fresh=True, say=story.aside) as stage,
        ):
            scene = Scene(stage, prepare(stage, story), story)
            told = {name: tell(scene) for name, tell in STORIES.items()}
            for name, execution in told.items():
                story.timeline(name, scene.operator.get(f"executions/{execution}/timeline/"))
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
    """One entity, its keys, its published workflows; the interface as an administrator."""
    story.chapter("An entity and its workflows")
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


if __name__ == "__main__":
    sys.exit(main())
