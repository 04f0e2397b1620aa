#!/usr/bin/env python3
"""Checks a Perfetto trace with the official generated classes.

    check_perfetto.py FILE

Exits with 77 if the `perfetto` package is not there, with 1 and a message if something does not
hold, and otherwise prints one JSON object: the time that each pid had a CPU, in ns, and counts.
"""

import collections
import json
import sys

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError as error:
    print(f"no perfetto package for {sys.executable}: {error}", file=sys.stderr)
    sys.exit(77)


# Of one time, what was before comes first.
SLEEPS, RUNS = 0, 1


def require(holds, text):
    if not holds:
        sys.exit(f"{sys.argv[1]}: {text}")


def no_unknown_fields(message, path):
    """A field under a wrong number would be unknown, or of another type and not parse."""
    from google.protobuf import unknown_fields

    require(len(unknown_fields.UnknownFieldSet(message)) == 0, f"unknown fields in {path}")
    for field, value in message.ListFields():
        if field.message_type is not None:
            is_many = isinstance(value, collections.abc.Sequence) or hasattr(value, "append")
            for one in value if is_many else [value]:
                no_unknown_fields(one, f"{path}.{field.name}")


def main():
    trace = pb.Trace()
    with open(sys.argv[1], "rb") as file:
        trace.ParseFromString(file.read())
    no_unknown_fields(trace, "Trace")

    events = collections.defaultdict(list)
    packets = {}
    for packet in trace.packet:
        require(packet.trusted_packet_sequence_id == 1, "a packet of no sequence")
        for kind in ("ftrace_events", "process_tree", "track_event", "system_info", "track_descriptor"):
            if packet.HasField(kind):
                packets[kind] = packets.get(kind, 0) + 1
        if packet.HasField("ftrace_events"):
            bundle = packet.ftrace_events
            require(bundle.HasField("cpu"), "a bundle without a cpu")
            events[bundle.cpu].extend(bundle.event)
    require(trace.packet[0].sequence_flags & 1, "the sequence does not begin")

    pids = check_tree(trace)
    runtime, kernel_events = check_sched(events, pids)
    slices, flows = check_track_events(trace)
    print(json.dumps({
        "runtime_ns": runtime,
        "events": kernel_events,
        "packets": packets,
        "slices_ns": slices,
        "flows": flows,
    }))


def check_tree(trace):
    threads = [t for p in trace.packet if p.HasField("process_tree") for t in p.process_tree.threads]
    require(len({t.tid for t in threads}) == len(threads), "two threads with one tid")
    return {0} | {t.tid for t in threads}


def check_sched(events, pids):
    """Per CPU: times are monotone, slices follow each other. Overall: waking before running."""
    runtime = collections.Counter()
    kinds = collections.Counter()
    started = {}
    woken, runs = collections.defaultdict(list), collections.defaultdict(list)
    for cpu, of_cpu in events.items():
        latest, running, since = 0, None, None
        for event in of_cpu:
            require(event.HasField("timestamp") and event.HasField("pid"), "an event without a time")
            require(event.timestamp >= latest, f"time goes back on cpu {cpu} at {event.timestamp}")
            latest = event.timestamp
            kind = event.WhichOneof("event")
            kinds[kind] += 1
            if kind == "sched_waking":
                require(event.sched_waking.pid in pids, "waking of nobody")
                woken[event.sched_waking.pid].append(event.timestamp)
            if kind != "sched_switch":
                continue
            switch = event.sched_switch
            require(switch.prev_pid in pids and switch.next_pid in pids, "a switch of nobody")
            if running is not None:
                require(switch.prev_pid == running, f"cpu {cpu} at {latest}: {running} runs, not {switch.prev_pid}")
                if running:
                    runtime[running] += latest - since
            # It slept: whoever runs next must have been woken in between.
            if switch.prev_pid and switch.prev_state == 1:
                if started.get(switch.prev_pid) == latest:
                    # It ran for no time: which came first cannot be told by the times.
                    runs[switch.prev_pid].remove((latest, RUNS))
                else:
                    runs[switch.prev_pid].append((latest, SLEEPS))
            running, since = switch.next_pid, latest
            if running:
                runs[running].append((latest, RUNS))
                started[running] = latest
                require(len(switch.next_comm) > 0, "a task without a name")
    for pid, moments in runs.items():
        slept = None
        for moment, what in sorted(moments):
            if what == SLEEPS:
                slept = moment
            elif slept is not None:
                require(any(slept <= at <= moment for at in woken[pid]),
                        f"pid {pid} runs at {moment}, slept from {slept} on and was not woken")
                slept = None
    return dict(runtime), dict(kinds)


def check_track_events(trace):
    """Slices open and close in turn on each track, counters have values, arrows two ends."""
    kinds = pb.TrackEvent.Type
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    opened, lengths, tails, heads = {}, collections.Counter(), set(), set()
    latest = 0
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        require(packet.HasField("timestamp"), "a track event without a time")
        require(packet.timestamp >= latest, f"track events go back at {packet.timestamp}")
        latest = packet.timestamp
        require(event.track_uuid in tracks, "a track that nobody described")
        track = tracks[event.track_uuid]
        if event.type == kinds.TYPE_SLICE_BEGIN:
            require(event.track_uuid not in opened, f"two slices at once on {track.name}")
            opened[event.track_uuid] = latest
        elif event.type == kinds.TYPE_SLICE_END:
            require(event.track_uuid in opened, f"a slice ends that never began on {track.name}")
            lengths[track.thread.tid] += latest - opened.pop(event.track_uuid)
        elif event.type == kinds.TYPE_COUNTER:
            require(track.HasField("counter") and event.HasField("counter_value"), "no value")
        tails.update(event.flow_ids)
        heads.update(event.terminating_flow_ids)
    require(not opened, "slices are left open")
    require(heads <= tails, "an arrow without a beginning")
    return dict(lengths), len(heads)


main()
