//! The co-simulation engine of powerbond: coupling, stepping, control, estimation and energy monitoring.
//!
//! It reads no file, opens no socket, knows no FMI and, after build, no name. One loop ([`master::Master`]) serves
//! every method; what differs between methods is a small policy behind one of four traits:
//! [`extrapolation::Extrapolation`], [`correction::InputCorrection`], [`estimator::ErrorEstimator`] and
//! [`controller::StepController`]. Who steps when is data ([`network::Schedule`]).
//!
//! Sources of the methods, by the short names that doc comments use:
//!
//! - sadjina2017: Sadjina, Kyllingstad, Skjong, Pedersen, doi 10.1007/s00366-016-0492-8
//! - sadjina2020: Sadjina, Pedersen, doi 10.1007/s00366-019-00783-4
//! - rodriguez2022: Rodríguez, Rodríguez, Spath, Pastorino, Naya, González, Multibody System Dynamics (2022)
//! - arnold2013: Arnold, Clauß, Schierz, doi 10.2478/meceng-2013-0005

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod around;
pub mod bond;
pub mod clock;
pub mod controller;
pub mod correction;
pub mod error;
pub mod estimator;
mod exchange;
pub mod extrapolation;
pub mod history;
pub mod identification;
pub mod jumps;
pub mod master;
#[cfg(feature = "models")]
pub mod models;
pub mod network;
mod numerics;
pub mod observer;
pub mod signal;
mod slopes;
pub mod statistics;
pub mod subsystem;
pub mod suggest;
pub mod tail;
pub mod tape;
pub mod units;
pub mod verdict;
pub mod view;
pub mod watch;
mod workers;
