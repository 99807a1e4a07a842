"""What is compiled to machine code: plain functions of addresses and integers, one room a layer of the packet.

Nothing outside imports these but `profiler.importers.captures.machine_code`, and only where no compiled copy stands in
its cache: numba takes a second to import.
"""
