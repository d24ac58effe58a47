//! What users do: writes, zeroes, flushes, up to so many at a time.

use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::client::{Ask, Client};
use crate::daemon::Ended;
use crate::failing::{Plan, When};
use crate::life::{End, Life};

/// What is on its way beside writes, by cookies beyond theirs.
#[derive(Debug, Default)]
struct Asked {
    /// Flushes, and when they were sent.
    flushes: Vec<(u64, u64)>,
    reads: Vec<Read>,
}

/// A read that is on its way.
#[derive(Debug)]
struct Read {
    cookie: u64,
    volume: usize,
    /// First sector.
    first: u32,
    /// When it was sent, by the history's clock.
    sent: u64,
}

impl Asked {
    /// A request is answered with an error; false if it is none of these.
    fn forget(&mut self, cookie: u64) -> bool {
        let before = self.flushes.len() + self.reads.len();
        self.flushes.retain(|(of, _)| *of != cookie);
        self.reads.retain(|read| read.cookie != cookie);
        self.flushes.len() + self.reads.len() < before
    }
}

impl Life {
    /// Writes, zeroes, flushes, until an end.
    pub fn work(&mut self, plan: Option<&mut Plan>) -> Result<End, String> {
        let wanted = 20 + self.chance.scale(280);
        let stops = plan.as_ref().is_some_and(|plan| plan.when == When::Stop);
        let mut plan = plan.filter(|_| !stops);
        if !self.options.lies && !stops && self.chance.one_in(2) {
            self.arm(6 * wanted);
            if plan.is_some() {
                self.power.arm_cut();
            }
        } else if self.options.lies {
            self.power.arm((4 * wanted) as i64, true);
        }
        let settles = self.stack.has_cache() && !self.options.lies && self.chance.one_in(3);
        match self.ask(wanted, settles, plan.as_deref_mut()) {
            Ok(()) if settles => {
                // Until everything that was flushed must be noted.
                self.ended_at = Instant::now();
                std::thread::sleep(self.mark_window() + Duration::from_millis(20));
            }
            Ok(()) => {}
            Err(Ended::Planned) => return Ok(if self.power.is_off() { End::Cut } else { End::Kill }),
            Err(Ended::Wrong(why)) => return Err(why),
        }
        let end = self.chance.weighted(&[(End::Stop, 3), (End::Kill, 3), (End::Cut, 6)]);
        Ok(match plan {
            Some(_) => End::Cut,
            None if stops => End::Stop,
            None => end,
        })
    }

    /// So many requests; where it `settles`, everything is answered and flushed in the end.
    fn ask(&mut self, wanted: u64, settles: bool, mut plan: Option<&mut Plan>) -> Result<(), Ended> {
        let mut clients = self.clients()?;
        let depth = self.chance.scale(16) as usize;
        let flushes = self.chance.pick(&[3, 10, 40, 200_u64]);
        let hot = self.chance.one_in(2);
        let pauses = self.chance.one_in(4);
        let mut asked = Asked::default();
        for number in 0..wanted {
            while clients.iter().map(|client| client.outstanding).sum::<usize>() >= depth {
                self.take(&mut clients, &mut asked)?;
            }
            if let Some(clock) = &mut self.clock {
                clock.may_jump().map_err(Ended::Wrong)?;
            }
            let due = |plan: &&mut &mut Plan| match plan.when {
                When::Work(after) => number >= after.min(wanted / 2),
                When::Start | When::Stop => false,
            };
            if let Some(plan) = plan.as_mut().filter(due) {
                if !self.failing {
                    self.begin_to_fail(plan);
                }
                if plan.chance.one_in(4) {
                    self.read_somewhere(&mut clients, &mut asked, (number, &mut plan.chance))?;
                }
            }
            let volume = self.chance.index(clients.len());
            if self.chance.one_in(flushes) {
                let (sent, cookie) = (self.history.tick(), 1 << 32 | number);
                asked.flushes.push((cookie, sent));
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
                self.copy_devices().map_err(Ended::Wrong)?;
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
                    Err(why) if self.failing => self.tell(format!("a drain failed: {}", why.trim())),
                    Err(why) => return Err(Ended::Wrong(format!("a drain failed: {why}"))),
                }
            }
        }
        // Some are left without an answer.
        let left = if settles || self.chance.one_in(2) { 0 } else { self.chance.index(depth) };
        while clients.iter().map(|client| client.outstanding).sum::<usize>() > left {
            self.take(&mut clients, &mut asked)?;
        }
        if settles {
            let sent = self.history.tick();
            asked.flushes.push((1 << 33, sent));
            clients[0].send(Ask::Flush, false, 1 << 33, (0, 0), &[]).map_err(|why| self.ended(&why))?;
            self.take(&mut clients, &mut asked)?;
        }
        Ok(())
    }

    /// Reads while a disk fails, by a stream of its own.
    fn read_somewhere(
        &mut self,
        clients: &mut [Client],
        asked: &mut Asked,
        (number, chance): (u64, &mut Chance),
    ) -> Result<(), Ended> {
        let volume = chance.index(clients.len());
        let (sector, all) = (u64::from(self.stack.sector), u64::from(self.sectors[volume]));
        let count = chance.scale(32.min(all));
        let first = chance.below(all - count + 1);
        let cookie = 1 << 34 | number;
        let sent = self.history.tick();
        asked.reads.push(Read { cookie, volume, first: first as u32, sent });
        let range = (first * sector, (count * sector) as u32);
        clients[volume].send(Ask::Read, false, cookie, range, &[]).map_err(|why| self.ended(&why))
    }

    /// Takes at least one answer.
    fn take(&mut self, clients: &mut [Client], asked: &mut Asked) -> Result<(), Ended> {
        let mut some = false;
        while !some {
            for client in clients.iter_mut().filter(|client| client.outstanding > 0) {
                let mut next = client.poll().map_err(|why| self.ended(&why))?;
                if next.is_none() && !some {
                    next = Some(client.wait().map_err(|why| self.ended(&why))?);
                }
                while let Some(answer) = next {
                    some = true;
                    if answer.errno != 0 && self.failing && !self.power.has_fired() {
                        self.tally.errors += 1;
                        if !asked.forget(answer.cookie) {
                            self.history.fail(answer.cookie as u32);
                        }
                        next = client.poll().map_err(|why| self.ended(&why))?;
                        continue;
                    }
                    if answer.errno != 0 {
                        // Where devices go first, the daemon may say so before it is killed.
                        let why = format!("a request failed with error {}", answer.errno);
                        return Err(if self.power.has_fired() { Ended::Planned } else { Ended::Wrong(why) });
                    }
                    if let Some(at) = asked.flushes.iter().position(|(cookie, _)| *cookie == answer.cookie) {
                        self.history.flushed(asked.flushes.swap_remove(at).1);
                    } else if let Some(at) = asked.reads.iter().position(|read| read.cookie == answer.cookie)
                    {
                        let Read { volume, first, sent, .. } = asked.reads.swap_remove(at);
                        self.judge_read(volume, first, sent, &answer.data)?;
                    } else {
                        self.history.answer(answer.cookie as u32);
                    }
                    next = client.poll().map_err(|why| self.ended(&why))?;
                }
            }
        }
        Ok(())
    }
}
