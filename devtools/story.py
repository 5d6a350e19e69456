"""How the demo tells what happens: chapters, what contacts and engine say, timelines."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

BOLD, DIM, GREEN, CYAN, PLAIN = "\033[1m", "\033[2m", "\033[32m", "\033[36m", "\033[0m"


class Story:
    """Prints lines with the seconds since the start; colours on a terminal only."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._colours = sys.stdout.isatty()

    def chapter(self, title: str) -> None:
        """A heading."""
        self._line(f"\n{self._in(BOLD, title)}", stamp=False)

    def aside(self, text: str) -> None:
        """What the machinery does, dimmed."""
        for line in text.splitlines():
            self._line(self._in(DIM, f"        {line}"))

    def contact(self, name: str, text: str) -> None:
        """A contact writes."""
        self._line(f"{self._in(CYAN, f'{name:>7}')}  {text}")

    def engine(self, message: Mapping[str, Any]) -> None:
        """The engine's message as the contact gets it, with what can be tapped."""
        options = message.get("options") or []
        buttons = "".join(f"  [{option['title']}]" for option in options)
        self._line(f"{self._in(GREEN, '      >')}  {message['text']}{buttons}")

    def timeline(self, title: str, timeline: Mapping[str, Any]) -> None:
        """An execution's timeline, an entry a line."""
        self.chapter(f"Timeline of {title}'s execution")
        for entry in timeline["results"]:
            self._line("        " + describe(entry), stamp=False)

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self._colours else text

    def _line(self, text: str, *, stamp: bool = True) -> None:
        prefix = f"{time.monotonic() - self._began:6.1f} s " if stamp else ""
        print(f"{prefix}{text}", flush=True)


def describe(entry: Mapping[str, Any]) -> str:
    """One entry of a timeline in one line."""
    at = str(entry["at"])[11:19]
    match entry["item"]:
        case "step_run":
            output = f"  {entry['output']}" if entry["output"] else ""
            return f"{at}  step     {entry['step']}.{entry['action']} ({entry['type']}) {entry['status']}{output}"
        case "wait":
            end = entry["resolution"] or entry["state"]
            return f"{at}  wait     for {entry['kind']} until {str(entry['deadline'])[:19]}: {end}"
        case "attempt":
            return f"{at}  attempt  {entry['number']} with key {entry['idempotency_key']}"
        case _:
            return f"{at}  event    {entry['kind']} by {entry['actor']}"
