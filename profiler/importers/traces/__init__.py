"""Readers of what PyTorch and NCCL write of collectives: profiler traces, flight recorders, inspector records."""
