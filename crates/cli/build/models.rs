//! The library of the built-in models, for `powerbond export` after `cargo install`.
//!
//! Cargo builds the library before the command, which depends on it, and after this script: the script only says where it will be.
//! Release builds alone carry it; others find it in cargo's folders.

use std::env;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

/// Says where `src/export.rs` finds the library.
pub fn embed() {
    println!("cargo::rustc-check-cfg=cfg(embedded_models)");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release")
        && let Some(library) = library()
    {
        // Without a build (`cargo check --release`) nobody makes the file, but the compiler wants one.
        let _exists_already = OpenOptions::new().write(true).create_new(true).open(&library);
        println!("cargo::rustc-env=POWERBOND_MODELS_LIBRARY={}", library.display());
        println!("cargo::rustc-cfg=embedded_models");
    }
}

/// `…/release/deps/libpowerbond_models_fmu.so`, from `…/release/build/powerbond-cli-…/out`.
fn library() -> Option<PathBuf> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let deps = out.ancestors().find(|folder| folder.ends_with("build"))?.parent()?.join("deps");
    let name = match env::var("CARGO_CFG_TARGET_OS").ok()?.as_str() {
        "windows" => "powerbond_models_fmu.dll",
        "macos" => "libpowerbond_models_fmu.dylib",
        _ => "libpowerbond_models_fmu.so",
    };
    Path::is_dir(&deps).then(|| deps.join(name))
}
