"""Metrics of monitoring systems: what their names count, pages of text, and answers of Prometheus."""
