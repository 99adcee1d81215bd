"""The deliveries in DuckDB: what `giusto.pipeline.tables.silver` makes of records, said again in SQL."""

from __future__ import annotations

MESSAGE = "run, topic, publisher, subscriber, sequence, t_sent_ns"
KEY = f"{MESSAGE}, subscription"
WHOLE = f"{KEY}, node, hop, t_ingress_ns, t_selected_ns, t_egress_ns, t_received_ns, outcome"
SAID = (
    "size_bytes", "priority", "t_intended_ns", "min_sep_ns", "deadline_ns", "bound_ns", "price", "penalty",
    "wall_offset_ns",
)  # fmt: skip
IS_END = """
    (subscriber is not null and t_received_ns is not null and t_selected_ns is null and t_egress_ns is null)
"""

# Good rows, each once: what is there twice is found by a hash, as only few are.
HOPS = f"""
    with keyed as (select *, hash({WHOLE}) as h from records),
        repeated as (select h from keyed group by h having count(*) > 1)
    select * exclude (h) from keyed anti join repeated using (h)
    union all by name
    select * exclude (h) from keyed semi join repeated using (h)
    qualify row_number() over (partition by {WHOLE} order by {", ".join(SAID)}) = 1
"""

ONE = f"""
    select {KEY}, {", ".join(SAID)},
        case when not {IS_END} then node end as node,
        hop + case when {IS_END} then 0 else 1 end as hops,
        case when not {IS_END} then t_ingress_ns end as t_ingress_ns,
        t_selected_ns, t_egress_ns, t_received_ns, clock_error_ns, outcome,
        t_selected_ns - t_ingress_ns as queue_ns,
        t_egress_ns - t_selected_ns as egress_ns,
        1 as records
    from keyed anti join repeated using (h)
    where not (subscriber is null and outcome = 'delivered')
"""

SEVERAL = f"""
    select {KEY}, {", ".join(f"max({name}) as {name}" for name in SAID)},
        arg_max(node, case when not {IS_END} then hop end) as node,
        max(hop + case when {IS_END} then 0 else 1 end) as hops,
        arg_min(t_ingress_ns, case when not {IS_END} then hop end) as t_ingress_ns,
        arg_max(t_selected_ns, hop) as t_selected_ns,
        arg_max(t_egress_ns, hop) as t_egress_ns,
        max(t_received_ns) as t_received_ns,
        max(clock_error_ns) as clock_error_ns,
        arg_max(outcome, (hop, {IS_END}, node)) as outcome,
        sum(t_selected_ns - t_ingress_ns) as queue_ns,
        sum(t_egress_ns - t_selected_ns) as egress_ns,
        count(*) as records
    from (
        select * from keyed semi join repeated using (h)
        qualify row_number() over (partition by {WHOLE} order by {", ".join(SAID)}) = 1
    )
    where not (subscriber is null and outcome = 'delivered')
    group by {KEY}, case when subscriber is null then node end
"""

DELIVERIES = f"""
    with keyed as (
            select *, case when subscriber is null then hash({WHOLE}) else hash({MESSAGE}) end as h
            from records
        ),
        repeated as (select h from keyed group by h having count(*) > 1),
        every as ({ONE} union all by name {SEVERAL}),
        timed as (
            select *, case when outcome in ('delivered', 'late')
                then coalesce(t_received_ns, t_egress_ns) - t_sent_ns end as latency_ns
            from every
        )
    select run, node, topic, publisher, subscriber, subscription, sequence, size_bytes, priority, hops,
        t_intended_ns, t_sent_ns, t_ingress_ns, t_selected_ns, t_egress_ns, t_received_ns, clock_error_ns,
        min_sep_ns, deadline_ns, bound_ns, price, penalty,
        case when latency_ns > deadline_ns then 'late' else outcome end as outcome,
        latency_ns,
        latency_ns - clock_error_ns as latency_low_ns,
        latency_ns + clock_error_ns as latency_high_ns,
        t_egress_ns - t_ingress_ns as inside_ns,
        coalesce(t_egress_ns, t_selected_ns, t_ingress_ns) - t_sent_ns
            - coalesce(queue_ns, 0) - coalesce(egress_ns, 0) as network_in_ns,
        queue_ns::bigint as queue_ns,
        egress_ns::bigint as egress_ns,
        t_received_ns - t_egress_ns as network_out_ns,
        t_sent_ns + wall_offset_ns as wall_ns,
        records
    from timed
"""
