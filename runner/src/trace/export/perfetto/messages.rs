//! The few of Perfetto's messages that are written, with the numbers of their fields.
//!
//! Source: `protos/perfetto/trace` of Perfetto; the numbers are that project's promise. The
//! generated crate with all of its messages takes longer to build than everything else here.
//!
//! Numbers that readers expect to be there are `required`: written even if they are 0, which is
//! what a CPU's number or a time can be.

use prost::{Message, Oneof};

/// A whole trace. Those of single packets, one after the other, are one too.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "1")]
    pub(super) ftrace_events: Option<FtraceEventBundle>,
    #[prost(message, optional, tag = "2")]
    pub(super) process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub(super) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(uint32, tag = "13")]
    pub(super) sequence_flags: u32,
    #[prost(message, optional, tag = "45")]
    pub(super) system_info: Option<SystemInfo>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub(super) utsname: Option<Utsname>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Utsname {
    #[prost(string, tag = "1")]
    pub(super) sysname: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
    #[prost(string, tag = "3")]
    pub(super) release: String,
    #[prost(string, tag = "4")]
    pub(super) machine: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub(super) processes: Vec<TreeProcess>,
    #[prost(message, repeated, tag = "2")]
    pub(super) threads: Vec<TreeThread>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TreeProcess {
    #[prost(int32, required, tag = "1")]
    pub(super) pid: i32,
    #[prost(int32, required, tag = "2")]
    pub(super) ppid: i32,
    #[prost(string, repeated, tag = "3")]
    pub(super) cmdline: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TreeThread {
    #[prost(int32, required, tag = "1")]
    pub(super) tid: i32,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(int32, required, tag = "3")]
    pub(super) tgid: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEventBundle {
    #[prost(uint32, required, tag = "1")]
    pub(super) cpu: u32,
    #[prost(message, repeated, tag = "2")]
    pub(super) event: Vec<FtraceEvent>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FtraceEvent {
    #[prost(uint64, required, tag = "1")]
    pub(super) timestamp: u64,
    #[prost(uint32, required, tag = "2")]
    pub(super) pid: u32,
    #[prost(oneof = "SchedEvent", tags = "4, 17, 20, 114, 491")]
    pub(super) event: Option<SchedEvent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum SchedEvent {
    #[prost(message, tag = "4")]
    Switch(SchedSwitch),
    #[prost(message, tag = "17")]
    Wakeup(SchedWakeup),
    #[prost(message, tag = "114")]
    WakeupNew(SchedWakeup),
    #[prost(message, tag = "20")]
    Waking(SchedWakeup),
    #[prost(message, tag = "491")]
    MigrateTask(SchedMigrateTask),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedSwitch {
    #[prost(string, tag = "1")]
    pub(super) prev_comm: String,
    #[prost(int32, required, tag = "2")]
    pub(super) prev_pid: i32,
    #[prost(int32, required, tag = "3")]
    pub(super) prev_prio: i32,
    #[prost(int64, required, tag = "4")]
    pub(super) prev_state: i64,
    #[prost(string, tag = "5")]
    pub(super) next_comm: String,
    #[prost(int32, required, tag = "6")]
    pub(super) next_pid: i32,
    #[prost(int32, required, tag = "7")]
    pub(super) next_prio: i32,
}

/// `SchedWakeup`, `SchedWakeupNew` and `SchedWaking`, which are alike.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedWakeup {
    #[prost(string, tag = "1")]
    pub(super) comm: String,
    #[prost(int32, required, tag = "2")]
    pub(super) pid: i32,
    #[prost(int32, required, tag = "3")]
    pub(super) prio: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) success: i32,
    #[prost(int32, required, tag = "5")]
    pub(super) target_cpu: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SchedMigrateTask {
    #[prost(string, tag = "1")]
    pub(super) comm: String,
    #[prost(int32, required, tag = "2")]
    pub(super) pid: i32,
    #[prost(int32, required, tag = "3")]
    pub(super) prio: i32,
    #[prost(int32, required, tag = "4")]
    pub(super) orig_cpu: i32,
    #[prost(int32, required, tag = "5")]
    pub(super) dest_cpu: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, optional, tag = "4")]
    pub(super) thread: Option<ThreadDescriptor>,
    #[prost(uint64, tag = "5")]
    pub(super) parent_uuid: u64,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<Counter>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(int64, tag = "2")]
    pub(super) tid: i64,
    #[prost(string, tag = "5")]
    pub(super) thread_name: String,
}

/// `CounterDescriptor`: nothing in it, but there.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Counter {}

/// Values of [`TrackEvent::type`](TrackEvent).
pub(super) mod event_type {
    pub(in super::super) const SLICE_BEGIN: i32 = 1;
    pub(in super::super) const SLICE_END: i32 = 2;
    pub(in super::super) const INSTANT: i32 = 3;
    pub(in super::super) const COUNTER: i32 = 4;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, required, tag = "9")]
    pub(super) r#type: i32,
    #[prost(uint64, tag = "11")]
    pub(super) track_uuid: u64,
    #[prost(string, tag = "23")]
    pub(super) name: String,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(int64, optional, tag = "4")]
    pub(super) int_value: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
    #[prost(string, tag = "10")]
    pub(super) name: String,
}

impl DebugAnnotation {
    pub(super) fn number(name: &str, value: i64) -> Self {
        Self { int_value: Some(value), string_value: None, name: name.into() }
    }

    pub(super) fn text(name: &str, value: &str) -> Self {
        Self { int_value: None, string_value: Some(value.into()), name: name.into() }
    }
}
