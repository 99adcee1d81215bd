"""An alarm that is published and received: the first example of the README."""

import time

import giusto

with giusto.connect(name="ward-3") as bus:
    alarm = bus.advertise("ward/3/alarm", giusto.Offer(min_sep="10ms", max_size=256))
    sub = bus.subscribe("ward/+/alarm", giusto.Need(max_latency="5ms"))
    print(sub.verdict)
    for text in (b"SpO2 low", b"SpO2 very low", b"SpO2 normal"):
        alarm.publish(text, priority=6)
        message = sub.receive(timeout=1)
        print(f"{message.topic}: {message.payload.decode()} after {message.latency_ns / 1e6:.3f} ms")
        time.sleep(0.02)
    print(sub.report)
