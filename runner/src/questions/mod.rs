//! The questions of published threads that are about benchmarks: each a table of our own figures
//! beside the published ones, and an answer in words.
//!
//! A question runs benchmarks (`bench`) on machines that differ in what it asks about
//! (`matrix`), sets them side by side in the table that kernel developers post (`crate::compare`)
//! and says what follows (`answer`). What is exact under the virtual clock is asserted; what
//! benchmarks do is shown.

mod answer;
mod bench;
mod counts;
mod extra_tick;
mod losses;
mod matrix;
mod overload;
mod wakeups;

pub(crate) use extra_tick::execute as extra_tick;
pub(crate) use losses::Losses;
pub(crate) use overload::execute as overload;
pub(crate) use wakeups::execute as wakeups;
