"""How values of a type become payloads, and how long such a payload can be at most.

`bytes` travel as they are; everything else is msgpack. The maximum size follows from the type ([Yao13] III):

    class Reading(msgspec.Struct):
        bed: int                                                    # 9 bytes at most
        unit: Literal["%", "bpm"]                                   # as long as the longest
        note: Annotated[str, msgspec.Meta(max_length=40)]           # 40 characters of 4 bytes

    codec(Reading).max_size_bytes
"""

from giusto.message.codec import Codec, codec
from giusto.message.size import Size, size

__all__ = ["Codec", "Size", "codec", "size"]
