"""The console: people look at workflows, executions and messages of one entity at a time."""
