"""What this host can measure, at which interval, and what it is blind to."""

from profiler.doctor.blind import blind_spots, rdma_devices, shared_ports
from profiler.doctor.checkup import Checkup, PortCheck
from profiler.doctor.examine import examine

__all__ = ["Checkup", "PortCheck", "blind_spots", "examine", "rdma_devices", "shared_ports"]
