//! Bugs Linux had in EEVDF, one test each, named by number in this catalogue.
//!
//! Each comment gives the subject of the fix and the symptom. Where a version with the bug is a
//! rule of this crate, the test shows the bug under that rule and its absence under the other. Tests
//! that look inside live with the code: B1, B2, B6, B8, B9 in `avg`, B7 in `place`, B11, B14, B15 in
//! `tree`; B16 and B40 hold after every step of `random_ops`; B48 is among the `vectors`. Not here:
//! B28, B29 (groups), B36 (a benchmark), and bugs of CPU selection and balancing.

#[path = "../common/mod.rs"]
mod common;

mod base;
mod buddies;
mod delayed;
mod placement;
mod protection;
mod reweight;
mod wakeups;
mod yielding;
