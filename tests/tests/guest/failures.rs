//! Guests that break, each in its own way, and are told apart.

use abi::{Crash, Op};
use runner::{
    Error, Experiment,
    error::{GuestError, GuestFailure},
};
use std::{path::PathBuf, time::Duration};
use tests::{MS, SECOND, explain};

/// A task called `culprit` that breaks the guest after a millisecond, beside a hog on each of
/// two CPUs.
fn culprit(crash: Crash) -> Experiment {
    let program = vec![Op::Run(MS), Op::Crash(crash)];
    Experiment::new()
        .smp(2)
        .hogs(2)
        .load(|load| {
            load.add("culprit".into(), program);
        })
        .duration_ns(SECOND)
}

fn guest_error(experiment: &Experiment) -> GuestError {
    match experiment.run() {
        Err(Error::Guest(error)) => *error,
        Err(other) => panic!("{}", explain(&other)),
        Ok(_) => panic!("the guest finished its run"),
    }
}

#[test]
fn a_panic_is_reported_in_its_own_words() {
    let error = guest_error(&culprit(Crash::Panic));
    let GuestFailure::Panic(text) = &error.cause else { panic!("{error:?}") };
    assert!(text.contains("this task was told to panic"), "{text}");
    assert!(text.contains("in task 2 (culprit)") && text.contains("on cpu "), "{text}");
}

/// A page fault with this error code; the guest says so and which task it was.
fn assert_page_fault(crash: Crash, code: &str) -> String {
    let error = guest_error(&culprit(crash));
    let GuestFailure::GaveUp(text) = &error.cause else { panic!("{crash:?}: {error:?}") };
    assert!(text.contains("page fault") && text.contains(&format!("error code {code}")), "{text}");
    assert!(error.console.iter().any(|line| line.contains("in task 2 (culprit)")), "{error:?}");
    text.clone()
}

#[test]
fn a_read_through_null_is_a_page_fault_at_0() {
    // Not present, read, in the kernel.
    let text = assert_page_fault(Crash::NullRead, "0x0");
    assert!(text.contains("cr2 0x0 ") || text.contains("cr2 0x0;"), "{text}");
}

#[test]
fn code_cannot_be_written() {
    // Present, write.
    assert_page_fault(Crash::CodeWrite, "0x3");
}

#[test]
fn data_cannot_be_executed() {
    // Present, instruction fetch.
    assert_page_fault(Crash::DataExecute, "0x11");
}

#[test]
fn a_stack_overflow_names_task_and_cpu() {
    let error = guest_error(&culprit(Crash::StackOverflow));
    assert!(matches!(error.cause, GuestFailure::GaveUp(_)), "{error:?}");
    let text = error.to_string() + &error.console.join("\n");
    assert!(text.contains("stack overflow"), "{text}");
    assert!(text.contains("culprit") && text.contains("cpu "), "{text}");
}

#[test]
fn a_guest_that_hangs_is_stopped() {
    let mut experiment = culprit(Crash::Hang);
    experiment.host.timeout = Some(Duration::from_secs(4));
    let error = guest_error(&experiment);
    let GuestFailure::Timeout { limit_s, .. } = error.cause else { panic!("{error:?}") };
    assert_eq!(limit_s, 4.0);
}

#[test]
fn a_triple_fault_is_not_a_success() {
    let error = guest_error(&culprit(Crash::TripleFault));
    assert!(matches!(error.cause, GuestFailure::Vanished { .. }), "{error:?}");
    assert!(error.to_string().contains("triple fault"), "{error}");
}

#[test]
fn too_little_memory_is_refused_with_what_is_needed() {
    let mut experiment = Experiment::new().smp(64).hogs(128);
    experiment.host.memory_mib = Some(16);
    let error = experiment.run().expect_err("16 MiB are not enough");
    let Error::Refused(refusal) = error else { panic!("{error}") };
    assert_eq!((refusal.flag, refusal.value.as_str()), ("--memory", "16"));
    experiment.host.memory_mib = None;
    let needed = experiment.plan().expect("all is well without the flag").memory_mib;
    assert!(refusal.reason.contains(&format!("need {needed} MiB")), "{refusal}");
}

#[test]
fn a_missing_qemu_fails_and_names_setup() {
    let mut experiment = Experiment::new().hogs(1);
    experiment.host.qemu = Some(PathBuf::from("/nowhere/qemu-system-x86_64"));
    let error = experiment.run().expect_err("there is no such QEMU");
    assert!(matches!(error, Error::Setup(_)), "{error}");
    assert!(explain(&error).contains("Run ./setup"), "{}", explain(&error));
}
