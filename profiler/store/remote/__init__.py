"""Lakes in buckets: their addresses, the file systems behind them, the manifest fetched, a lake pushed or attached."""
