//! Subsystems on other hosts: the same bits through a stand-in for `ssh`, and every way to lose a connection.

#![cfg(target_os = "linux")]

use crate::lab::{Lab, Ran};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// x' = y, y' = −x; `b` is elsewhere.
const RING: &str = r#"[simulation]
stop = 1.0
step = 0.01
[subsystems.a]
fmu = "a"
parameters = { x0 = 1.0 }
[subsystems.b]
fmu = "b"
host = "user@far"
[[connections]]
from = "a.x"
to = "b.u"
convert_units = false
[[connections]]
from = "b.x"
to = "a.u"
gain = -1.0
convert_units = false
"#;

/// Instead of ssh: `sh` runs what follows the host, as a shell there would. What is done to it is in the environment.
const STAND_IN: &str = r#"
host=$1; shift
echo "connecting to $host" >&2
[ -n "$NOISE" ] && printf 'Welcome to %s\nLast login: never\n' "$host"
[ -n "$REFUSES" ] && { echo "Permission denied (publickey)." >&2; exit 255; }
[ -n "$GARBLES" ] && { printf "$GARBLES"; exit 0; }
# After so many bytes of a run nothing but garbage comes.
[ -n "$BREAKS" ] && { sh -c "$*" | { head -c "$BREAKS"; yes garbage | head -n 1000; sleep 5; }; exit; }
exec sh -c "$*"
"#;

fn lab(system: &str, heartbeat: f64) -> Lab {
    let program = env!("CARGO_BIN_EXE_powerbond");
    let lab = Lab::with(&format!(
        "{system}[remote]\ncommand = [\"sh\", \"ssh.sh\"]\nprogram = '{program}'\nheartbeat = {heartbeat}\n"
    ));
    lab.write("ssh.sh", STAND_IN);
    lab.place("integrator2", "a");
    lab.place("integrator2", "b");
    lab
}

fn run(lab: &Lab, options: &[&str], environment: &[(&str, &str)]) -> (Ran, Duration) {
    let arguments = [&["run", "system.toml", "--output-dir", "out", "--overwrite"], options].concat();
    let mut command = lab.command(&arguments);
    command.env("POWERBOND_CACHE", lab.dir.join("cache")).envs(environment.iter().copied());
    let begun = Instant::now();
    (Ran::new(command.output().unwrap()), begun.elapsed())
}

fn copies(lab: &Lab) -> usize {
    std::fs::read_dir(lab.dir.join("cache/fmus")).map_or(0, |folder| folder.count())
}

#[test]
fn a_subsystem_on_another_host_is_the_same_and_is_copied_once() {
    let lab = lab(RING, 10.0);
    let read = || ["results.csv", "energy.csv"].map(|t| std::fs::read(lab.dir.join("out").join(t)).unwrap());
    let noise = [("NOISE", "1")];
    let mut found = Vec::new();
    for environment in [&[] as &[_], &noise] {
        let (ran, _) = run(&lab, &[], environment);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(copies(&lab), 1);
        assert_eq!(lab.summary()["config"]["processes"]["b"]["host"], "user@far");
        found.push(read());
    }
    let (ran, _) = run(&lab, &["--tolerance", "1e-4"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let auto = read();
    lab.write("system.toml", RING.replace("host = \"user@far\"\n", ""));
    for options in [&[] as &[_], &["--tolerance", "1e-4"]] {
        let (ran, _) = run(&lab, options, &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        found.push(read());
    }
    assert!(found[0] == found[1] && found[0] == found[2] && auto == found[3]);
}

#[test]
fn a_host_that_is_not_reached_is_told_with_what_ssh_said() {
    let check = |environment: &[(&str, &str)], code: i32, words: &[&str]| {
        let (ran, seconds) = run(&lab(RING, 1.0), &[], environment);
        assert_eq!(ran.code, code, "{}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "`{word}` in\n{}", ran.err);
        }
        assert!(seconds < Duration::from_secs(10), "{seconds:?}");
    };
    check(&[("REFUSES", "1")], 9, &["`b`: user@far cannot be reached", "Permission denied (publickey)"]);
    check(&[("GARBLES", "Segmentation fault\n")], 9, &["is not powerbond: \"Segmentation fault\""]);
    check(&[("GARBLES", "\\0powerbond relay 0.0.0 7\n")], 3, &["another version of powerbond, 0.0.0 7"]);
    check(&[("BREAKS", "2000")], 9, &["user@far sent what is not a message"]);
    let mut wrong = lab(RING, 1.0);
    let text = std::fs::read_to_string(wrong.dir.join("system.toml")).unwrap();
    let program = env!("CARGO_BIN_EXE_powerbond");
    wrong.write("system.toml", text.replace(program, "/no/powerbond"));
    let (ran, _) = run(&wrong, &[], &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("user@far has no command `/no/powerbond`"), "{}", ran.err);
    wrong = lab(RING, 1.0);
    wrong.write("system.toml", text.replace("\"sh\", \"ssh.sh\"", "\"no-such-ssh\""));
    let (ran, _) = run(&wrong, &[], &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("system.toml:7:") && ran.err.contains("`no-such-ssh`"), "{}", ran.err);
}

/// The trap elsewhere: what it does to its process there is told here, and a connection that goes is exit code 9.
fn trap(fault: u8, place: u8, heartbeat: f64) -> Lab {
    let system = RING.replace("step = 0.01", "step = 0.1").replace(
        "fmu = \"b\"",
        &format!("fmu = \"trap\"\nparameters = {{ fault = {fault}, place = {place} }}"),
    );
    let lab = lab(&system, heartbeat);
    lab.place("trap2", "trap");
    lab
}

#[test]
fn what_goes_wrong_there_is_told_as_if_it_were_here() {
    let check = |lab: &Lab, options: &[&str], code: i32, words: &[&str], rows: usize| {
        let (ran, seconds) = run(lab, options, &[]);
        assert_eq!(ran.code, code, "{}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "`{word}` in\n{}", ran.err);
        }
        assert!(seconds < Duration::from_secs(5), "{seconds:?}");
        assert_eq!(lab.results().column("time").len(), rows);
    };
    check(&trap(1, 2, 5.0), &[], 5, &["`b`: `fmi2DoStep` at t = 0.5 s crashed with SIGSEGV"], 6);
    check(
        &trap(5, 2, 5.0),
        &[],
        5,
        &["`b`: `fmi2DoStep` at t = 0.5 s ended the process with exit code 0"],
        6,
    );
    check(
        &trap(2, 4, 5.0),
        &[],
        0,
        &["warning: b: terminating the simulation failed: `fmi2FreeInstance`"],
        11,
    );
    let hung = ["`b`: `fmi2DoStep` at t = 0.5 s takes longer than the 1 s of --call-timeout"];
    check(&trap(9, 2, 1.0), &["--call-timeout", "1"], 6, &hung, 6);
}

/// The run waits in a step of `b` at 0.5 s; `then` happens to the relay.
fn lose(heartbeat: f64, signal: &str) -> (Lab, Ran, Duration) {
    let lab = trap(9, 2, heartbeat);
    let mut command = lab.command(&["run", "system.toml", "--output-dir", "out"]);
    command.env("POWERBOND_CACHE", lab.dir.join("cache"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    let words = |id: &str| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let folder = |id: &str| std::fs::read_link(format!("/proc/{id}/cwd")).ok();
    let relay = || {
        let ids = std::fs::read_dir("/proc").unwrap().flatten();
        let mut ids = ids.filter_map(|entry| entry.file_name().into_string().ok());
        let here = lab.dir.canonicalize().ok();
        // Not the shell before it, which has its words, too.
        let is_relay = |line: &[u8]| {
            let mut words = line.split(|b| *b == 0);
            words.next().is_some_and(|program| program.ends_with(b"powerbond"))
                && words.next() == Some(b"relay")
        };
        ids.find(|id| is_relay(&words(id)) && folder(id) == here)
    };
    let begun = Instant::now();
    let mut id = relay();
    while id.is_none() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
        id = relay();
    }
    std::thread::sleep(Duration::from_millis(700));
    let lost = Instant::now();
    let id = id.expect("a relay");
    Command::new("kill").args([format!("-{signal}"), id.clone()]).status().unwrap();
    let ran = Ran::new(run.wait_with_output().unwrap());
    let seconds = lost.elapsed();
    if signal == "STOP" {
        // It may be gone with its group.
        let _ = Command::new("kill").args(["-KILL", &id]).stderr(Stdio::null()).status();
    }
    (lab, ran, seconds)
}

#[test]
fn a_lost_connection_ends_the_run_in_time_and_rows_are_kept() {
    for (signal, words) in
        [("KILL", "the connection to user@far was lost"), ("STOP", "nothing was heard from user@far for 1 s")]
    {
        let (lab, ran, seconds) = lose(1.0, signal);
        assert_eq!(ran.code, 9, "{signal}: {}", ran.err);
        assert!(ran.err.contains("`b`: ") && ran.err.contains(words), "{signal}: {}", ran.err);
        assert!(ran.err.contains("never used in its place"), "{signal}: {}", ran.err);
        // Heartbeat and a second, and another one for a busy machine.
        assert!(seconds < Duration::from_secs(3), "{signal}: {seconds:?}");
        assert_eq!(lab.results().column("time").len(), 6);
        assert_eq!(lab.summary()["outcome"], "failed");
        assert_eq!(lab.summary()["failure"]["subsystem"], "b");
    }
}

#[test]
fn remote_settings_are_checked_with_their_line() {
    let check = |remote: &str, wanted: &str| {
        let lab = Lab::with(&format!("{RING}[remote]\n{remote}\n"));
        lab.place("integrator2", "a");
        lab.place("integrator2", "b");
        let ran = lab.powerbond(&["check", "system.toml"]);
        assert_eq!(ran.code, 3, "{remote}: {}", ran.err);
        assert!(ran.err.contains("system.toml:20:") && ran.err.contains(wanted), "{remote}: {}", ran.err);
    };
    check("hartbeat = 1.0", "Did you mean `heartbeat`?");
    check("heartbeat = 0.0", "from 0.1");
    check("command = []", "a program");
    check("program = \"\"", "`powerbond`");
}

/// Two hosts with a wire between them: `ssh` starts in one, `sshd` listens in the other. All of it is gone with this.
struct Network {
    names: [String; 2],
    sshd: Option<std::process::Child>,
}

impl Network {
    /// Nothing, and why, where rights or tools are missing.
    fn new(lab: &Lab) -> Result<Self, String> {
        for tool in ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"] {
            if !std::path::Path::new(tool).exists() {
                return Err(format!("{tool} is missing"));
            }
        }
        let names = ["near", "far"].map(|side| format!("powerbond-{}-{side}", std::process::id()));
        let mut network = Network { names: names.clone(), sshd: None };
        let [near, far] = &names;
        let file = |name: &str| lab.dir.join(name).display().to_string();
        let run = |words: &str| {
            let mut words = words.split(' ');
            let output = Command::new(words.next().unwrap()).args(words.clone()).output();
            let output = output.map_err(|error| error.to_string())?;
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if output.status.success() {
                Ok(())
            } else {
                Err(format!("{}: {said}", words.collect::<String>()))
            }
        };
        run(&format!("ip netns add {near}"))?;
        run(&format!("ip netns add {far}"))?;
        run(&format!("ip link add wire netns {near} type veth peer name wire netns {far}"))?;
        for (name, address) in [(near, "10.77.0.1/30"), (far, "10.77.0.2/30")] {
            run(&format!("ip -n {name} address add {address} dev wire"))?;
            run(&format!("ip -n {name} link set wire up"))?;
        }
        for key in ["host_key", "user_key"] {
            let made =
                Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &file(key)]).status();
            made.map_err(|error| error.to_string())?;
        }
        let config = format!(
            "ListenAddress 10.77.0.2\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PermitRootLogin yes\nPasswordAuthentication no\n",
            file("host_key"),
            file("user_key.pub")
        );
        lab.write("sshd_config", config);
        // Where it drops its rights.
        std::fs::create_dir_all("/run/sshd").map_err(|error| error.to_string())?;
        let mut sshd = Command::new("ip");
        sshd.args(["netns", "exec", far, "/usr/sbin/sshd", "-D", "-e", "-f", &file("sshd_config")]);
        let log = std::fs::File::create(lab.dir.join("sshd.log")).map_err(|error| error.to_string())?;
        network.sshd = Some(sshd.stderr(log).spawn().map_err(|error| error.to_string())?);
        let begun = Instant::now();
        let is_up =
            || std::fs::read_to_string(lab.dir.join("sshd.log")).unwrap_or_default().contains("listening");
        while !is_up() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("sshd does not listen".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(network)
    }

    /// The system with its host in the other namespace.
    fn system(&self, lab: &Lab, system: &str, heartbeat: f64) -> String {
        let file = |name: &str| lab.dir.join(name).display().to_string();
        let (key, known, cache) = (file("user_key"), file("known_hosts"), file("cache"));
        let program = env!("CARGO_BIN_EXE_powerbond");
        let near = &self.names[0];
        format!(
            "{}[remote]\ncommand = [\"ip\", \"netns\", \"exec\", \"{near}\", \"ssh\", \"-F\", \"/dev/null\", \"-i\", \
             \"{key}\", \"-o\", \"BatchMode=yes\", \"-o\", \"StrictHostKeyChecking=accept-new\", \"-o\", \
             \"UserKnownHostsFile={known}\", \"-o\", \"IdentitiesOnly=yes\"]\nprogram = \"POWERBOND_CACHE={cache} \
             {program}\"\nheartbeat = {heartbeat}\n",
            system.replace("user@far", "root@10.77.0.2")
        )
    }

    /// Cuts the wire.
    fn cut(&self) {
        let _ = Command::new("ip").args(["-n", &self.names[1], "link", "set", "wire", "down"]).status();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(sshd) = &mut self.sshd {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).stderr(Stdio::null()).status();
        }
    }
}

/// The real thing: two network namespaces and an sshd. It needs to be root, `ip` and OpenSSH's server.
#[test]
fn through_ssh_between_two_hosts_results_are_the_same_and_a_cut_wire_is_noticed() {
    let lab = lab(RING, 10.0);
    lab.place("trap2", "trap");
    let network = match Network::new(&lab) {
        Ok(network) => network,
        Err(why) => {
            // Past the capture of the test: it is seen also where all tests pass.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: subsystems through a real ssh: {why}");
            return;
        }
    };
    let read = || ["results.csv", "energy.csv"].map(|t| std::fs::read(lab.dir.join("out").join(t)).unwrap());
    lab.write("system.toml", RING.replace("host = \"user@far\"\n", ""));
    let (ran, _) = run(&lab, &[], &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let here = read();
    lab.write("system.toml", network.system(&lab, RING, 10.0));
    let (ran, _) = run(&lab, &[], &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(read() == here);
    let hung = RING.replace("fmu = \"b\"", "fmu = \"trap\"\nparameters = { fault = 9, place = 2 }");
    lab.write("system.toml", network.system(&lab, &hung, 2.0));
    let mut command = lab.command(&["run", "system.toml", "--output-dir", "cut"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !lab.dir.join("cut/results.csv").exists() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(700));
    network.cut();
    let cut = Instant::now();
    let ran = Ran::new(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 9, "{}", ran.err);
    assert!(
        ran.err.contains("`b`: `fmi2DoStep` at t = 0.5 s was under way when nothing was heard"),
        "{}",
        ran.err
    );
    assert!(cut.elapsed() < Duration::from_secs(4), "{:?}", cut.elapsed());
    assert_eq!(crate::lab::Csv::read(&lab.dir.join("cut/results.csv")).column("time").len(), 51);
}
