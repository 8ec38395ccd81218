//! The co-simulation engine of powerbond: coupling, stepping, control, estimation and energy monitoring.
//!
//! It reads no file, opens no socket, knows no FMI and, after build, no name. One loop ([`run::Engine`]) serves
//! every method; what differs between methods is a small policy behind one of four traits:
//! [`hold::Hold`], [`correction::InputCorrection`], [`estimator::ErrorEstimator`] and
//! [`controller::StepController`]. Who steps when is data ([`step::Schedule`]).
//!
//! Sources of the methods, by the short names that doc comments use:
//!
//! - sadjina2017: Sadjina, Kyllingstad, Skjong, Pedersen, doi 10.1007/s00366-016-0492-8
//! - sadjina2020: Sadjina, Pedersen, doi 10.1007/s00366-019-00783-4
//! - rodriguez2022: Rodríguez, Rodríguez, Spath, Pastorino, Naya, González, Multibody System Dynamics (2022)
//! - arnold2013: Arnold, Clauß, Schierz, doi 10.2478/meceng-2013-0005

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod subsystem;
pub mod network;
pub mod feed_through;
pub mod time;
pub mod hold;
pub mod correction;
pub mod estimator;
pub mod controller;
pub mod step;
pub mod sampled;
pub mod run;
pub mod energy;
pub mod observe;
pub mod checkpoint;
pub mod error;
pub mod units;
pub mod suggest;
pub mod numerics;
