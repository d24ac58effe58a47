//! What happens to devices between two cycles, and how the daemon reacts: the advice of every refusal is followed to the letter.

use crate::daemon::Ended;
use crate::daemon::{Daemon, Start};
use crate::device::Role;
use crate::disk::Image;
use crate::kind::{KINDS, Kind};
use crate::life::Life;
use crate::oracle::{Content, Op, Rule, View};
use crate::remedy::{Remedy, Target, advice, for_programs, zeroes};
use crate::tamper::{Tampered, Window, tamper};

/// More advice than this leads nowhere.
const MOST_ADVICE: usize = 10;

/// How a daemon was brought to serve.
#[derive(Debug, Default)]
struct Recovery {
    /// Something was given up, as a refusal advised.
    gave_up: bool,
    /// What that refusal said would be lost at most, bytes.
    most: Option<u64>,
    /// The volumes stand where the backing volumes do. A log that is kept up to its gap is the only place of what it holds.
    in_place: bool,
}

impl Life {
    /// Tampers with devices and sees what comes of it.
    pub fn mishap(&mut self) -> Result<(), String> {
        let saved = self.images()?;
        let Some(done) = self.tamper()? else { return Ok(()) };
        self.tally.tampers += 1;
        self.tell(format!("{}{}", done.what, if done.restorable { "" } else { "; what it was is gone" }));
        if done.kind == Kind::AbsentLeg {
            self.away = Some(done.devices[0]);
        }
        let wrong = |life: &Self, why: String| {
            format!("{why}\n  after {}", life.events.last().cloned().unwrap_or_default())
        };
        let Some(recovery) = self.follow_advice(&done, &saved).map_err(|why| wrong(self, why))? else {
            return self.restore(&saved);
        };
        let view = match self.read_back() {
            Ok(view) => view,
            Err(Ended::Wrong(why)) => return Err(wrong(self, why)),
            Err(Ended::Planned) => return Err("ended without a plan".to_owned()),
        };
        let goes_on = self.judge(&done, &recovery, &view).map_err(|why| wrong(self, why))?;
        if goes_on {
            if self.chance.one_in(2) {
                self.stack.more.clear();
            } else {
                // It is for once.
                self.stack.more.retain(|(_, key), _| key != "discard_cache");
            }
            return Ok(());
        }
        self.daemon.take();
        self.restore(&saved)
    }

    fn tamper(&mut self) -> Result<Option<Tampered>, String> {
        for _ in 0..6 {
            let kinds: Vec<(Kind, u64)> = KINDS
                .into_iter()
                .filter(|(kind, _)| self.options.kinds.is_empty() || self.options.kinds.contains(kind))
                .collect();
            let kind = self.chance.weighted(&kinds);
            let of_leg = matches!(
                kind,
                Kind::StaleLeg | Kind::BlankLeg | Kind::AbsentLeg | Kind::DamagedLegTail | Kind::SwapLegs
            );
            // A leg that is being rebuilt has not got everything: the others are the only ones.
            if of_leg && !self.in_sync {
                continue;
            }
            let mut copies = self.copies.clone();
            if matches!(kind, Kind::StaleBacking | Kind::Snapshot) {
                if self.stack.files {
                    // A copy of a file takes time, and its parts are of different moments.
                    continue;
                }
                // What was there at that moment and was lost since may be there again.
                copies.retain(|copy| {
                    !self.history.ops.iter().any(|op| op.sent < copy.tick && op.died > copy.tick)
                });
            }
            if let Some(done) =
                tamper(&self.stack, kind, &copies, &self.before, self.served, &mut self.chance)?
            {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Everything is as it was before.
    fn restore(&mut self, saved: &[Image]) -> Result<(), String> {
        self.daemon.take();
        self.away = None;
        self.stack.more.clear();
        for (device, image) in self.stack.devices.iter().zip(saved) {
            if let Some(disk) = device.disk() {
                disk.settle();
            }
            device.attach()?;
            device.replace(image)?;
        }
        Ok(())
    }

    /// Starts the daemon, following every advice. None: it refuses for good, and rightly so.
    fn follow_advice(&mut self, done: &Tampered, saved: &[Image]) -> Result<Option<Recovery>, String> {
        // An accepted loss that the settings still name holds again for the same moment.
        let accepts = self.stack.more.keys().any(|(_, key)| key == "accept_loss");
        let gave_up = done.kind == Kind::Snapshot && accepts;
        let mut recovery = Recovery { gave_up, ..Recovery::default() };
        let mut tried: Vec<Remedy> = Vec::new();
        let mut turned = done.turned;
        for _ in 0..MOST_ADVICE {
            let text = match self.start_with(turned)? {
                Start::Serving(daemon) => {
                    self.daemon = Some(daemon);
                    return Ok(Some(recovery));
                }
                Start::Killed => return Err("killed without a plan".to_owned()),
                Start::Refused(text) => text,
            };
            self.settle_disks();
            self.tally.refusals += 1;
            self.tell(format!("refused: {text}"));
            let names: Vec<String> = self.stack.devices.iter().map(|device| device.name.clone()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let conditional = text.contains("nobody needs");
            let mut remedies = for_programs(&self.check()?);
            if remedies.is_empty() {
                remedies = advice(&text, &names, names[done.devices[0]]);
            }
            let next = remedies.into_iter().find(|remedy| {
                let possible = match remedy {
                    Remedy::BringBack(target) => {
                        done.restorable && done.devices.iter().any(|at| self.is(*at, target))
                    }
                    // Its content is needed.
                    Remedy::Wipe(_) => !(conditional && done.restorable),
                    Remedy::GiveUp(_, keys, _) => {
                        !(conditional
                            && done.restorable
                            && keys.iter().any(|(key, _)| key == "discard_cache"))
                    }
                    Remedy::Set(..) => true,
                };
                possible && !tried.contains(remedy)
            });
            let Some(next) = next else {
                if conditional && done.restorable {
                    return Ok(None);
                }
                return Err(format!("the refusal names no way out that works: {text}"));
            };
            match &next {
                Remedy::BringBack(target) => {
                    for at in
                        done.devices.iter().copied().filter(|at| self.is(*at, target)).collect::<Vec<_>>()
                    {
                        self.stack.devices[at].attach()?;
                        self.stack.devices[at].replace(&saved[at])?;
                    }
                    self.away = None;
                    turned = None;
                }
                Remedy::Set(volumes, keys) | Remedy::GiveUp(volumes, keys, _) => {
                    let everywhere = vec![String::new()];
                    for volume in if volumes.is_empty() { &everywhere } else { volumes } {
                        for (key, value) in keys {
                            self.stack.more.insert((volume.clone(), key.clone()), value.clone());
                        }
                    }
                }
                Remedy::Wipe(name) => {
                    let device =
                        self.stack.devices.iter().find(|device| device.name == *name).expect("it was named");
                    let mut image = device.image()?;
                    let size = image.size();
                    for part in zeroes(&text, size, device.role) {
                        image.zero(part.start, part.end - part.start);
                    }
                    device.replace(&image)?;
                }
            }
            if let Remedy::GiveUp(_, _, most) = &next {
                recovery.gave_up = true;
                recovery.in_place = text.contains("would stand where the backing volumes do");
                recovery.most = recovery.most.or(*most);
            }
            self.tell(format!("followed: {next:?}"));
            tried.push(next);
        }
        Err("every advice was followed, and it still refuses".to_owned())
    }

    fn is(&self, at: usize, target: &Target) -> bool {
        let device = &self.stack.devices[at];
        match target {
            Target::Named(name) => {
                match self.stack.devices.iter().find(|device| device.name == *name) {
                    // Volumes of a group go back together, and so do the parts of a volume.
                    Some(named) if named.role != Role::Leg => {
                        (device.role == Role::Cache) == (named.role == Role::Cache)
                    }
                    Some(_) => device.name == *name,
                    None => device.role != Role::Cache,
                }
            }
            Target::AnyCache => device.role == Role::Cache,
            Target::AnyBacking => device.role != Role::Cache,
        }
    }

    /// Compares what is there with what must be. Whether the life continues from there.
    fn judge(&mut self, done: &Tampered, recovery: &Recovery, view: &View) -> Result<bool, String> {
        let of_leg = matches!(
            done.kind,
            Kind::StaleLeg | Kind::BlankLeg | Kind::AbsentLeg | Kind::DamagedLegTail | Kind::SwapLegs
        );
        // Only what was given up because it could not be had any more may be missing.
        let lost = recovery.gave_up && !done.restorable && !of_leg;
        let unreadable = view.iter().flatten().filter(|seen| **seen == Content::Unreadable).count();
        if unreadable > 0 && !done.damage {
            return Err(format!("nothing was damaged, and {unreadable} sectors cannot be read"));
        }
        let copied = matches!(done.window, Window::Copy(_)) && recovery.gave_up;
        // The end of the log may be missing without a word: what was put in place of it is there all the same.
        let silent = matches!(done.window, Window::Marks | Window::Batches);
        let rule = if lost || copied || silent { self.stack.rule_without_cache() } else { self.stack.rule() };
        let (cut, since, ended) = (self.cut, done.since, self.ended_at);
        let (window, has_cache) = (done.window, self.stack.has_cache());
        let (unmarked, unaged) = (self.mark_window(), self.window(self.stack.clean_after));
        let age = move |durable| ended.saturating_duration_since(durable);
        let full = move |op: &Op| match (window, op.durable) {
            (Window::None, durable) => durable.is_some() || !cut && op.answered.is_some(),
            (Window::Marks, Some(durable)) => age(durable) > unmarked,
            (Window::Batches, Some(_)) => op.in_place.is_some(),
            (Window::Copy(moment), Some(_)) if has_cache => op.in_place.is_some_and(|at| at < moment),
            (Window::Copy(moment), Some(durable)) => {
                op.answered.is_some_and(|at| at < moment) || age(durable) > unaged
            }
            (_, None) => false,
        };
        let backing = move |op: &Op| op.in_place.is_some_and(|tick| since.is_none_or(|since| tick < since));
        let required: &dyn Fn(&Op) -> bool = if lost { &backing } else { &full };
        let there = self.history.check(view, rule, required)?;
        let swapped = matches!(done.kind, Kind::SwapCaches | Kind::SwapLegs);
        let goes_on = lost || swapped || of_leg && !done.damage && !done.restorable;
        if !goes_on {
            return Ok(false);
        }
        if let Some(since) = done.since {
            self.copies.retain(|copy| copy.tick <= since);
        }
        let bytes = self.history.settle(view, &there, rule, lost && recovery.in_place);
        self.cut = false;
        if let (true, Some(most), None) = (lost && rule == Rule::Prefix, recovery.most, done.since)
            && bytes > most
        {
            return Err(format!("{bytes} bytes are lost, and the refusal said never more than {most}"));
        }
        // Every leg but one may have to be brought everything.
        self.in_sync = false;
        Ok(true)
    }

    fn settle_disks(&self) {
        for disk in self.stack.devices.iter().filter_map(|device| device.disk()) {
            disk.settle();
        }
    }

    /// Waits until all legs are in sync; whether they are.
    pub fn wait_for_legs(&mut self) -> bool {
        let begun = std::time::Instant::now();
        while begun.elapsed() < std::time::Duration::from_secs(5) {
            match self.daemon.as_ref().map(Daemon::legs_in_sync) {
                Some(Ok(true)) => return true,
                Some(Ok(false)) => std::thread::sleep(std::time::Duration::from_millis(3)),
                Some(Err(_)) | None => return false,
            }
        }
        false
    }
}
