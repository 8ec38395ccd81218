//! `summary.json` of a run whose process died: completed by its supervisor.

use super::folder::add;
use super::summary::{LOG, SUMMARY};
use super::verdict::{NOT_VERIFIED, not_verified};
use super::verification::FINER_DID_NOT_END;
use crate::Error;
use crate::table::durable;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// How far a run came, as seen from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reached {
    /// The last communication point, in s.
    pub time: f64,
    /// Accepted steps.
    pub steps: u64,
    /// Wall-clock time of the run, in s.
    pub seconds: f64,
}

/// The summary in the folder of a run whose process is gone.
pub struct Posthumous<'a> {
    folder: &'a Path,
    summary: Value,
}

impl<'a> Posthumous<'a> {
    /// Reads the summary.
    pub fn read(folder: &'a Path) -> Result<Self, Error> {
        let path = folder.join(SUMMARY);
        let cannot = |e: io::Error| Error::output(&path, &e);
        let text = std::fs::read_to_string(&path).map_err(cannot)?;
        let summary = serde_json::from_str(&text).map_err(|e| cannot(e.into()))?;
        Ok(Posthumous { folder, summary })
    }

    /// Whether the process did not complete its results: it died, or could not write them.
    pub fn is_open(&self) -> bool {
        self.summary["outcome"] == "running" || self.summary["outcome"] == "failed"
    }

    /// Whether the run itself is complete, and the process died in a finer run that verifies it.
    pub fn is_being_verified(&self) -> bool {
        self.summary["outcome"] == "finished" && self.summary["verification"]["failure"] == FINER_DID_NOT_END
    }

    /// The finer run failed with `error`: what is known of the run itself stays.
    pub fn not_verified(mut self, error: &Error) -> Result<(), Error> {
        let why = format!("{FINER_DID_NOT_END}: {error}");
        if let Some(reasons) = self.summary["verdict"]["reasons"].as_array_mut() {
            for reason in reasons.iter_mut().filter(|reason| reason["code"] == NOT_VERIFIED) {
                reason["text"] = json!(not_verified(&why));
            }
        }
        self.summary["verification"]["failure"] = json!(why);
        self.write()
    }

    /// Whether there is a file of what FMUs said.
    pub fn has_log(&self) -> bool {
        self.summary["files"][LOG.0].is_string()
    }

    /// What FMUs said, in a file of its own.
    pub fn log(&mut self, lines: &[String]) -> Result<(), Error> {
        if !lines.is_empty() {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            self.summary["files"][LOG.0] = json!(add(self.folder, LOG, &text)?);
        }
        Ok(())
    }

    /// The run failed with `error`; what was computed until then stays.
    pub fn fail(mut self, error: &Error, reached: &Reached) -> Result<(), Error> {
        let s = &mut self.summary;
        let text = error.to_string();
        s["outcome"] = json!("failed");
        s["time"]["reached"] = json!(reached.time);
        s["steps"]["accepted"] = json!(reached.steps);
        s["seconds"] = json!(reached.seconds);
        s["failure"] = json!(error.failure());
        s["verdict"]["word"] = json!("unreliable");
        s["verdict"]["text"] = json!("the run failed, and what it had learned about its errors is lost");
        s["verdict"]["reasons"] = json!([{
            "code": "failed", "level": "unreliable", "bond": null, "connection": null, "time": reached.time,
            "value": null, "limit": null, "text": format!("the run failed: {text}"), "advice": "see the error",
        }]);
        s["verdict"]["advice"] = json!([]);
        s["error"] = json!(text);
        self.write()
    }

    /// Results are complete, and something went wrong after that.
    pub fn warn(mut self, text: &str) -> Result<(), Error> {
        match self.summary["warnings"].as_array_mut() {
            Some(warnings) => warnings.push(json!(text)),
            None => self.summary["warnings"] = json!([text]),
        }
        self.write()
    }

    fn write(&self) -> Result<(), Error> {
        let path = self.folder.join(SUMMARY);
        durable::replace(&path, &format!("{:#}\n", self.summary)).map_err(|e| Error::output(&path, &e))
    }
}
