"""The command line: arguments to a configuration to a call. Nothing here imports torch before a command needs it."""
