"""The packet reader, in the order in which a packet meets it.

``window`` holds the bytes; ``pcap`` and ``pcapng`` find the packets in them (``records``); ``packets`` looks inside for
the key of the flow; ``flows`` counts it; ``bins`` counts its bytes in time; ``series`` and ``rates`` make samples of
the bins. ``reader`` calls them, a window of packets at a time. The loops over packets are compiled by numba: a few
seconds at the first capture on a machine, from a cache after that.
"""
