//! Results for programs (`document`) and for people (`text`), from one set of numbers.

mod dist;
mod document;
mod explain;
mod histogram;
mod metrics;
mod output;
mod schedstat;
mod text;

pub use dist::Dist;
pub(crate) use dist::decimals;
pub(crate) use document::policy_word;
pub use document::{
    ConfigDocument, CpuDocument, Document, DomainDocument, LagDocument, MachineDocument,
    PassesDocument, SwitchesDocument, TaskDocument, TopologyDocument, TotalsDocument,
    WakeupsDocument,
};
pub(crate) use explain::explain;
pub use explain::{CandidateDocument, DecisionDocument};
pub(crate) use histogram::bars;
pub(crate) use metrics::number;
pub use output::JsonSink;
pub(crate) use output::{Sink, Target, print, table};
pub(crate) use schedstat::schedstat;
pub(crate) use text::{Tasks, header, render, verdict_word};
