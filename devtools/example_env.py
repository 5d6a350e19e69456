"""Writes `.env.example` from `boostflow/env.py`: `python -m devtools.example_env`."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from boostflow.env import ROOT, Environment

PATH = ROOT / ".env.example"
HEADER = "# Copy to .env. Every variable that boostflow reads, with its default.\n"


def render() -> str:
    """The file as it should be."""
    blocks = [HEADER]
    for name, field in Environment.model_fields.items():
        default = field.default
        shown = default.get_secret_value() if isinstance(default, SecretStr) else default
        text = str(shown).lower() if isinstance(shown, bool) else str(shown)
        blocks.append(f"# {field.description}\n{name.upper()}={text}\n")
    return "\n".join(blocks)


def main(path: Path = PATH) -> None:
    """Write the file."""
    path.write_text(render())


if __name__ == "__main__":
    main()
