//! What stands below the options in the help of every command.

/// Of `run`.
pub const RUN: &str = "\
Examples:
  powerbond new --example quarter-car
  powerbond run quarter-car
  powerbond run quarter-car --tolerance 1e-4 --report
  powerbond run quarter-car --set chassis.mass=500
  powerbond run quarter-car --step-size 1e-3 --output-dir out
  powerbond run model.fmu --end-time 10 --set mass=1200 --input signals.csv
  powerbond run quarter-car --quiet --max-error 1%

Options override the system file, the file overrides the defaults.
`powerbond --help` lists the exit codes.";

/// Of `new`.
pub const NEW: &str = "\
Examples:
  powerbond new chassis.fmu wheel.fmu
  powerbond new a.fmu a.fmu b.fmu --output pair.toml --yes
  powerbond new --list
  powerbond new --example quarter-car

Connections that are certain (by terminals, names and units) are made, likely
ones are asked about or written as comments. The file runs as it is.";

/// Of `bonds`.
pub const BONDS: &str = "\
Examples:
  powerbond bonds system.toml
  powerbond bonds system.toml --write";

/// Of `inspect`.
pub const INSPECT: &str = "\
Examples:
  powerbond inspect model.fmu
  powerbond inspect model.fmu --all --probe";

/// Of `check`.
pub const CHECK: &str = "\
Examples:
  powerbond check quarter-car
  powerbond check quarter-car --graph system.svg";

/// Of `report`.
pub const REPORT: &str = "\
Examples:
  powerbond report results/quarter-car
  powerbond report results/coarse results/fine --output both.html";

/// Of `compare`.
pub const COMPARE: &str = "\
Examples:
  powerbond compare results/coarse results/fine
  powerbond compare results/quarter-car expected.csv --rtol 0.1%";

/// Of `tune`.
pub const TUNE: &str = "\
Examples:
  powerbond tune oscillator
  powerbond tune oscillator --error 0.1% --budget 20";

/// Of `stability`.
pub const STABILITY: &str = "\
Examples:
  powerbond stability quarter-car
  powerbond stability quarter-car --from 1e-3 --to 0.1 --points 21";

/// Of `bench`.
pub const BENCH: &str = "\
Examples:
  powerbond bench list
  powerbond bench sadjina2017";

/// Of `export`.
pub const EXPORT: &str = "\
Examples:
  powerbond export quarter-car/chassis
  powerbond export quarter-car/chassis --fmi 3 --set mass=500 --output heavy.fmu";

/// Of `methods`.
pub const METHODS: &str = "\
Examples:
  powerbond methods
  powerbond methods ecco
  powerbond methods quarter-car/chassis";

/// Of `completions`.
pub const COMPLETIONS: &str = "\
Examples:
  source <(powerbond completions bash)
  powerbond completions zsh > ~/.zfunc/_powerbond
  powerbond completions fish > ~/.config/fish/completions/powerbond.fish
  powerbond completions powershell >> $PROFILE";

/// Of `man`.
pub const MAN: &str = "\
Examples:
  powerbond man | man -l -
  powerbond man run | man -l -
  powerbond man --output-dir ~/.local/share/man/man1";
