"""The packet reader, in the order in which a packet meets it.

``window`` holds the bytes, of a stream or of a mapped file; ``walks`` (``pcap``, ``pcapng``) reads what describes
packets and has the ``kernel`` take them: links, tags, tunnels, addresses, ports, RDMA; flows, bins and sequence
numbers, all in one pass over memory that ``layout`` and ``flow_words`` describe and ``memory`` owns. What the kernel
does not know it puts aside for ``strangers``, who ask scapy (``dissection``). ``bins``, ``rates`` and ``series`` make
samples of the bins, ``flow_rows`` rows of the flows, ``packet_rows`` rows of the packets where they are wanted;
``reader`` calls them, a step at a time.

The kernel is compiled by numba, about ten seconds at the first capture on a machine; ``machine_code`` keeps what comes
of that in ``~/.cache/offbeat`` (or where ``OFFBEAT_CACHE_DIR`` says) and loads it without numba from then on.
"""
