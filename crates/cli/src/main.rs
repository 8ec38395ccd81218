//! The program `powerbond`.

#![forbid(unsafe_code)]

fn main() {
    powerbond::fmi::process::leave(powerbond_cli::main_with(std::env::args_os().skip(1)))
}
