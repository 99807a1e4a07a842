"""What command-line tools print of counters: perfquery, ethtool, sar, collectl."""
