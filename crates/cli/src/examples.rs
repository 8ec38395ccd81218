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

/// Of `convert`.
pub const CONVERT: &str = "\
Examples:
  powerbond convert vehicle.ssp vehicle.toml
  powerbond convert quarter-car quarter-car.ssp
  powerbond convert quarter-car osp/quarter-car --to osp

FMUs are packed or copied along; built-in models become FMUs. What a format
cannot say is listed.";

/// Of `report`.
pub const REPORT: &str = "\
Examples:
  powerbond report results/quarter-car
  powerbond report results/coarse results/fine --output both.html
  powerbond report results/quarter-car --reference expected.csv";

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

/// Of `sweep`.
pub const SWEEP: &str = "\
Examples:
  powerbond sweep plan.toml --dry-run
  powerbond sweep plan.toml
  powerbond sweep plan.toml --resume
  powerbond sweep plan.toml --shard $SLURM_ARRAY_TASK_ID/16 --output-dir out
  powerbond sweep merge out

A run that fails, crashes or takes too long is a row of the dataset like others,
and `--resume` repeats it. See docs/sweeps.md for plans.";
