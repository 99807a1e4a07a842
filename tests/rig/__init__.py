"""A real network on one machine: hosts and switches as network namespaces, and real training jobs across them.

Read `tests.rig.network` for what is built, `tests.rig.training` for what a job does, `tests.rig.rig` for the Python
interface, and run ``python -m tests.rig --help`` for the command line.
"""
