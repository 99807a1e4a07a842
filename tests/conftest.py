"""What holds for every test: time says nothing about a property, and Ctrl-C reaches a command that a test starts."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be the commands that tests send it to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
