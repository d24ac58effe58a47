//! What users do: writes, zeroes, flushes, up to so many at a time.

use std::time::{Duration, Instant};

use crate::client::{Ask, Client};
use crate::daemon::Ended;
use crate::life::{End, Life};

impl Life {
    /// Writes, zeroes, flushes, until an end.
    pub fn work(&mut self) -> Result<End, String> {
        let wanted = 20 + self.chance.scale(280);
        if !self.wanted.lies && self.chance.one_in(2) {
            self.arm(6 * wanted);
        } else if self.wanted.lies {
            self.power.arm((4 * wanted) as i64, true);
        }
        let settles = self.stack.has_cache() && !self.wanted.lies && self.chance.one_in(3);
        match self.ask(wanted, settles) {
            Ok(()) if settles => {
                // Until everything that was flushed must be noted.
                self.ended_at = Instant::now();
                std::thread::sleep(self.mark_window() + Duration::from_millis(20));
            }
            Ok(()) => {}
            Err(Ended::Planned) => return Ok(if self.power.is_off() { End::Cut } else { End::Kill }),
            Err(Ended::Wrong(why)) => return Err(why),
        }
        Ok(self.chance.weighted(&[(End::Stop, 3), (End::Kill, 3), (End::Cut, 6)]))
    }

    /// So many requests; where it `settles`, everything is answered and flushed in the end.
    fn ask(&mut self, wanted: u64, settles: bool) -> Result<(), Ended> {
        let mut clients = self.clients()?;
        let depth = self.chance.scale(16) as usize;
        let flushes = self.chance.pick(&[3, 10, 40, 200_u64]);
        let hot = self.chance.one_in(2);
        let pauses = self.chance.one_in(4);
        // Sent flushes and when, by cookie beyond all writes.
        let mut flushing: Vec<(u64, u64)> = Vec::new();
        for number in 0..wanted {
            while clients.iter().map(|client| client.outstanding).sum::<usize>() >= depth {
                self.take(&mut clients, &mut flushing)?;
            }
            if let Some(clock) = &mut self.clock {
                clock.may_jump().map_err(Ended::Wrong)?;
            }
            let volume = self.chance.index(clients.len());
            if self.chance.one_in(flushes) {
                let (sent, cookie) = (self.history.tick(), 1 << 32 | number);
                flushing.push((cookie, sent));
                clients[volume]
                    .send(Ask::Flush, false, cookie, (0, 0), &[])
                    .map_err(|why| self.ended(&why))?;
                self.tally.flushes += 1;
                continue;
            }
            let sector = u64::from(self.stack.sector);
            let all = u64::from(self.sectors[volume]);
            let most = (self.stack.atomic / sector).min(all / 4).max(1);
            let count = if self.stack.large {
                self.chance.range(most / 2, most + 1)
            } else {
                self.chance.scale(most)
            };
            let within = if hot { (all / 16).max(count + 1) } else { all };
            let first = self.chance.below(within - count + 1);
            let kind = self.chance.weighted(&[(Ask::Write, 20), (Ask::Trim, 1), (Ask::WriteZeroes, 1)]);
            let fua = self.chance.one_in(2 * flushes);
            let op = self.history.send(volume, first as u32, count as u32, kind != Ask::Write, fua);
            let payload = if kind == Ask::Write { self.history.payload(op) } else { Vec::new() };
            let range = (first * sector, (count * sector) as u32);
            clients[volume]
                .send(kind, fua, u64::from(op), range, &payload)
                .map_err(|why| self.ended(&why))?;
            self.tally.writes += 1;
            if self.chance.one_in(120) {
                self.photograph().map_err(Ended::Wrong)?;
            }
            if pauses && self.chance.one_in(60) {
                std::thread::sleep(Duration::from_millis(self.chance.scale(30)));
            }
            if self.stack.has_cache() && self.chance.one_in(600) {
                let sent = self.history.tick();
                match self.daemon.as_ref().expect("it serves").drain() {
                    Ok(()) => {
                        self.history.drained(sent);
                        self.tell(format!("drained what was answered before moment {sent}"));
                    }
                    Err(_) if self.power.has_fired() => return Err(Ended::Planned),
                    Err(why) => return Err(Ended::Wrong(format!("a drain failed: {why}"))),
                }
            }
        }
        // Some are left without an answer.
        let left = if settles || self.chance.one_in(2) { 0 } else { self.chance.index(depth) };
        while clients.iter().map(|client| client.outstanding).sum::<usize>() > left {
            self.take(&mut clients, &mut flushing)?;
        }
        if settles {
            let sent = self.history.tick();
            flushing.push((1 << 33, sent));
            clients[0].send(Ask::Flush, false, 1 << 33, (0, 0), &[]).map_err(|why| self.ended(&why))?;
            self.take(&mut clients, &mut flushing)?;
        }
        Ok(())
    }

    /// Takes at least one answer.
    fn take(&mut self, clients: &mut [Client], flushing: &mut Vec<(u64, u64)>) -> Result<(), Ended> {
        let mut some = false;
        while !some {
            for client in clients.iter_mut().filter(|client| client.outstanding > 0) {
                let mut next = client.poll().map_err(|why| self.ended(&why))?;
                if next.is_none() && !some {
                    next = Some(client.wait().map_err(|why| self.ended(&why))?);
                }
                while let Some(answer) = next {
                    some = true;
                    if answer.errno != 0 {
                        // Where devices go first, the daemon may say so before it is killed.
                        let why = format!("a request failed with error {}", answer.errno);
                        return Err(if self.power.has_fired() { Ended::Planned } else { Ended::Wrong(why) });
                    }
                    match flushing.iter().position(|(cookie, _)| *cookie == answer.cookie) {
                        Some(at) => self.history.flushed(flushing.swap_remove(at).1),
                        None => self.history.answer(answer.cookie as u32),
                    }
                    next = client.poll().map_err(|why| self.ended(&why))?;
                }
            }
        }
        Ok(())
    }
}
