"""Experiments on the rig: what is predicted from measured counters, against what pacing then does to the jobs.

``python -m tests.rig.experiments two-equal --rounds 3 --seconds 40``

Read `cases` for the experiments, `trial` for what a round does, `forecast` for what is predicted, `comparison` for the
figures.
"""
