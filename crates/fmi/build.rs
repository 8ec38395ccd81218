//! Compiles the logger that FMI 1 and 2 call with variable arguments, which Rust cannot define.

fn main() {
    println!("cargo::rerun-if-changed=src/logger.c");
    cc::Build::new().file("src/logger.c").warnings(true).compile("powerbond_fmi_logger");
}
