"""One module for each command: `register(commands)` says what it takes, `run(arguments)` does it and returns the exit code."""
