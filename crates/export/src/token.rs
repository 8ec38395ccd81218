//! The token of an FMU (`guid` in FMI 2, `instantiationToken` in FMI 3): which model it is, with what it was exported,
//! and a fingerprint of its interface.
//!
//! `quarter-car.wheel~mass~45.0~damper~square-root~2d0f5b0c7a91e6c4`. The library thus needs no file to know what it is,
//! and a description that belongs to other code, or that was edited by hand, is refused. Some importers make a file name
//! of it (libcosim does), so that it has nothing but letters, digits and `-._~`, and a limited length.

use crate::error::Refusal;
use crate::interface::Interface;
use powerbond_core::subsystem::Subsystem;
use powerbond_models::{Domain, ModelSpec, ParameterValue};

impl Interface {
    /// What the FMU is recognised by.
    pub fn token(&self) -> String {
        let settings = self.given.iter().map(|(name, value)| match value {
            ParameterValue::Number(x) => format!("{name}~{x:?}~"),
            ParameterValue::Text(text) => format!("{name}~{text}~"),
        });
        format!("{}~{}{:016x}", plain(self.spec.name), settings.collect::<String>(), self.fingerprint())
    }

    /// Changes with everything that the description says and the library has to keep.
    pub fn fingerprint(&self) -> u64 {
        let mut text = format!("{}\n{:?}\n", self.spec.name, self.info.feed_through);
        for v in &self.info.variables {
            let unit = v.unit.as_ref().map_or("", |u| &u.symbol);
            text += &format!("{} {:?} {unit} {:?}\n", v.name, v.causality, v.start);
        }
        for (p, start) in self.spec.parameters.iter().zip(&self.start) {
            text += &format!("{} {:?} {} {start:?}\n", p.name, p.domain, p.unit);
        }
        text += &format!("{:?} {}\n", self.info.capabilities, self.has_state);
        fnv(text.as_bytes())
    }
}

/// The interface and the model that a token names.
pub fn open(
    models: &'static [&'static ModelSpec],
    token: &str,
) -> Result<(Interface, Box<dyn Subsystem>), Refusal> {
    let refuse = |reason: String| Refusal::Token { token: token.to_owned(), reason };
    let mut parts: Vec<&str> = token.split('~').collect();
    let fingerprint = parts.pop().unwrap_or_default();
    let Some(spec) = models.iter().copied().find(|m| parts.first() == Some(&&*plain(m.name))) else {
        return Err(refuse("missing model name".to_owned()));
    };
    let pairs = parts[1..].chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(refuse("missing value".to_owned()));
    }
    let given: Vec<_> = pairs.map(|pair| (pair[0].to_owned(), read(spec, pair[0], pair[1]))).collect();
    let (interface, model) = Interface::new(spec, &given).map_err(|error| refuse(error.to_string()))?;
    if format!("{:016x}", interface.fingerprint()) != fingerprint {
        return Err(refuse("its description belongs to another version of the model".to_owned()));
    }
    Ok((interface, model))
}

/// The longest token that an FMU is written with: file names end at 255 bytes.
pub const LONGEST: usize = 240;

/// A model's name without `/`.
fn plain(name: &str) -> String {
    name.replace('/', ".")
}

/// Whatever does not fit is left to the model's own check.
fn read(spec: &ModelSpec, name: &str, value: &str) -> ParameterValue {
    let domain = spec.all_parameters().find(|p| p.name == name).map(|p| p.domain);
    match (domain, value.parse()) {
        (Some(Domain::Choice(_)), _) | (_, Err(_)) => ParameterValue::Text(value.to_owned()),
        (_, Ok(x)) => ParameterValue::Number(x),
    }
}

/// FNV-1a, 64 bit.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use powerbond_models::{ALL, find};

    #[test]
    fn a_token_brings_back_what_it_was_made_of() {
        let given = [("mass", "45.5"), ("damper", "square-root"), ("restore", "no"), ("micro_steps", "3")];
        let spec = find("quarter-car/wheel-suspension").expect("a built-in model");
        let given = given.map(|(name, value)| (name.to_owned(), read(spec, name, value)));
        let interface = Interface::new(spec, &given).expect("fitting parameters").0;
        let again = open(ALL, &interface.token()).expect("its own token").0;
        assert_eq!(interface.token(), again.token());
        assert_eq!((interface.start, interface.given), (again.start, again.given));
        assert!(!interface.has_state && !again.has_state);
    }

    #[test]
    fn other_tokens_are_refused() {
        let token = Interface::new(ALL[0], &[]).expect("defaults").0.token();
        assert!(open(ALL, &token).is_ok());
        for wrong in [
            String::new(),
            "~".to_owned(),
            "{8c4e810f-3df3-4a00-8276-176fa3c9f9e0}".to_owned(),
            token.replace("chassis", "chassis2"),
            token.replace("chassis~", "wheel~"),
            token.replace("chassis~", "chassis~mass~400.5~"),
            token.replace("chassis~", "chassis~mass~-1~"),
            token.replace("chassis~", "chassis~weight~1~"),
            token.replace("chassis~", "chassis~mass~"),
            format!("{token}0"),
        ] {
            assert!(matches!(open(ALL, &wrong), Err(Refusal::Token { .. })), "{wrong}");
        }
    }
}
