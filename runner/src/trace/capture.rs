//! The trace of one run: from the guest's memory into the file, while it runs and after.

use super::{
    Request, Summary,
    drain::{Drain, PassError, RingError},
    format::{Description, TaskDescription},
    ram::GuestRam,
    write::Writer,
};
use crate::{
    error::{Error, Refusal, SetupError},
    experiment::Plan,
    qemu::Qemu,
    report::{ConfigDocument, Target, policy_word},
};
use abi::{record::Rings, scenario::Policy};
use std::{
    io::BufWriter,
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

/// How long the rings are left alone between two looks.
const PAUSE: Duration = Duration::from_millis(2);
/// What is kept before it is written to the file.
const BUFFER: usize = 1 << 18;

/// The flag that asks for a trace.
const FLAG: &str = "--trace";

/// What whoever records must know of the guest.
#[derive(Debug)]
pub(crate) enum News {
    /// It said where its rings are.
    Rings(Rings),
    /// It is dead.
    Over {
        /// Why there is no result, if there is none.
        failure: Option<String>,
    },
}

/// What is needed to record a run.
#[derive(Debug)]
pub(crate) struct Capture {
    target: Target,
    ram: GuestRam,
    description: Description,
    file: PathBuf,
    ring_mib: u32,
}

/// Proves that the file can be written, before anything runs.
///
/// # Errors
/// It cannot.
pub(crate) fn check(request: &Request) -> Result<(), Refusal> {
    if request.file.as_os_str() == "-" {
        return Err(Refusal::new(FLAG, "-", "a trace is not for the terminal; name a file"));
    }
    Target::prepare(FLAG, &request.file).map(drop)
}

impl Capture {
    /// Prepares the file and the guest's memory.
    ///
    /// # Errors
    /// One of them cannot be had.
    pub(crate) fn prepare(request: &Request, plan: &Plan, qemu: &Qemu) -> Result<Self, Error> {
        let target = Target::prepare(FLAG, &request.file)?;
        let ram = GuestRam::new(plan.memory_mib + plan.ring_mib)
            .map_err(SetupError::system("set memory for the guest aside"))?;
        let scenario = &plan.scenario;
        let tasks = scenario.tasks.iter().zip(1..).map(|(task, pid)| TaskDescription {
            name: task.name.clone(),
            pid,
            nice: task.nice,
            policy: policy_word(task.policy).into(),
            prio: match task.policy {
                Policy::Fifo { priority } => 99 - priority as i32,
                Policy::Normal | Policy::Batch | Policy::Idle => 120 + i32::from(task.nice),
            },
        });
        let config = ConfigDocument::new(plan, qemu);
        let description = Description {
            slicelab: env!("CARGO_PKG_VERSION").into(),
            cpus: scenario.cpus,
            hz: scenario.hz,
            config: serde_json::to_value(config).expect("all keys are strings"),
            tasks: tasks.collect(),
        };
        let ring_mib = plan.ring_mib;
        Ok(Self { target, ram, description, file: request.file.clone(), ring_mib })
    }

    /// The guest's memory.
    pub(crate) const fn ram(&self) -> &GuestRam {
        &self.ram
    }

    /// Records what `news` says there is, until it says that the guest is dead. There is no file
    /// of a guest that failed before it ran.
    ///
    /// # Errors
    /// The rings are not what they should be, or the file takes no more.
    pub(crate) fn record(mut self, news: &Receiver<News>) -> Result<Option<Summary>, Error> {
        let rings = match news.recv() {
            Ok(News::Rings(rings)) => rings,
            Ok(News::Over { failure: Some(_) }) | Err(_) => return Ok(None),
            Ok(News::Over { failure: None }) => {
                return Err(SetupError::Trace(RingError::NoRings).into());
            }
        };
        let file = self.target.to_string();
        let write_error = |error| Error::from(SetupError::system(format!("write {file}"))(error));
        let pass_error = |error| match error {
            PassError::Ring(error) => SetupError::Trace(error).into(),
            PassError::Sink(error) => write_error(error),
        };
        let out = BufWriter::with_capacity(BUFFER, self.target.writer());
        let mut writer = Writer::new(out, &self.description).map_err(write_error)?;
        let mut drain = Drain::new(&self.ram, &rings).map_err(|error| pass_error(error.into()))?;
        let failure = loop {
            let over = match news.recv_timeout(PAUSE) {
                Ok(News::Over { failure }) => Some(failure),
                Ok(News::Rings(_)) | Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Some("the runner gave up".into())),
            };
            drain.pass(&mut writer).map_err(pass_error)?;
            if let Some(failure) = over {
                break failure;
            }
        };
        let lost: Vec<u64> = drain.lost().collect();
        let (records, bytes) = writer.close(failure, &lost).map_err(write_error)?;
        self.target.finish().map_err(write_error)?;
        let lost = lost.iter().sum();
        Ok(Some(Summary { file: self.file, records, lost, bytes, ring_mib: self.ring_mib }))
    }
}
