//! Links the kernel by the boot package's linker script, for the bare target only.

fn main() {
    println!("cargo::rerun-if-changed=../boot/kernel.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo::rustc-link-arg-bins=--script={root}/../boot/kernel.ld");
        println!("cargo::rustc-link-arg-bins=--no-pie");
        println!("cargo::rustc-link-arg-bins=--build-id=none");
    }
}
