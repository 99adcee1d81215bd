"""Spark: what runs on all cores or on a cluster, and what is learned from many runs.

    session                     one Spark session per process, quiet, embedded unless told otherwise
    prerequisites, scratch      what it needs, and where it keeps what nobody needs later
    sweep                       many runs of one experiment: run, go on, summarise
    cases, spec                 which runs: a table of parameters, from Python or from TOML
    experiment, fingerprint     what is run, found by its name, and which code that was
    registry, waiting           experiments that have a short name
    waves, task, flight, crash  how cases reach Spark and come back, or do not
    folder                      where results are kept, whole or not at all
    summary, confidence         means and how sure they are

`pyspark` is imported when it is needed, and nowhere else in giusto: `giusto[spark]` brings it.
"""
