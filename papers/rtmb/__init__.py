"""S3, RTMB: ports, levels and paths of switches, the examples of the text and the flooding experiment."""

from giusto.papers import Code

from . import bursts, flooding, levels, moves, paths, ports, requests, separation

CODE = Code(
    experiments={
        "requests": requests.measure,
        "separation": separation.measure,
        "flooding": flooding.measure,
        "ports": ports.measure,
        "levels": levels.measure,
        "paths": paths.measure,
        "bursts": bursts.measure,
        "moves": moves.measure,
    },
    figures={
        "requests": requests.draw,
        "separation": separation.draw,
        "flooding": flooding.draw,
        "buffers": flooding.draw_buffers,
        "ports": ports.draw,
        "levels": levels.draw,
        "paths": paths.draw,
        "bursts": bursts.draw,
        "moves": moves.draw,
    },
    once=flooding.once,
    check=flooding.check,
)
