//! The `slicelab` command. Everything it does is in the library.

use anstyle::{AnsiColor, Style};
use runner::{Error, cli::Cli, commands, error::EXIT_SETUP, interrupt};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::from_command_line();
    if let Err(error) = interrupt::install() {
        anstream::eprintln!("error: cannot watch for Ctrl-C: {error}");
        return EXIT_SETUP.into();
    }
    match commands::execute(cli) {
        Ok(code) => code.into(),
        Err(error) => {
            complain(&error);
            error.exit_code().into()
        }
    }
}

/// Lines of the guest's console shown with an error.
const CONSOLE_LINES: usize = 40;

fn complain(error: &Error) {
    let console = error.console();
    let shown = &console[console.len().saturating_sub(CONSOLE_LINES)..];
    if !shown.is_empty() {
        anstream::eprintln!("the guest's last lines:");
        for line in shown {
            anstream::eprintln!("| {line}");
        }
    }
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    anstream::eprintln!("{style}error:{style:#} {error}");
}
