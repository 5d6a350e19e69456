"""The example of the environment and its reader name the same variables."""

from boostflow.env import Environment
from devtools import example_env


def test_example_is_what_the_reader_says() -> None:
    assert example_env.PATH.read_text() == example_env.render(), (
        "python -m devtools.example_env writes it again"
    )


def test_example_is_read_back_as_the_defaults() -> None:
    read = Environment(_env_file=example_env.PATH)
    defaults = Environment(_env_file=None)
    assert read == defaults
