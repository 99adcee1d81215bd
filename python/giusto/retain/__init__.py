"""Retained topics: what was published, kept on disk in the order in which it came, and read by position.

    log         a bounded log of rows: append, fetch by position, trim
    segment     one file of it; what a crash left half written is cut off
    block       how rows lie in a file: framed, numbered, with a checksum
    columns     the columns of a row
    choosing    which rows of a block somebody asked for
    cursors     how far each query has read, kept over a restart
    covering    whether one pattern covers all that another does
    staging     what a sink has written and not yet published
    staged      whether such rows can be published
    journal     which epochs of which query went out
    requests    what is asked of whoever keeps a log, and what is answered

Nothing here knows of brokers or of Spark. Arrow is imported when it is needed.
"""
