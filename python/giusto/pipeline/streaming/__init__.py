"""A pipeline that goes on: records as they come, tables that are always whole, and nothing counted twice.

    intake      which files go into the stream, each of them once
    census      which rows a file has, if nothing is wrong with any
    slices      which rows are settled and which still wait: a state machine without I/O
    facts       what records do not say, read once
    settling    what becomes of rows whose slices have ended: a part of every table
    parts       where parts are kept, and when several become one
    forgetting  which deliveries are too old to be kept
    presenting  all parts, and the rows that wait, as tables that people read
    stream      the query of Spark around them, from start to end

Rows are cut by when their message was sent, into slices of a run. Everything that is known of a delivery is
in one slice. A slice is settled when the newest message is older than its end by the delay; what comes for
it later is in quarantine as `late`. Each micro-batch ends with one write of the state, and everything else
has a name that follows from it: a micro-batch that is done again does the same.
"""
