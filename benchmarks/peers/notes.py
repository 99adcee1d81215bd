"""What a reader must know about each measure: how it is taken, and what limits it."""

HOW = """128-byte payloads, one publisher and one subscriber unless said otherwise, TCP over loopback, every
peer with nothing kept on disk. All peers get the same messages from the same program over raw
sockets, encoded before the measurement; the Python rows use each peer's own client. The relay is no
broker: it reads from one socket and writes to another, and is what any broker pays at least.

The machine is shared, and its own stalls dominate every p99. So all candidates are measured in
short rounds in turn, {rounds} of each, with a fresh process of the broker. A figure is the
median over the rounds, with the lowest and the highest in brackets; a ratio is taken within each
round. Delays count from the instant at which a message was *meant* to be sent. The columns
*machine* are from a thread that does nothing but sleep: how late it woke up in the same run."""

LIMITS = {
    "throughput": """\
The publisher writes 64 KiB at a time and waits when the peer does, for credits or for the socket.
On two cores the publisher, the subscriber and the broker share the processor. A giusto frame has 56
bytes before its payload (a NATS header has about 18), so the kernel copies 1.4 times the bytes of
the relay. The data thread is what limits it: it is never idle here, and spends about half of its time
in the kernel and half in the pipeline (policing, the queue per client and topic, the input stage,
matching, the queue per subscriber), 140 to 200 ns a message. To reach 0.4 of the relay, the pipeline
would have to take about half of that. Tried: link-time optimisation over all crates (no gain), reads and
turns of other sizes (a client that sends alone is now read 256 KiB at a time: 15 % more), skipping the
search of the input stage while one topic waits alone.""",
    "latency-250": """\
At this rate everybody sleeps between two messages: the delay is that of three wake-ups (the
publisher's timer, the broker, the subscriber) and little else. The differences between the relay, giusto,
Redis and Mosquitto are smaller than those between two rounds.""",
    "latency-5000": """\
The processor is awake more of the time, so that wake-ups cost less than at 250/s.""",
    "flood": """\
Another pair of connections publishes a second topic as fast as the broker takes it. Its threads
have a lower priority than the measured ones, or the figure would say how the machine shares itself
between our own threads; the broker itself has the usual priority and competes with them. The
columns *in the broker* are giusto's own account, over both windows: from the moment a message was
read to the moment it was handed to the subscriber's socket. Once it
was read, a message leaves with the turn of the data thread that read it: while
two clients send, a turn reads at most 16 KiB of each, takes at most 32 steps and writes what they made
and what waits for the other, 256 messages at most. At the throughput of the same
round that is the bound in the table of aims, as long as the machine leaves the processor to the
broker. In the picture a dot is p50, and its line ends at p95.

Within the broker 99 of 100 messages take less than the bound of a turn. What makes p95 from end to end
large in some rounds is that five busy threads share two cores: the broker itself is set aside now and
then. Of 6 runs by hand, 4 had a p95 of 1.1 to 1.2 times that without the flood, and 2 had 3 to 4 times.
SCHED_FIFO for the data thread did not help with two cores, since the subscriber then waits instead.
Mosquitto's p95 is the best because it carries 40 times less of the flood.""",
    "stalled": """\
Five subscribers of one topic at 1,000/s. One stops reading; 16 MiB of another topic, to which only
it subscribes, fill all buffers on the way to it. Then the others are measured again. Single rounds
differ by more than the 5 % that are aimed at, before as well as after.""",
    "many": """\
500 connections publish and 500 subscribe, 20 topics each. Idle is the resident memory of the broker
process when all have connected, before the first message; *before* is the same process without a
connection. For giusto this includes the Python interpreter of the control plane. At most 100,000
messages are on their way at once. One thread serves 1,000 sockets, most of them with a few messages at a
time, so that a read and a write is paid for few messages; NATS has a goroutine for each connection and
uses both cores. Tried: 13 settings of how many sockets a turn reads, how much of each, and how
many steps it takes before it writes; the best for this row (twice what it was) made the delay beside a flood
worse, and the present ones are a compromise.""",
    "python": """\
A publisher process and a subscriber process with each peer's own Python client, as fast as they go;
the rate is what arrives. *Many at once* is `publish_many` and `receive_many`; the other rows of giusto
publish one message at a time. zenoh, ZeroMQ and Cyclone DDS go from process to process without a broker;
the others, giusto too, have a third process to share the two cores with. zenoh and ZeroMQ make the
publisher wait for the subscriber; giusto lets no subscriber slow down a publisher, so what a
subscriber cannot take in is dropped, counted and reported.""",
}
