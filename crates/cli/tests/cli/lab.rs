//! A folder of its own for every test, the command in it, and what it left behind.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The quarter car with ECCO, as it stands in the repository.
pub const EXAMPLE: &str = include_str!("../../../../examples/quarter-car/system.toml");

/// The quarter car without `[method]`: constant step, zero-order hold.
pub fn plain() -> &'static str {
    EXAMPLE.split("[method]").next().expect("the example has a method")
}

/// `text` with one part replaced; the part must be there.
pub fn edit(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "no `{old}` in the system file");
    text.replacen(old, new, 1)
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that is removed in the end.
pub struct Lab {
    pub dir: PathBuf,
}

/// A command that has ended.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Lab {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("powerbond-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Lab { dir }
    }

    /// With `system.toml` in it.
    pub fn with(system: &str) -> Self {
        let lab = Lab::new();
        lab.write("system.toml", system);
        lab
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.dir.join(name), text).unwrap();
    }

    /// Puts an FMU of `crates/fmi/tests/fmus` here, as an unpacked folder.
    pub fn place(&self, name: &str, folder: &str) {
        let sources = root().join("crates/fmi/tests/fmus");
        let platform = if name.ends_with('3') { "x86_64-linux" } else { "linux64" };
        let binaries = self.dir.join(folder).join("binaries").join(platform);
        std::fs::create_dir_all(&binaries).unwrap();
        let status = Command::new("cc")
            .args(["-O2", "-shared", "-fPIC", "-o"])
            .arg(binaries.join(format!("{name}.so")))
            .arg(sources.join(format!("{name}.c")))
            .arg("-lm")
            .status()
            .expect("a C compiler called `cc` is needed");
        assert!(status.success(), "{name}.c does not compile");
        let description = std::fs::read(sources.join(format!("{name}.xml"))).unwrap();
        self.write(&format!("{folder}/modelDescription.xml"), description);
    }

    /// The command, ready to be started in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerbond"));
        command.args(arguments).current_dir(&self.dir).stdin(Stdio::null()).env_remove("COLUMNS");
        command
    }

    pub fn powerbond(&self, arguments: &[&str]) -> Ran {
        Ran::new(self.command(arguments).output().unwrap())
    }

    /// `powerbond run system.toml --output-dir out --overwrite` and more.
    pub fn run(&self, options: &[&str]) -> Ran {
        self.powerbond(&[&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat())
    }

    /// As [`Lab::run`]; it must succeed.
    pub fn runs(&self, options: &[&str]) -> &Self {
        let ran = self.run(options);
        assert_eq!(ran.code, 0, "{options:?}: {}", ran.err);
        self
    }

    /// As the last line of `--json` has it.
    pub fn summary_with_folder(&self) -> Value {
        let mut summary = self.summary();
        summary["folder"] = "out".into();
        summary
    }

    pub fn results(&self) -> Csv {
        Csv::read(&self.dir.join("out/results.csv"))
    }

    pub fn energy(&self) -> Csv {
        Csv::read(&self.dir.join("out/energy.csv"))
    }

    pub fn summary(&self) -> Value {
        let text = std::fs::read_to_string(self.dir.join("out/summary.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Ran {
    pub fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().expect("it was not killed");
        Ran { code, out: text(output.stdout), err: text(output.stderr) }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("one JSON document")
    }
}

/// A results file. Read without the library's own reader: it must be plain for any tool.
pub struct Csv {
    pub header: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Csv {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(|line| line.split(','));
        let header: Vec<String> = lines.next().expect("a header").map(str::to_owned).collect();
        let row =
            |fields: std::str::Split<'_, char>| -> Vec<f64> { fields.map(|f| f.parse().unwrap()).collect() };
        let rows: Vec<Vec<f64>> = lines.map(row).collect();
        assert!(rows.iter().all(|r| r.len() == header.len()), "every row is as long as the header");
        Csv { header, rows }
    }

    pub fn column(&self, name: &str) -> Vec<f64> {
        let i = self.header.iter().position(|h| h == name);
        let i = i.unwrap_or_else(|| panic!("no column `{name}` in {:?}", self.header));
        self.rows.iter().map(|row| row[i]).collect()
    }

    /// One row per time: at a discontinuity the limits from the right.
    pub fn right(mut self) -> Self {
        let later: Vec<f64> = self.column("time").split_off(1);
        let mut later = later.into_iter().map(Some).chain([None]);
        let time = self.header.iter().position(|h| h == "time").expect("a time");
        self.rows.retain(|row| later.next().flatten() != Some(row[time]));
        self
    }

    /// The value of `name` in the row at exactly `t`; at a discontinuity the limit from the right.
    pub fn at(&self, t: f64, name: &str) -> f64 {
        let row = self.column("time").iter().rposition(|&x| x == t);
        self.column(name)[row.unwrap_or_else(|| panic!("no row at t = {t}"))]
    }
}

/// `a` is `b` up to a relative error.
#[track_caller]
pub fn close(a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * (1e-12 + b.abs()), "{a} instead of {b}");
}
