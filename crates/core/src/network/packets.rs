//! Texts and binaries: values that are no numbers, passed on at communication points and held in between.

use super::Member;
use crate::subsystem::SubsystemError;

/// A connection between two variables that are no numbers.
struct Link {
    /// The member and its packet that is read.
    from: (usize, usize),
    /// The member and its packet that is written.
    to: (usize, usize),
    /// What the receiver has, if it is known to have it.
    value: Vec<u8>,
    known: bool,
    fresh: Vec<u8>,
}

/// All connections of texts and binaries. Their buffers grow with what is sent and are reused.
#[derive(Default)]
pub struct Packets {
    links: Vec<Link>,
}

impl Packets {
    /// `(from, to)`, each a member and the index of one of its packets.
    pub(super) fn new(links: Vec<((usize, usize), (usize, usize))>) -> Self {
        let link = |(from, to)| Link { from, to, value: Vec::new(), known: false, fresh: Vec::new() };
        Packets { links: links.into_iter().map(link).collect() }
    }

    /// Reads every source, then writes to the receivers what is new to them; whether anything was. An error comes with
    /// the member that returned it.
    pub(crate) fn pass(&mut self, members: &mut [Member]) -> Result<bool, (usize, SubsystemError)> {
        for link in &mut self.links {
            let (member, packet) = link.from;
            link.fresh.clear();
            let read = members[member].simulator.read_packet(packet, &mut link.fresh);
            read.map_err(|error| (member, error))?;
        }
        let mut changed = false;
        for link in self.links.iter_mut().filter(|link| !link.known || link.fresh != link.value) {
            let (member, packet) = link.to;
            let written = members[member].simulator.write_packet(packet, &link.fresh);
            written.map_err(|error| (member, error))?;
            std::mem::swap(&mut link.value, &mut link.fresh);
            link.known = true;
            changed = true;
        }
        Ok(changed)
    }

    /// What the receivers have, where that is known, in the order of the connections.
    pub(crate) fn snapshot(&self) -> Vec<Option<Vec<u8>>> {
        self.links.iter().map(|link| link.known.then(|| link.value.clone())).collect()
    }

    /// Receivers went back to where they had this.
    pub(crate) fn load_snapshot(&mut self, values: &[Option<Vec<u8>>]) {
        for (link, value) in self.links.iter_mut().zip(values) {
            link.known = value.is_some();
            link.value.clone_from(value.as_ref().unwrap_or(&Vec::new()));
        }
    }

    /// Receivers went back in time: what they have is not known any more.
    pub(crate) fn forget(&mut self) {
        self.links.iter_mut().for_each(|link| link.known = false);
    }

    /// Whether there is nothing to pass on.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
}
