//! Reading everything, and what that says of writes.

use crate::client::{Ask, Client, Gone};
use crate::daemon::{Daemon, Ended};
use crate::life::Life;
use crate::oracle::{Content, View};

impl Life {
    /// A connection to each export.
    pub fn clients(&mut self) -> Result<Vec<Client>, Ended> {
        let daemon = self.daemon.as_ref().expect("it serves");
        let open = |export: &&str| Client::open(&daemon.socket(), export);
        let clients: std::io::Result<Vec<Client>> = self.stack.exports.iter().map(open).collect();
        match clients {
            Ok(clients) => Ok(clients),
            Err(_) if self.power.has_fired() => Err(Ended::Planned),
            Err(error) => Err(Ended::Wrong(format!("a client cannot connect: {error}"))),
        }
    }

    /// Whether an error is what the planned end does to clients.
    pub fn ended(&self, why: &Gone) -> Ended {
        if self.power.has_fired() {
            return Ended::Planned;
        }
        let log = self.daemon.as_ref().map_or(String::new(), Daemon::log);
        Ended::Wrong(format!("a client's connection ended ({why:?}); the daemon said: {log}"))
    }

    /// Reads everything.
    pub fn read_back(&mut self) -> Result<View, Ended> {
        let mut clients = self.clients()?;
        let sectors: Vec<u32> =
            clients.iter().map(|client| (client.size / u64::from(self.stack.sector)) as u32).collect();
        if self.sectors.is_empty() {
            self.sectors.clone_from(&sectors);
        }
        if self.sectors != sectors {
            return Err(Ended::Wrong(format!("volumes have {sectors:?} sectors and had {:?}", self.sectors)));
        }
        let mut view = Vec::new();
        for (volume, client) in clients.iter_mut().enumerate() {
            view.push(self.read_export(volume, client)?);
        }
        if self.stack.has_mirror() {
            // Another leg may answer the second time.
            for (volume, client) in clients.iter_mut().enumerate() {
                let again = self.read_export(volume, client)?;
                for (at, (first, then)) in view[volume].iter_mut().zip(again).enumerate() {
                    // Damage fences a group when it is found; until then sectors beside it can be read.
                    match (*first, then) {
                        (_, Content::Unreadable) => *first = then,
                        (Content::Unreadable, _) => {}
                        (first, then) if first == then => {}
                        _ => {
                            let why = format!("sector {at} shows {first:?}, and then {then:?}");
                            return Err(Ended::Wrong(why));
                        }
                    }
                }
            }
        }
        Ok(view)
    }

    fn read_export(&mut self, volume: usize, client: &mut Client) -> Result<Vec<Content>, Ended> {
        const STEP: u64 = 256 << 10;
        let sector = self.stack.sector as usize;
        let mut seen = vec![Content::Zero; self.sectors[volume] as usize];
        let mut spare = vec![0; sector];
        let mut ranges: Vec<(u64, u32)> = Vec::new();
        let size = client.size / sector as u64 * sector as u64;
        for at in (0..size).step_by(STEP as usize) {
            ranges.push((at, STEP.min(size - at) as u32));
        }
        let mut next = 0;
        loop {
            while client.outstanding < 4 && next < ranges.len() {
                let sent = client.send(Ask::Read, false, next as u64, ranges[next], &[]);
                sent.map_err(|why| self.ended(&why))?;
                next += 1;
            }
            if client.outstanding == 0 {
                return Ok(seen);
            }
            let answer = client.wait().map_err(|why| self.ended(&why))?;
            let (offset, length) = ranges[answer.cookie as usize];
            let first = (offset / sector as u64) as u32;
            if answer.errno != 0 && self.power.has_fired() {
                return Err(Ended::Planned);
            }
            if answer.errno != 0 && length as usize > sector {
                // Which of them it is.
                for at in (offset..offset + u64::from(length)).step_by(sector) {
                    ranges.push((at, sector as u32));
                }
                continue;
            }
            if answer.errno != 0 {
                seen[first as usize] = Content::Unreadable;
                continue;
            }
            for (at, bytes) in (first..).zip(answer.data.chunks_exact(sector)) {
                let found = self.history.recognise(volume, at, bytes, &mut spare).map_err(Ended::Wrong)?;
                seen[at as usize] = found;
            }
        }
    }

    /// Nothing happened to the devices but ends: what is there must be by the rules, all of it readable.
    pub fn judge_untouched(&mut self, view: &View) -> Result<(), String> {
        let unreadable = view.iter().flatten().filter(|seen| **seen == Content::Unreadable).count();
        if unreadable > 0 {
            return Err(format!("nothing was damaged, and {unreadable} sectors cannot be read"));
        }
        let (rule, cut) = (self.stack.rule(), self.cut);
        let there =
            self.history.check(view, rule, &|op| op.durable.is_some() || !cut && op.answered.is_some())?;
        self.history.settle(view, &there, rule, false);
        self.cut = false;
        Ok(())
    }
}
