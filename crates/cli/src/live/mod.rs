//! `run --live`: the report of a run while it goes on, for this machine only.
//!
//! A page that is open gets server-sent events: how far the run is, from the memory that worker and supervisor share, and what is in
//! the files of its results so far. The worker does nothing for it, and nobody reads the files as long as no page is open. Nothing can
//! be changed from outside: there are two addresses, and both are only read.

mod request;

use powerbond::Error;
use powerbond::report::{Live, Report};
use powerbond_worker::Progress;
use request::Asked;
use serde_json::json;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two events, and between two looks at the files.
const EVERY: Duration = Duration::from_millis(500);
/// What is looked at costs no more than this share of the time of the run.
const SHARE: u32 = 100;
/// However long a look takes, the next one comes after this time.
const SELDOM: Duration = Duration::from_secs(10);
/// A page that takes nothing for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(5);
/// At the end of a run open pages get what is left within this time.
const FAREWELL: Duration = Duration::from_secs(3);
/// Connections at a time.
const MOST: usize = 16;

/// Serves the live view of a run.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all connections know.
pub struct Shared {
    token: String,
    port: u16,
    now: Mutex<Now>,
    looking: Mutex<Looking>,
    /// The run has ended.
    ended: Condvar,
    /// Nobody is served any more.
    closed: AtomicBool,
    open: AtomicUsize,
    /// Of these, pages that follow the run.
    pages: AtomicUsize,
}

/// How far the run is.
#[derive(Default)]
struct Now {
    folder: Option<PathBuf>,
    progress: Option<(Progress, Instant)>,
    warning: Option<String>,
    /// The page of the whole run as JSON, once it has ended; none could be made of it.
    end: Option<Option<Arc<str>>>,
}

/// What was read of the files.
#[derive(Default)]
struct Looking {
    live: Option<Live>,
    /// When it was looked the last time, and how long that took.
    looked: Option<(Instant, Duration)>,
    /// How often there was something new, and what it is by now.
    version: u64,
    lines: Option<Arc<str>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Begins to serve; with port 0 the system chooses one.
    pub fn begin(port: u16) -> Result<Self, Error> {
        let cannot =
            |what: &str, e: &dyn std::fmt::Display| Error::input(None, format!("--live: {what}: {e}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(|e| cannot(&format!("cannot listen on 127.0.0.1:{port}"), &e))?;
        let address = listener.local_addr().map_err(|e| cannot("no address", &e))?;
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|e| cannot("no random numbers for the token", &e))?;
        let shared = Arc::new(Shared {
            token: secret.iter().map(|byte| format!("{byte:02x}")).collect(),
            port: address.port(),
            now: Mutex::default(),
            looking: Mutex::default(),
            ended: Condvar::new(),
            closed: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            pages: AtomicUsize::new(0),
        });
        let host = shared.clone();
        let accept = move || {
            for stream in listener.incoming() {
                if host.closed.load(Ordering::Acquire) {
                    break;
                }
                if let Ok(stream) = stream {
                    host.clone().welcome(stream);
                }
            }
        };
        let thread = std::thread::Builder::new().name("live".to_owned()).spawn(accept);
        thread.map_err(|e| cannot("no thread", &e))?;
        Ok(Server { address, shared })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.shared.token)
    }

    /// Who hears of the run.
    pub fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// The run has ended: open pages get the report of what is in its folder, and nobody is served any more.
    pub fn end(self, folder: Option<&Path>) {
        let shared = &self.shared;
        let whole = |folder: &Path| {
            let folders = [folder.to_owned()];
            let (page, _) = Report { folders: &folders, reference: None }.page().ok()?;
            Some(Arc::from(json!(page).to_string()))
        };
        let page = folder.filter(|_| shared.pages.load(Ordering::Acquire) > 0).and_then(whole);
        lock(&shared.now).end = Some(page);
        shared.closed.store(true, Ordering::Release);
        shared.ended.notify_all();
        // Wakes the one that waits for connections.
        let _ = TcpStream::connect(self.address);
        let until = Instant::now() + FAREWELL;
        while shared.pages.load(Ordering::Acquire) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Shared {
    /// How far the run is.
    pub fn progress(&self, progress: &Progress) {
        let mut now = lock(&self.now);
        let begun = match now.progress {
            Some((Progress { run, .. }, begun)) if run == progress.run => begun,
            _ => Instant::now(),
        };
        now.progress = Some((*progress, begun));
    }

    /// Where its results are.
    pub fn folder(&self, folder: &Path) {
        lock(&self.now).folder = Some(folder.to_owned());
    }

    /// What people should know.
    pub fn say(&self, text: &str) {
        lock(&self.now).warning = Some(text.trim().to_owned());
    }

    /// Answers in a thread of its own.
    fn welcome(self: Arc<Self>, stream: TcpStream) {
        if self.open.fetch_add(1, Ordering::AcqRel) >= MOST {
            self.open.fetch_sub(1, Ordering::AcqRel);
            return;
        }
        let guest = self.clone();
        let answer = move || {
            // A page that is closed is gone.
            let _ = guest.answer(stream);
            guest.open.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("live page".to_owned()).spawn(answer).is_err() {
            self.open.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let head = request::read(&mut stream)?;
        let answer = match request::asked(&head, self.port, &self.token) {
            Ok(Asked::Events) => {
                self.pages.fetch_add(1, Ordering::AcqRel);
                let told = self.events(stream);
                self.pages.fetch_sub(1, Ordering::AcqRel);
                return told;
            }
            Ok(Asked::Page) => {
                self.look();
                let page = lock(&self.looking).live.as_ref().and_then(Live::page);
                whole("200 OK", "text/html", &page.unwrap_or_else(|| NOT_YET.to_owned()))
            }
            Err((status, why)) => whole(status, "text/plain", &format!("{why}\n")),
        };
        stream.write_all(answer.as_bytes())?;
        stream.shutdown(Shutdown::Write)
    }

    /// Tells what happens, until the run or the page ends.
    fn events(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.write_all(head("200 OK", "text/event-stream").as_bytes())?;
        let mut seen = 0;
        loop {
            let (progress, end) = {
                let now = lock(&self.now);
                (self.state(&now), now.end.clone())
            };
            if let Some(end) = end {
                if let Some(page) = end {
                    event(&mut stream, "page", &page)?;
                }
                return stream.shutdown(Shutdown::Write);
            }
            if let Some(progress) = progress {
                event(&mut stream, "progress", &progress)?;
            }
            self.look();
            let (version, lines) = {
                let looking = lock(&self.looking);
                (looking.version, looking.lines.clone())
            };
            if let Some(lines) = lines.filter(|_| version != seen) {
                seen = version;
                event(&mut stream, "lines", &lines)?;
            }
            let now = lock(&self.now);
            let waited = self.ended.wait_timeout_while(now, EVERY, |now| now.end.is_none());
            drop(waited);
        }
    }

    /// How far the run is, as JSON.
    fn state(&self, now: &Now) -> Option<String> {
        let (Progress { run, start, stop, time, step_size, norm, steps, .. }, begun) = now.progress?;
        let done = ((time - start) / (stop - start)).clamp(0.0, 1.0);
        let state = json!({
            "run": run, "time": time, "stop": stop, "done": done, "steps": steps, "step_size": step_size, "error": norm,
            "seconds": begun.elapsed().as_secs_f64(), "warning": now.warning,
        });
        Some(state.to_string())
    }

    /// Reads what is new in the files, for all pages together, and not more often than now and then.
    fn look(&self) {
        let folder = lock(&self.now).folder.clone();
        let mut looking = lock(&self.looking);
        let is_recent =
            |(end, took): (Instant, Duration)| end.elapsed() < (took * SHARE).clamp(EVERY / 2, SELDOM);
        if looking.looked.is_some_and(is_recent) {
            return;
        }
        let Some(folder) = folder else { return };
        let begun = Instant::now();
        let live = looking.live.get_or_insert_with(|| Live::new(&folder));
        // What cannot be read now may be there the next time; in the end the report says what is wrong.
        let new = live.look().unwrap_or(false).then(|| live.lines()).flatten();
        if let Some(lines) = new {
            looking.lines = Some(lines.into());
            looking.version += 1;
        }
        looking.looked = Some((Instant::now(), begun.elapsed()));
    }
}

const NOT_YET: &str = "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\"><title>powerbond</title>\
    <p>The run has not begun: FMUs are loaded and initialized. This page looks again every second.</p>\n";

fn head(status: &str, kind: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n"
    )
}

fn whole(status: &str, kind: &str, text: &str) -> String {
    head(status, kind) + text
}

/// `data` is one line.
fn event(stream: &mut TcpStream, name: &str, data: &str) -> io::Result<()> {
    stream.write_all(format!("event: {name}\ndata: {data}\n\n").as_bytes())
}
