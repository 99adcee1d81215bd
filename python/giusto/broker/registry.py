"""Who is there, who publishes and subscribes what, and who must be told of it.

Pure state: it is told what the data plane did and says which notices follow from it. Numbers come from the
data plane and are used again; a name is told again when its number means something else. A client whose
number or name turns up again has gone, even if that has not been said yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from giusto import _core
from giusto.broker.told import Told
from giusto.broker.tree import TopicTree
from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.errors import Unknown
from giusto.protocol import Matched, NeedTerms, OfferTerms, ShareTerms, SourceIs, TopicIs


@dataclass(slots=True, eq=False)
class Client:
    """A client after its Connect.

    With `datagrams` its data goes over UDP. If it is `unnamed` nobody comes back under its name. In `past`
    topics it has no flow any more, but messages of it may be on their way. `untold` are losses (topic,
    reason, flow) that it has not been told.
    """

    conn: int
    number: int
    name: str
    address: str
    datagrams: bool = False
    unnamed: bool = False
    flows: dict[int, Flow] = field(default_factory=dict)
    subscriptions: dict[int, Subscription] = field(default_factory=dict)
    past: set[Topic] = field(default_factory=set)
    topics_told: Told = field(default_factory=Told)
    sources_told: Told = field(default_factory=Told)
    dropped: Counter[str] = field(default_factory=Counter)
    untold: Counter[tuple[str, str, int | None]] = field(default_factory=Counter)


@dataclass(slots=True, eq=False)
class Topic:
    """A topic, from its first publisher until it is forgotten. It has at most one flow per connection.

    Messages of flows that ended may still be on their way: `past` are the numbers of their clients, and
    `size_bytes` is the largest message of all flows so far. A topic that has `rested` was vacant at the last
    look.
    """

    number: int
    name: str
    share: ShareTerms
    kept: bool
    flows: dict[int, Flow] = field(default_factory=dict)
    past: set[int] = field(default_factory=set)
    subscribers: int = 0
    comparisons: int = 0
    size_bytes: int = 0
    rested: bool = False


@dataclass(slots=True, eq=False)
class Flow:
    """What a client publishes on a topic."""

    number: int
    client: Client
    topic: Topic
    offer: OfferTerms


@dataclass(slots=True, eq=False)
class Subscription:
    """What a client receives; `publishers` counts the flows that its pattern covers.

    `comparisons` are those of its filter.
    """

    number: int
    client: Client
    pattern: str
    need: NeedTerms
    comparisons: int = 0
    publishers: int = 0


class Registry:
    """All clients, topics, flows and subscriptions of a broker."""

    def __init__(self) -> None:
        self.clients: dict[int, Client] = {}
        self.topics: dict[str, Topic] = {}
        self.topic_names: dict[int, str] = {}
        self.vacant: dict[str, Topic] = {}
        """Topics without publishers that nothing keeps, the longest vacant first."""
        self._numbers: dict[int, Client] = {}
        self._flows: dict[int, Flow] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._names: dict[str, Client] = {}
        # Clients that have gone, until their number is another's: no message of theirs is left then.
        self._departed: dict[int, Client] = {}
        self._tree = TopicTree()
        self._matcher = _core.Matcher()
        self._topic_numbers = Told()
        self._client_numbers = Told()
        self._changed: dict[Flow | Subscription, None] = {}
        self._left: list[tuple[Client, list[str]]] = []

    @property
    def extent(self) -> tuple[int, int]:
        """How many topics and flows there are: a quick look at whether something has changed."""
        return len(self.topics), len(self._flows)

    # --- clients

    def add_client(
        self,
        conn: int,
        number: int,
        name: str,
        address: str,
        *,
        datagrams: bool = False,
        unnamed: bool = False,
    ) -> Client:
        self._evict(self._numbers.get(number))
        self._evict(self._names.get(name))
        client = Client(conn, number, name, address, datagrams, unnamed)
        if not self._client_numbers.add(number):
            for other in self.clients.values():
                other.sources_told.discard(number)
        departed = self._departed.pop(number, None)
        for topic in () if departed is None else departed.past:
            topic.past.discard(number)
        self.clients[conn] = self._numbers[number] = self._names[name] = client
        return client

    def remove_client(self, conn: int) -> None:
        self._evict(self.clients.get(conn))

    def take_left(self) -> list[tuple[Client, list[str]]]:
        """The clients that have gone since the last call, with the patterns that they had."""
        left, self._left = self._left, []
        return left

    def has_name(self, name: str) -> bool:
        return name in self._names

    def is_unnamed(self, name: str) -> bool:
        """Whether a client is there whose name nobody chose."""
        return name in self._names and self._names[name].unnamed

    def _evict(self, client: Client | None) -> None:
        if client is None:
            return
        self._left.append((client, [each.pattern for each in client.subscriptions.values()]))
        for flow in list(client.flows.values()):
            self.remove_flow(flow)
        for subscription in list(client.subscriptions.values()):
            self.remove_subscription(subscription)
        del self.clients[client.conn], self._numbers[client.number], self._names[client.name]
        self._departed[client.number] = client

    def _evict_other(self, client: Client, party: Flow | Subscription | None) -> None:
        """The number of a flow or subscription was given out anew: whoever had it has gone."""
        if party is not None and party.client is not client:
            self._evict(party.client)

    # --- topics

    def add_topic(self, number: int, name: str, share: ShareTerms, *, kept: bool = False) -> Topic:
        """A topic without publishers; one that is not `kept` is vacant until it has some."""
        topic = Topic(number, name, share, kept)
        if not self._topic_numbers.add(number):
            for client in self.clients.values():
                client.topics_told.discard(number)
        self.topics[name] = topic
        self.topic_names[number] = name
        self._tree.add(name)
        self._matcher.add_topic(name)
        covering = self._covering(name)
        topic.subscribers = len(covering)
        topic.comparisons = sum(each.comparisons for each in covering)
        if not kept:
            self.vacant[name] = topic
        return topic

    def remove_topic(self, topic: Topic) -> None:
        del self.topics[topic.name], self.topic_names[topic.number]
        self.vacant.pop(topic.name, None)
        for number in topic.past:
            self._source(number).past.discard(topic)
        self._tree.remove(topic.name)
        self._matcher.remove_topic(topic.name)

    def topics_covered(self, pattern: str) -> list[Topic]:
        return [self.topics[name] for name in self._tree.covered(pattern)]

    def subscriptions_to(self, name: str) -> list[Subscription]:
        """The subscriptions whose pattern covers a topic, which need not exist."""
        if name in self.topics:
            return self._covering(name)
        self._matcher.add_topic(name)
        try:
            return self._covering(name)
        finally:
            self._matcher.remove_topic(name)

    def _covering(self, name: str) -> list[Subscription]:
        return [self._subscriptions[number] for number in self._matcher.matching(name)]

    # --- flows and subscriptions

    def add_flow(self, client: Client, topic: Topic, number: int, offer: OfferTerms) -> Flow:
        self._evict_other(client, self._flows.get(number))
        flow = Flow(number, client, topic, offer)
        self._flows[number] = client.flows[number] = topic.flows[client.conn] = flow
        self.vacant.pop(topic.name, None)
        topic.size_bytes = max(topic.size_bytes, offer.max_size_bytes or SIZE_BYTES_DEFAULT)
        topic.past.discard(client.number)
        client.past.discard(topic)
        for subscription in self._covering(topic.name):
            subscription.publishers += 1
            self._changed[subscription] = None
        return flow

    def remove_flow(self, flow: Flow) -> None:
        del self._flows[flow.number], flow.client.flows[flow.number], flow.topic.flows[flow.client.conn]
        flow.topic.past.add(flow.client.number)
        flow.client.past.add(flow.topic)
        if not flow.topic.flows and not flow.topic.kept:
            flow.topic.rested = False
            self.vacant[flow.topic.name] = flow.topic
        self._changed.pop(flow, None)
        for subscription in self._covering(flow.topic.name):
            subscription.publishers -= 1
            self._changed[subscription] = None

    def add_subscription(
        self, client: Client, pattern: str, number: int, need: NeedTerms, comparisons: int = 0
    ) -> Subscription:
        self._evict_other(client, self._subscriptions.get(number))
        subscription = Subscription(number, client, pattern, need, comparisons)
        self._matcher.subscribe(number, pattern)
        self._subscriptions[number] = client.subscriptions[number] = subscription
        for topic in self.topics_covered(pattern):
            topic.subscribers += 1
            topic.comparisons += comparisons
            subscription.publishers += len(topic.flows)
            self._changed.update(dict.fromkeys(topic.flows.values()))
        return subscription

    def remove_subscription(self, subscription: Subscription) -> None:
        del self._subscriptions[subscription.number], subscription.client.subscriptions[subscription.number]
        self._matcher.unsubscribe(subscription.number)
        self._changed.pop(subscription, None)
        for topic in self.topics_covered(subscription.pattern):
            topic.subscribers -= 1
            topic.comparisons -= subscription.comparisons
            self._changed.update(dict.fromkeys(topic.flows.values()))

    def has_flow(self, client: Client, topic: str) -> bool:
        return topic in self.topics and client.conn in self.topics[topic].flows

    def flow_of(self, client: Client, number: int) -> Flow:
        if number not in client.flows:
            raise Unknown("flow", str(number))
        return client.flows[number]

    def subscription_of(self, client: Client, number: int) -> Subscription:
        if number not in client.subscriptions:
            raise Unknown("subscription", str(number))
        return client.subscriptions[number]

    # --- who is told what

    def names_for(self, client: Client, topics: Iterable[Topic]) -> Iterator[TopicIs | SourceIs]:
        """The names of topics and their publishers that the client does not know yet; it does now."""
        for topic in topics:
            if client.topics_told.add(topic.number):
                yield TopicIs(topic.number, topic.name)
            for number in (*(flow.client.number for flow in topic.flows.values()), *topic.past):
                if client.sources_told.add(number):
                    yield SourceIs(number, self._source(number).name)

    def names_of(self, flow: Flow) -> Iterator[tuple[TopicIs | SourceIs, list[Client]]]:
        """What a new flow adds: its topic's name and its source's, each with those who must be told it now.

        The other sources of the topic they know: each was told when it began, or the subscription did.
        """
        clients = dict.fromkeys(subscription.client for subscription in self._covering(flow.topic.name))
        topic, source = flow.topic.number, flow.client.number
        yield TopicIs(topic, flow.topic.name), [one for one in clients if one.topics_told.add(topic)]
        yield SourceIs(source, flow.client.name), [one for one in clients if one.sources_told.add(source)]

    def _source(self, number: int) -> Client:
        return self._departed.get(number) or self._numbers[number]

    def take_matched(self) -> list[tuple[int, Matched]]:
        """For each flow and subscription whose other side changed since the last call: how many it has."""
        changed, self._changed = self._changed, {}
        return [(party.client.conn, _matched(party)) for party in changed]


def _matched(party: Flow | Subscription) -> Matched:
    if isinstance(party, Subscription):
        return Matched(party.publishers, subscription=party.number)
    return Matched(party.topic.subscribers, flow=party.number)
