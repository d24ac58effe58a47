//! The words of a refusal: what is wrong, and every way out, those first that lose nothing. Each way is typed, so that a
//! program can go it; docs/WRITEBACK.md lists the codes.

use std::fmt::Display;

use fathom_units::Bytes;
use fathom_volume::{Action, Error, ErrorKind, Loses, Moment, Refusal, Remedy, Setting};

use crate::writeback::layout::{on_cache, size_with_ring};
use crate::writeback::lines::LINE;
use crate::writeback::loss::{Loss, TORN};
use crate::writeback::record::Record;
use crate::writeback::superblock::{CacheSuper, OriginSuper};

use super::found_log::{Lost, Older};
use super::opening::Opening;
use super::other_moment::names;

/// Nobody knows how much.
const UNKNOWN: Loses =
    Loses { least_writes: None, least_bytes: None, most_writes: None, most_bytes: None, moment: Moment::One };
/// A batch may be in place in part, and what would complete it is given up.
const UNKNOWN_AND_TORN: Loses = Loses { moment: Moment::Torn, ..UNKNOWN };

impl Opening {
    /// A refusal of that case.
    pub fn refuse(
        &self,
        kind: ErrorKind,
        code: &'static str,
        why: impl Display,
        remedies: Vec<Remedy>,
    ) -> Error {
        let ways: Vec<&str> = remedies.iter().map(|remedy| remedy.text.as_str()).collect();
        let ways =
            if ways.is_empty() { String::new() } else { format!(". Ways out: {}", ways.join("; or ")) };
        Error::new(kind, format!("group `{}`: {why}{ways}", self.parts.name))
            .advising(Refusal { code, remedies })
    }

    /// Changes settings of every volume of the group.
    pub fn set(
        &self,
        keys: Vec<(&'static str, Option<Setting>)>,
        text: String,
        loses: Option<Loses>,
    ) -> Remedy {
        let volumes = self.parts.members.iter().map(|member| member.name.clone()).collect();
        Remedy { action: Action::Set { volumes, keys }, text, loses }
    }

    /// Starts over on a cache device.
    pub fn discard(&self, what: &str, loses: Loses) -> Remedy {
        let keys = discarding(None);
        let text = format!("set {} to lose {what}", words(&keys));
        self.set(keys, text, Some(loses))
    }

    /// Goes on without the log, on volumes as they are.
    pub fn take_as_found(&self, owner: u64) -> Remedy {
        let keys = discarding(Some(owner));
        let text = format!(
            "set {} to go on with what the volumes hold now, without the log and without what was put in place since ({TORN})",
            words(&keys)
        );
        self.set(keys, text, Some(UNKNOWN_AND_TORN))
    }

    /// Keeps superblocks and redo ring on a volume of their own from now on.
    pub fn add_ring(
        &self,
        also: Vec<(&'static str, Option<Setting>)>,
        what: String,
        loses: Option<Loses>,
    ) -> Remedy {
        let volumes = self.parts.members.iter().map(|member| member.name.clone()).collect();
        let bytes = size_with_ring(self.parts.origin_layout.ring_length);
        let also_set = if also.is_empty() { String::new() } else { format!(" and {}", words(&also)) };
        let text = format!(
            "make a volume of at least {:#} and set `ring = \"NAME\"`, its name,{also_set} to {what}",
            Bytes::new(bytes)
        );
        Remedy { action: Action::AddRing { volumes, bytes, keys: also }, text, loses }
    }

    /// The owner's log is missing, or part of it: what is lost by continuing without it.
    pub fn lost_log(&self, origin: &OriginSuper, lost: &Lost, loss: &Loss, foreign: bool) -> Error {
        let owner = origin.owner;
        let kept = match lost.kept.as_ref().map(|kept| kept.scanned.end.seq) {
            Some(seq) if seq > origin.seq => format!(
                "the volumes would stand at write {seq}, with everything that the log holds before that"
            ),
            _ => "the volumes would stand where the backing volumes do".to_owned(),
        };
        let mut keys = vec![("accept_loss", Some(Setting::Count(owner)))];
        let mut also = "";
        if foreign {
            keys.push(("discard_cache", Some(Setting::Flag(true))));
            also = ", and `discard_cache = true` for what else the device may hold,";
        }
        let accept = format!(
            "set `accept_loss = {owner}`{also} in each volume of the group to go on from there without them: {kept}"
        );
        let known = Some(loss.writes).filter(|writes| *writes > 0);
        let loses = Loses {
            least_writes: known,
            moment: Moment::One,
            least_bytes: Some(loss.pending.bytes),
            most_writes: None,
            most_bytes: Some(loss.bounds.bytes.max(loss.pending.bytes)),
        };
        // What else the device holds is not known.
        let loses = if foreign { Loses { most_bytes: None, ..loses } } else { loses };
        let mut remedies = lost.first.clone();
        remedies.push(self.set(keys, accept, Some(loses)));
        let why = &lost.why;
        let why = format!(
            "{why}, and incarnation {owner} holds writes there that the backing volume has not got: {loss}"
        );
        self.refuse(ErrorKind::Gone, lost.code, why, remedies)
    }

    /// The cache is whole and the backing volumes are from before it: nothing may be given up for lost.
    pub fn older_backing(&self, origin: &OriginSuper, older: &Older) -> Error {
        let Older { leg, cache, ends, forward } = older;
        let beyond = self.beyond(origin, None);
        let (device, backing, ring) =
            (self.parts.caches[*leg].name(), self.backing_names(), self.parts.ring.name());
        let own = self.parts.members.iter().any(|member| member.backing.name() == ring);
        // Beside a ring of its own no volume says from which moment it is: the ring does.
        let (what, newest) = if own {
            (backing.clone(), format!("put the newest state of {backing} back, which loses nothing"))
        } else {
            let newest = format!(
                "put the newest state of `{ring}` back, and that of {backing} if it is older, too; nothing is lost"
            );
            (format!("the redo ring `{ring}`"), newest)
        };
        let (seq, lost) = (origin.seq, ends.saturating_sub(origin.seq));
        let mut why = format!(
            "{what} is an older copy: it stands at write {seq} (incarnation {}, epoch {}), and cache device `{device}` \
             belongs to a later moment and knows of {lost} writes after that, up to write {ends} (incarnation {}). The cache \
             is not lost",
            origin.incarnation, origin.epoch, cache.incarnation
        );
        let mut remedies =
            vec![Remedy { action: Action::BringBack { device: ring.to_owned() }, text: newest, loses: None }];
        if forward.as_ref().is_some_and(|log| self.beyond(origin, Some(log)).is_empty()) {
            let text = format!(
                "set `roll_forward = {seq}` in each volume of the group: the log still holds everything since that moment \
                 and brings the backing volumes up to date, which loses nothing"
            );
            remedies.push(self.set(vec![("roll_forward", Some(Setting::Count(seq)))], text, None));
        }
        if !beyond.is_empty() {
            let later = format!(
                ". {} has what came after that moment: to go back to it, put that back to it, too",
                names(&beyond)
            );
            why.push_str(&later);
            return self.refuse(ErrorKind::Misuse, "backing_older", why, remedies);
        }
        let all = if own { "" } else { ", once every volume of the group is from it" };
        let text = format!(
            "set `accept_rollback = {seq}` in each volume of the group to go back to that moment{all}, and lose {lost} writes"
        );
        let moment = if own { Moment::One } else { Moment::OneIfRestored };
        let loses = Loses { least_writes: Some(lost), most_writes: Some(lost), moment, ..UNKNOWN };
        remedies.push(self.set(vec![("accept_rollback", Some(Setting::Count(seq)))], text, Some(loses)));
        self.refuse(ErrorKind::Misuse, "backing_older", why, remedies)
    }

    fn backing_names(&self) -> String {
        let names: Vec<String> =
            self.parts.members.iter().map(|member| format!("`{}`", member.backing.name())).collect();
        match &names[..] {
            [one] => format!("backing volume {one}"),
            names => format!("the group of backing volumes {}", names.join(", ")),
        }
    }

    /// The log has another shape than the settings say, and the device has room for it.
    pub fn other_shape(&self, leg: usize, cache: &CacheSuper) -> Error {
        let device = &self.parts.caches[leg];
        let lines = self.parts.settings.read_cache.unwrap_or(0) / LINE * LINE;
        let shape = |size: u64, lines: u64| {
            let found = on_cache(size, cache.segment, lines);
            size <= device.geometry().size
                && found.is_some_and(|found| (found.start, found.length) == (cache.start, cache.length))
        };
        let whole = cache.start + cache.length;
        let (size, drop_lines) =
            if shape(whole + lines, lines) { (whole + lines, false) } else { (whole, lines > 0) };
        let mut keys =
            vec![("size", Some(Setting::Bytes(size))), ("segment", Some(Setting::Bytes(cache.segment)))];
        let mut text = format!(
            "set `size = \"{:#}\"` and `segment = \"{:#}\"` as it was, and change them after a planned stop",
            Bytes::new(size),
            Bytes::new(cache.segment)
        );
        if drop_lines {
            keys.push(("read_cache", None));
            text.push_str("; leave `read_cache` out until then");
        }
        let why = format!(
            "cache device `{}` holds writes that the backing volume has not got, in a log of another shape",
            device.name()
        );
        self.refuse(ErrorKind::Misuse, "cache_shape", why, vec![self.set(keys, text, None)])
    }

    /// The last cache device cannot be read.
    pub fn failing_cache(&self, leg: usize, error: &Error) -> Error {
        let device = self.parts.caches[leg].name().to_owned();
        let why = format!("cache device `{device}` fails: {error}");
        let text = match error.kind() {
            ErrorKind::Gone => format!("bring `{device}` back, or the server that has it, and start again"),
            _ => format!(
                "copy all that can be read of `{device}` to another device of that size, each byte to its place and zeroes for the \
                 rest (ddrescue does), and name that one in its place: what the log lacks then is told, or that it lacks nothing"
            ),
        };
        let remedy = Remedy { action: Action::BringBack { device }, text, loses: None };
        self.refuse(error.kind(), "cache_failed", why, vec![remedy])
    }

    /// A device that was cut short under a log.
    pub fn too_small(&self, leg: usize, cache: &CacheSuper) -> Lost {
        let device = &self.parts.caches[leg];
        let (name, has, needs) = (device.name(), device.geometry().size, cache.start + cache.length);
        Lost {
            code: "cache_too_small",
            why: format!(
                "cache device `{name}` has {:#} and its log needs {:#}: the device was cut short",
                Bytes::new(has),
                Bytes::new(needs)
            ),
            first: vec![Remedy {
                action: Action::Resize { device: name.to_owned(), bytes: Some(needs) },
                text: format!(
                    "give `{name}` at least {:#} with what it held, or copy what it held to a device of that size",
                    Bytes::new(needs)
                ),
                loses: None,
            }],
            kept: None,
            known: 0,
        }
    }

    /// Damage that an open does not see, unless it is told to accept a loss: it reads what a flush vouches for when it is
    /// needed. `last_flushed`: the last write that the log vouches for.
    pub fn damaged_payload(
        &self,
        leg: usize,
        record: &Record,
        last_flushed: u64,
        origin: &OriginSuper,
    ) -> Error {
        let (at, first, last) = (record.position, record.first_seq, record.last_seq());
        let device = self.parts.caches[leg].name().to_owned();
        let owner = origin.owner;
        let why = format!(
            "the payload at position {at} of the log on `{device}` is damaged: writes {first} to {last} were flushed and are \
             nowhere else; reads of them fail and the group is fenced when it comes to them"
        );
        let back = "bring the cache device back as it was last, which loses nothing".to_owned();
        let accept = format!("set `accept_loss = {owner}` to continue with what precedes write {first}");
        let loses = Loses { least_writes: Some(last_flushed + 1 - first), ..UNKNOWN };
        let remedies = vec![
            Remedy { action: Action::BringBack { device }, text: back, loses: None },
            self.set(vec![("accept_loss", Some(Setting::Count(owner)))], accept, Some(loses)),
        ];
        self.refuse(ErrorKind::Corrupt, "log_damaged", why, remedies)
    }

    /// Another group's writes are in the way.
    pub fn foreign_cache(&self, leg: usize, cache: &CacheSuper, origin: &OriginSuper) -> Error {
        let device = self.parts.caches[leg].name();
        let (code, whose) = if cache.uuid == origin.uuid {
            ("other_copy", "another copy of this group, which went on apart from it")
        } else {
            ("cache_of_another_group", "another group")
        };
        let why = format!(
            "cache device `{device}` holds writes of {whose} (incarnation {}) that are nowhere else",
            cache.incarnation
        );
        let remedies = vec![
            Remedy {
                action: Action::BringBack { device: device.to_owned() },
                text: "give that group its cache back, and this one its own".to_owned(),
                loses: None,
            },
            Remedy {
                action: Action::BringBack { device: self.parts.ring.name().to_owned() },
                text: format!(
                    "bring the volume back as `{}` that belongs to the cache",
                    self.parts.ring.name()
                ),
                loses: None,
            },
            self.discard("the other group's writes", UNKNOWN),
        ];
        self.refuse(ErrorKind::Misuse, code, why, remedies)
    }

    /// A cache device that holds what cannot be told.
    pub fn unknown_cache(&self, leg: usize, what: &str) -> Error {
        let device = self.parts.caches[leg].name();
        let remedies = vec![
            Remedy {
                action: Action::BringBack { device: device.to_owned() },
                text: "name the group's own cache device".to_owned(),
                loses: None,
            },
            self.discard("whatever it holds", UNKNOWN),
        ];
        self.refuse(
            ErrorKind::Misuse,
            "cache_unknown",
            format!("cache device `{device}` holds {what}"),
            remedies,
        )
    }

    /// The backing side's superblock is not where it belongs, and the cache holds writes of the group. `unused`: nothing
    /// else is on the backing volumes. `ended`: its superblocks are where it ended with the size that the cache knows.
    pub fn no_superblock(
        &self,
        leg: usize,
        cache: &CacheSuper,
        found: &str,
        unused: bool,
        ended: bool,
    ) -> Error {
        let (device, ring) = (self.parts.caches[leg].name(), self.parts.ring.name());
        let (has, had) = (self.ring_volume(), cache.ring_volume);
        // A ring of its own has its superblocks in front, whatever its size.
        let on_tail = self.parts.members[0].mark.is_some();
        let resized = on_tail && (ended || (had != has && had > self.parts.ring.geometry().size));
        let mut remedies = Vec::new();
        if resized {
            remedies.push(self.as_large_again(&self.parts.members[0], had));
        }
        let (back, discard, loses) = if cache.dirty {
            let back = format!(
                "bring the volume back to which the writes belong, with the `ring` and the other volumes that its group had, or \
                 restore `{ring}` from a snapshot: what the log still holds can be rolled forward"
            );
            let discard =
                format!("the writes in the cache (a batch may be in place on the volumes in part: {TORN})");
            (back, discard, UNKNOWN_AND_TORN)
        } else {
            (
                format!(
                    "bring back what `{ring}` was, with all volumes below it in their order, and the `ring` and the other \
                     volumes that its group had"
                ),
                "whatever the cache was used with, if this is a new volume".to_owned(),
                UNKNOWN,
            )
        };
        remedies.push(Remedy {
            action: Action::BringBack { device: ring.to_owned() },
            text: back,
            loses: None,
        });
        let keys = discarding(cache.dirty.then_some(cache.incarnation));
        remedies.push(if unused {
            let text = format!("set {} to lose {discard}", words(&keys));
            self.set(keys, text, Some(loses))
        } else {
            self.add_ring(keys, format!("use the volumes as they are and lose {discard}"), Some(loses))
        });
        let was = if resized {
            format!(", which had {:#} and has {:#},", Bytes::new(had), Bytes::new(has))
        } else {
            String::new()
        };
        let knows = if cache.dirty {
            format!("holds writes (incarnation {}) that are nowhere else", cache.incarnation)
        } else if resized {
            "was used with a volume of that other size".to_owned()
        } else {
            format!("was used with a volume that stood at write {}", cache.seq - 1)
        };
        let other = if !resized && had != 0 && had != has {
            format!(". Its superblocks were on a volume of {:#}", Bytes::new(had))
        } else {
            String::new()
        };
        let why = format!("`{ring}`{was} {found}, and cache device `{device}` {knows}{other}");
        let code = if resized { "backing_resized" } else { "backing_unknown" };
        self.refuse(ErrorKind::Misuse, code, why, remedies)
    }

    /// How much of the redo ring's volume the group uses, in bytes.
    pub fn ring_volume(&self) -> u64 {
        self.parts.origin_layout.end()
    }
}

/// What allows to overwrite a cache device; a log that nobody knows to be foreign is given up by its incarnation.
fn discarding(owner: Option<u64>) -> Vec<(&'static str, Option<Setting>)> {
    let mut keys = vec![("discard_cache", Some(Setting::Flag(true)))];
    keys.extend(owner.map(|owner| ("accept_loss", Some(Setting::Count(owner)))));
    keys
}

/// Those settings as they are written.
fn words(keys: &[(&str, Option<Setting>)]) -> String {
    let word = |(key, value): &(&str, Option<Setting>)| match value {
        Some(Setting::Flag(flag)) => format!("`{key} = {flag}`"),
        Some(Setting::Count(count)) => format!("`{key} = {count}`"),
        _ => format!("`{key}`"),
    };
    keys.iter().map(word).collect::<Vec<_>>().join(" and ")
}
