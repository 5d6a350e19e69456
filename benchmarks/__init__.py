"""Speed and memory, measured on this machine: never in timed tests."""
