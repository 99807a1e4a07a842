"""The ``offbeat`` command, one file a subcommand."""
