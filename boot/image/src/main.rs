//! Makes a disk image that boots the kernel: the second door, for machines without `-kernel`.
//!
//! The `bootloader` crate brings the stages that a BIOS or UEFI firmware starts; the scenario
//! goes in as the ramdisk, so the kernel gets the same `BootInfo` as through PVH. Outside the
//! workspace because those stages do not build with stable features only, see `README.md`.

use bootloader::{BiosBoot, BootConfig, UefiBoot};
use bootloader_boot_config::LevelFilter;
use std::{env, error::Error, ffi::OsString, path::PathBuf, process::ExitCode};

const USAGE: &str = "usage: image KERNEL RAMDISK OUT [--bios|--uefi]

KERNEL   the kernel's ELF file
RAMDISK  the scenario, as the runner gives it to QEMU's -initrd
OUT      the disk image to write
--bios   for firmware that starts a boot sector (default)
--uefi   for UEFI";

/// The same as the runner's: bad usage, and a file or disk that does not play along.
const EXIT_USAGE: u8 = 2;
const EXIT_SETUP: u8 = 3;

#[derive(Clone, Copy)]
enum Firmware {
    Bios,
    Uefi,
}

struct Request {
    kernel: PathBuf,
    ramdisk: PathBuf,
    out: PathBuf,
    firmware: Firmware,
}

fn main() -> ExitCode {
    let Some(request) = parse(env::args_os().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(EXIT_USAGE);
    };
    match make(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("image: {error}");
            // What failed, outermost first, down to the system's own words.
            let causes = std::iter::successors(error.source(), |&cause| cause.source());
            causes.for_each(|cause| eprint!(": {cause}"));
            eprintln!();
            ExitCode::from(EXIT_SETUP)
        }
    }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Request> {
    let mut firmware = Firmware::Bios;
    let mut paths: Vec<PathBuf> = Vec::new();
    for argument in arguments {
        match argument.to_str() {
            Some("--bios") => firmware = Firmware::Bios,
            Some("--uefi") => firmware = Firmware::Uefi,
            Some(unknown) if unknown.starts_with('-') => return None,
            _ => paths.push(argument.into()),
        }
    }
    let [kernel, ramdisk, out] = <[PathBuf; 3]>::try_from(paths).ok()?;
    Some(Request { kernel, ramdisk, out, firmware })
}

fn make(request: &Request) -> Result<(), Box<dyn Error>> {
    let Request { kernel, ramdisk, out, firmware } = request;
    // The crate's own errors do not name the file that they are about.
    for input in [kernel, ramdisk] {
        match input.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() > 0 => {}
            Ok(_) => return Err(format!("{} is empty or no file", input.display()).into()),
            Err(error) => return Err(format!("cannot read {}: {error}", input.display()).into()),
        }
    }
    let mut config = BootConfig::default();
    // The serial port belongs to the kernel's records. What the stages draw on the screen takes
    // longer than all they do, so only what stops them is drawn.
    config.serial_logging = false;
    config.log_level = LevelFilter::Error;
    match firmware {
        Firmware::Bios => {
            let mut image = BiosBoot::new(kernel);
            image.set_ramdisk(ramdisk).set_boot_config(&config).create_disk_image(out)?;
        }
        Firmware::Uefi => {
            let mut image = UefiBoot::new(kernel);
            image.set_ramdisk(ramdisk).set_boot_config(&config).create_disk_image(out)?;
        }
    }
    Ok(())
}
