"""Shifts on one link: our solver beside others on the same seeded cases, judged by an evaluator of its own."""
