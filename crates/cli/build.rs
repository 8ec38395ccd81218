//! Puts into the command what it is to have with it wherever it is installed.

#[path = "build/examples.rs"]
mod examples;
#[path = "build/models.rs"]
mod models;

fn main() {
    for file in ["build.rs", "build/examples.rs", "build/models.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    examples::embed();
    models::embed();
}
