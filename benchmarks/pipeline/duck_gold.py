"""The gold tables in DuckDB: each of them said again in SQL, from `deliveries` and `hops`.

They are written to be quick there, and know nothing of how Spark comes to the same.
"""

from __future__ import annotations

from benchmarks.pipeline.duck_silver import IS_END

from giusto.pipeline.tables.envelope import BYTE_GRID, BYTE_UNIT, MESSAGE_GRID, MESSAGE_UNIT

WINDOW = 10_000_000_000
SLICE = 10_000_000_000
EDGE = 100_000_000
LOOKS = 64
BROKER = "split_part(node, '->', 1)"
STEP = WINDOW // LOOKS


def bucket(value: str) -> str:
    """64 buckets for each octave."""
    shift = f"greatest(0, floor(log2(greatest({value}, 64)))::int - 6)"
    return f"({shift} * 64 + (greatest({value}, 0) >> {shift}))::int"


SHIFT = "greatest(0, (bucket >> 6) - 1)"
MIDDLE = f"(((bucket - {SHIFT} * 64)::bigint << {SHIFT}) + (((1::bigint << {SHIFT}) - 1) >> 1))"
HISTOGRAM = "map_from_entries(list({'k': bucket, 'v': count} order by bucket))"


def quantile(part: int) -> str:
    """The nearest rank, in parts of ten thousand, at most the largest of all."""
    return f"least(min({MIDDLE}) filter (where {is_reached(part)}), max(max_ns))"


def of_bucket(part: int) -> str:
    """The nearest rank, at most the largest of its bucket."""
    return f"min(least({MIDDLE}, max_ns)) filter (where {is_reached(part)})"


def is_reached(part: int) -> str:
    """Whether so many of ten thousand lie in this bucket or below."""
    return f"rank >= ceil(total * {part} / 10000)"


GROUP = "run, topic, subscriber, subscription, window_start_ns"
TOPIC_LATENCY = f"""
    with counted as (
            select run, topic, subscriber, subscription, t_sent_ns // {WINDOW} * {WINDOW} as window_start_ns,
                {bucket("latency_ns")} as bucket, count(*) as count, sum(latency_ns) as sum_ns,
                max(latency_ns) as max_ns, max(bound_ns) as bound_ns, max(deadline_ns) as deadline_ns
            from deliveries where latency_ns is not null group by all
        ),
        ranked as (
            select *, sum(count) over (partition by {GROUP} order by bucket) as rank,
                sum(count) over (partition by {GROUP}) as total
            from counted
        )
    select {GROUP}, sum(count)::bigint as count, sum(count) * 1e9 / {WINDOW} as rate_hz,
        {quantile(5_000)} as p50_ns, {quantile(9_000)} as p90_ns, {quantile(9_500)} as p95_ns,
        {quantile(9_900)} as p99_ns, {quantile(9_990)} as p99_9_ns, {quantile(9_999)} as p99_99_ns,
        max(max_ns) as max_ns, (sum(sum_ns) // sum(count))::bigint as mean_ns, {HISTOGRAM} as histogram,
        max(bound_ns) as bound_ns, max(deadline_ns) as deadline_ns, {WINDOW} as window_ns
    from ranked group by {GROUP}
"""

CONTRACT_AUDIT = """
    select *, case when violations > 0 then 'violated' when uncertain > 0 then 'uncertain'
        when with_bound > 0 then 'held' else 'no bound' end as verdict
    from (
        select run, topic, publisher, subscriber, subscription, count(*) as deliveries,
            count(bound_ns) as with_bound,
            count(*) filter (where latency_low_ns > bound_ns) as violations,
            count(*) filter (where latency_ns > bound_ns and latency_low_ns <= bound_ns) as uncertain,
            count(*) filter (where outcome = 'late' or outcome = 'expired' and deadline_ns is not null)
                as misses,
            count(*) filter (where latency_ns is null) as lost,
            max(latency_ns) as largest_ns, max(bound_ns) as bound_ns, max(deadline_ns) as deadline_ns,
            max(latency_ns / bound_ns) filter (where bound_ns > 0) as largest_ratio,
            null::bigint as proved_ns, null::double as proved_ratio
        from deliveries where bound_ns is not null or deadline_ns is not null group by all
    )
"""

VIOLATIONS = f"""
    with found as (
            select *, t_sent_ns // {SLICE} as slice from deliveries where latency_low_ns > bound_ns
        ),
        turns as (
            select distinct run, {BROKER} as node, t_sent_ns // {SLICE} as slice, t_selected_ns
            from hops where t_selected_ns is not null
        ),
        nexts as (
            select *, lead(t_selected_ns) over (partition by run, node, slice order by t_selected_ns)
                as t_next_ns
            from turns semi join found using (run, node, slice)
        ),
        served as (
            select found.*, least(case when t_next_ns is not null then t_next_ns end, t_egress_ns)
                - found.t_selected_ns as service_ns
            from found left join nexts using (run, node, slice, t_selected_ns)
        )
    select run, node, topic, publisher, subscriber, subscription, sequence, size_bytes,
        latency_ns as observed_ns, bound_ns, latency_ns - bound_ns as over_ns, network_in_ns, queue_ns,
        service_ns, egress_ns - service_ns as egress_ns, network_out_ns, clock_error_ns, t_sent_ns, wall_ns
    from served
"""

EARNINGS = """
    select run, node, null::varchar as policy, topic, subscriber, subscription,
        count(*) as ideal, count(*) filter (where is_valid) as valid,
        count(*) filter (where not is_valid) as late_or_lost,
        coalesce(sum(coalesce(price, 0)) filter (where is_valid), 0) as price_sum,
        coalesce(sum(coalesce(penalty, 0)) filter (where not is_valid), 0) as penalty_sum,
        sum(coalesce(price, 0)) as ideal_earning,
        price_sum - penalty_sum as earning,
        valid / ideal as success_rate
    from (select *, outcome = 'delivered' as is_valid from deliveries)
    where subscriber is not null
        and (price is not null or penalty is not null or deadline_ns is not null)
    group by run, node, topic, subscriber, subscription
"""

LOSSES = """
    select run, node, topic, publisher, subscriber, outcome, count(*) as count, min(t_sent_ns) as first_ns,
        max(t_sent_ns) as last_ns
    from deliveries where outcome not in ('delivered', 'late') group by all
"""

SELECTIONS = f"""
    select run, {BROKER} as node, topic, publisher, sequence, t_sent_ns, min(t_ingress_ns) as t_ingress_ns,
        min(t_selected_ns) as t_selected_ns, max(size_bytes) as size_bytes,
        count(*) filter (where subscriber is not null or contains(node, '->')) as fan_out
    from hops where t_selected_ns is not null and node is not null group by all
"""

SHARES = f"""
    with chosen as materialized ({SELECTIONS}),
        served as (
            select run, node, topic, publisher, t_selected_ns // {WINDOW} * {WINDOW} as window_start_ns,
                count(*) as served, sum(greatest((size_bytes + 65535) // 65536, 1))::bigint as quanta
            from chosen group by all
        ),
        waits as (
            select run, node, topic, publisher, w * {WINDOW} as window_start_ns,
                least(greatest((t_ingress_ns - w * {WINDOW} + {STEP - 1}) // {STEP}, 0), {LOOKS}) as low,
                least(greatest((t_selected_ns - w * {WINDOW} + {STEP - 1}) // {STEP}, 0), {LOOKS}) as high
            from (
                select *, unnest(range(t_ingress_ns // {WINDOW}, t_selected_ns // {WINDOW} + 1)) as w
                from chosen where (t_ingress_ns - 1) // {STEP} < t_selected_ns // {STEP}
                    or t_ingress_ns // {WINDOW} < t_selected_ns // {WINDOW}
            )
        ),
        looks as (
            select run, node, topic, publisher, window_start_ns, count(distinct look) as waited
            from (select *, unnest(range(low, high)) as look from waits where low < high) group by all
        )
    select run, node, topic, publisher as client, window_start_ns, null::boolean as guarded,
        coalesce(served, 0) as served, coalesce(quanta, 0) as quanta,
        coalesce(quanta, 0) / nullif(sum(coalesce(quanta, 0)) over every, 0) as share,
        sum(coalesce(quanta, 0)) over of_topic / nullif(sum(coalesce(quanta, 0)) over every, 0)
            as topic_share,
        sum(coalesce(quanta, 0)) over of_client / nullif(sum(coalesce(quanta, 0)) over every, 0)
            as client_share,
        null::double as allotted_flow, null::double as allotted_topic, null::double as allotted_client,
        null::double as allotted_cells,
        coalesce(waited, 0) / {LOOKS} as waiting, coalesce(waited, 0) = {LOOKS} as backlogged
    from served full join looks using (run, node, topic, publisher, window_start_ns)
    window every as (partition by run, node, window_start_ns),
        of_topic as (partition by run, node, window_start_ns, topic),
        of_client as (partition by run, node, window_start_ns, publisher)
"""

LINK = "run, source, target"
SKEWNESS = "skewness(per_kb) * (count(per_kb) - 2) / sqrt(count(per_kb) * (count(per_kb) - 1))"
"""DuckDB corrects for the size of a sample."""


def odds(n: str, skewness: str, kurtosis: str) -> str:
    """How often a sample of a normal distribution looks as unlike one."""
    return f"exp(-{n} / 12 * (({skewness}) ** 2 + ({kurtosis}) ** 2 / 4))"


LINK_MODEL = f"""
    with delays as (
            select run, split_part(node, '->', 1) as source, split_part(node, '->', 2) as target, size_bytes,
                t_sent_ns, t_egress_ns, t_received_ns - t_egress_ns as delay_ns
            from hops where subscriber is null and contains(node, '->')
                and t_received_ns is not null and t_egress_ns is not null
            union all
            select run, node, subscriber, size_bytes, t_sent_ns, t_egress_ns, t_received_ns - t_egress_ns
            from deliveries where subscriber is not null and node is not null
                and t_received_ns is not null and t_egress_ns is not null
        ),
        scaled as (
            select *, case when size_bytes > 0 then delay_ns * 1024.0 / size_bytes end as per_kb,
                t_sent_ns // {WINDOW} * {WINDOW} as w
            from delays
        ),
        whole as (
            select {LINK}, count(*) as count, count(per_kb) as n, avg(per_kb) as mean_ns_per_kb,
                var_samp(per_kb) as variance, {SKEWNESS} as skewness,
                kurtosis_pop(per_kb) as excess_kurtosis, avg(delay_ns) as mean_ns, min(delay_ns) as least_ns,
                max(delay_ns) as largest_ns, min(t_egress_ns) as since_ns, max(t_egress_ns) as until_ns
            from scaled group by {LINK}
        ),
        recent as (
            select {LINK}, w as recent_start_ns, count(per_kb) as recent_count,
                avg(per_kb) as recent_mean_ns_per_kb, var_samp(per_kb) as recent_variance,
                {odds("count(per_kb)", SKEWNESS, "kurtosis_pop(per_kb)")} >= 0.01 as recent_normal
            from scaled group by {LINK}, w having count(per_kb) >= 30
            qualify row_number() over (partition by {LINK} order by w desc) = 1
        )
    select {LINK}, count, mean_ns_per_kb, variance, skewness, excess_kurtosis,
        {odds("n", "skewness", "excess_kurtosis")} as normal_p,
        case when n >= 30 then normal_p >= 0.01 end as normal, mean_ns, least_ns, largest_ns, since_ns,
        until_ns, recent_start_ns, recent_count, recent_mean_ns_per_kb, recent_variance,
        recent_normal
    from whole left join recent using ({LINK})
"""

QUANTUM = f"""
    with chosen as materialized (select *, t_sent_ns // {SLICE} as slice from ({SELECTIONS})),
        instants as (
            select run, node, slice, t_selected_ns, min(t_ingress_ns) as t_ingress_ns, count(*) as messages
            from chosen group by all
        ),
        turns as (
            select *, lead(t_selected_ns) over w as next_ns, lead(t_ingress_ns) over w as next_ingress_ns
            from instants window w as (partition by run, node, slice order by t_selected_ns)
        ),
        busy as (
            select run, node, fan_out, size_bytes,
                (next_ns - t_selected_ns + messages - 1) // messages as service_ns,
                case when size_bytes <= 1 then size_bytes else pow(2, ceil(log2(size_bytes)))::bigint end
                    as size_class
            from chosen join turns using (run, node, slice, t_selected_ns)
            where t_selected_ns >= slice * {SLICE} + {EDGE} and next_ns < (slice + 1) * {SLICE}
                and next_ingress_ns <= t_selected_ns
        ),
        counted as (
            select run, node, size_class, fan_out, {bucket("service_ns")} as bucket, count(*) as count,
                sum(service_ns) as sum_ns, max(service_ns) as max_ns, max(size_bytes) as largest_bytes
            from busy group by all
        ),
        ranked as (
            select *, sum(count) over (partition by run, node, size_class, fan_out order by bucket) as rank,
                sum(count) over (partition by run, node, size_class, fan_out) as total
            from counted
        )
    select run, node, size_class, fan_out, sum(count)::bigint as count, sum(sum_ns) / sum(count) as mean_ns,
        {of_bucket(5_000)} as p50_ns, {of_bucket(9_900)} as p99_ns, {of_bucket(9_990)} as p99_9_ns,
        max(max_ns) as max_ns, max(largest_bytes) as largest_bytes, {HISTOGRAM} as histogram
    from ranked group by run, node, size_class, fan_out
"""

FLOW = "run, publisher, topic, min_sep_ns"


def points() -> list[tuple[str, str, str, str]]:
    """A name, a and b of ρ = b/a, and what a message costs, for each rate; the offered one is the last."""
    found = [(f"m{n}", str(MESSAGE_UNIT), str(b), "1") for n, b in enumerate(MESSAGE_GRID)]
    found += [(f"b{n}", str(BYTE_UNIT), str(b), "size_bytes") for n, b in enumerate(BYTE_GRID)]
    return [*found, ("o0", "min_sep_ns", "1", "1")]


KEPT = "case when o0 <= min_sep_ns then true end"
"""Without facts a burst may have been offered or not."""


def envelope_rows(unit: str, letter: str, a: int, grid: list[int]) -> str:
    """From the last rate below the mean to the first one at which σ is a single message."""
    is_messages = unit == "messages"
    one, total = ("1", "count") if is_messages else ("largest_bytes", "size_bytes")
    sigmas = ", ".join(f"{letter}{n}" for n in range(len(grid)))
    rate, bits, sigma = f"b * (1e9 / {a})", f"b * (1e9 / {a}) * 8", f"sigma / {a}::double"
    mean = f"{total} * {a}::double / nullif(until_ns - since_ns, 0)"
    is_single = f"list_transform([{sigmas}], lambda s: s <= {one} * {a})"
    return f"""
        select {FLOW}, '{unit}' as unit,
            {rate if is_messages else "null"} as rho_hz, {"null" if is_messages else bits} as rho_bps,
            {sigma if is_messages else "null"} as sigma_messages,
            {"null" if is_messages else sigma} as sigma_bytes,
            false as offered, null::bigint as excess_ns, {KEPT} as kept, closer, count, size_bytes,
            largest_bytes, since_ns, until_ns
        from (
            select *, unnest([{sigmas}]) as sigma, unnest({grid}) as b,
                unnest(range({len(grid)})) as place,
                coalesce(len(list_filter({grid[1:]}, lambda b: {mean} >= b)), 0) as low,
                coalesce(list_position({is_single}, true), {len(grid)}) - 1 as high
            from flows
        )
        where place between low and greatest(low, high)
    """


def excess(name: str, a: str, b: str, cost: str) -> str:
    """What the best window that ends with this message has beyond the rate."""
    total = "n" if cost == "1" else "s"
    return f"{a} * {total} - {b} * t - min({a} * ({total} - {cost}) - {b} * t) over w as {name}"


ARRIVAL_ENVELOPE = f"""
    with messages as (
            select distinct {FLOW}, t_sent_ns, sequence, size_bytes from hops where not {IS_END}
        ),
        summed as (
            select *, row_number() over w as n, sum(size_bytes) over w as s,
                t_sent_ns - first_value(t_sent_ns) over w as t,
                t_sent_ns - lag(t_sent_ns) over w < min_sep_ns as is_closer
            from messages
            window w as (
                partition by {FLOW} order by t_sent_ns, sequence
                rows between unbounded preceding and current row
            )
        ),
        sums as (select * replace (s::bigint as s) from summed),
        excess as (
            select {FLOW}, t_sent_ns, size_bytes, is_closer, {", ".join(excess(*point) for point in points())}
            from sums
            window w as (
                partition by {FLOW} order by t_sent_ns, sequence
                rows between unbounded preceding and current row
            )
        ),
        flows as (
            select {FLOW}, count(*) as count, sum(size_bytes)::bigint as size_bytes,
                max(size_bytes) as largest_bytes, min(t_sent_ns) as since_ns, max(t_sent_ns) as until_ns,
                count(*) filter (where is_closer) as closer,
                {", ".join(f"max({name}) as {name}" for name, *_ in points())}
            from excess group by {FLOW}
        )
    {envelope_rows("messages", "m", MESSAGE_UNIT, MESSAGE_GRID)}
    union all {envelope_rows("bytes", "b", BYTE_UNIT, BYTE_GRID)}
    union all
    select {FLOW}, 'messages', 1e9 / min_sep_ns, null, o0 / min_sep_ns, null, true, o0 - min_sep_ns,
        {KEPT}, closer, count, size_bytes, largest_bytes, since_ns, until_ns
    from flows where min_sep_ns is not null
"""

GOLD = {
    "topic_latency": TOPIC_LATENCY,
    "contract_audit": CONTRACT_AUDIT,
    "violations": VIOLATIONS,
    "earnings": EARNINGS,
    "losses": LOSSES,
    "shares": SHARES,
    "link_model": LINK_MODEL,
    "arrival_envelope": ARRIVAL_ENVELOPE,
    "quantum": QUANTUM,
}
