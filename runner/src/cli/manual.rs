//! The command line for shells and readers: completions and man pages, from its definition.

use super::Cli;
use crate::error::{Error, SetupError};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// Flags of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell that reads them
    pub shell: Shell,
}

/// Flags of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write slicelab.1 and a page for each command into this folder, instead of the first to stdout
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

/// Prints the completions of a shell.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "slicelab", &mut script);
    print(&script)
}

/// Prints the man page, or writes all of them.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn man(arguments: &ManArgs) -> Result<u8, Error> {
    let Some(folder) = &arguments.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).expect("memory takes everything");
        return print(&page);
    };
    let written = fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder as &Path));
    written.map_err(SetupError::system(format!("write man pages into {}", folder.display())))?;
    Ok(0)
}

fn print(text: &[u8]) -> Result<u8, Error> {
    match io::stdout().write_all(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(SetupError::system("write to stdout")(error).into())
        }
        _ => Ok(0),
    }
}
