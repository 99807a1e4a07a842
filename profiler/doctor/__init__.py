"""What this host can measure, at which interval, and what it is blind to."""

from profiler.doctor.checkup import Checkup, PortCheck
from profiler.doctor.examine import examine
from profiler.doctor.refresh import Refresh, measure_refresh

__all__ = ["Checkup", "PortCheck", "Refresh", "examine", "measure_refresh"]
