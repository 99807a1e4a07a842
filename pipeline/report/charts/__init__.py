"""Draws the numbers of `pipeline.report.series` with Altair.

Colours are CSS variables of the page, so that one chart fits light, dark and print.
"""
