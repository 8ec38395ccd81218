//! FMUs carry the library around: without names of functions that are not called it is a fifth of the size.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all,-Bsymbolic");
    }
}
