//! What happens to devices between two starts: they are lost, replaced, restored, resized, swapped and damaged.

use crate::chance::Chance;
use crate::damage::{flip, garbage, hole, last_writes};
use crate::device::Role;
use crate::disk::{BLOCK, Image};
use crate::kind::Kind;
use crate::stack::{Shape, Stack};

/// What may be missing without a word, if the only cache device is to blame (docs/WRITEBACK.md, "The window").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Nothing.
    None,
    /// What was flushed just before the end.
    Marks,
    /// What no batch has taken: the device is put back to a moment of the same incarnation.
    Batches,
    /// What came after this moment and within `clean_after` before the end: the first leg is put back to it, and nothing was
    /// noted on the legs since (docs/MIRROR.md, "What remains").
    Copy(u64),
}

/// A copy of all devices at one moment.
#[derive(Debug, Clone)]
pub struct DeviceCopy {
    /// By the history's clock.
    pub tick: u64,
    /// By device.
    pub images: Vec<Image>,
}

/// What was done to the devices.
#[derive(Debug)]
pub struct Tampered {
    pub kind: Kind,
    /// A sentence for the report.
    pub what: String,
    /// The devices that are not what they were.
    pub devices: Vec<usize>,
    /// Whether what they held is still available: then nothing may be lost, whatever is advised.
    pub restorable: bool,
    /// Bytes may be unreadable, and the last writes look as if they had never been.
    pub damage: bool,
    /// What may be missing without a word.
    pub window: Window,
    /// Devices that the settings must swap.
    pub turned: Option<(usize, usize)>,
    /// The moment that backing devices are at now.
    pub since: Option<u64>,
}

/// Tampers with the devices of a stack that nobody has open; `before` is what they held when the
/// daemon started last, which was at `served`. None if there is nothing to tamper with in that way.
pub fn tamper(
    stack: &Stack,
    kind: Kind,
    copies: &[DeviceCopy],
    before: &[Image],
    served: u64,
    chance: &mut Chance,
) -> Result<Option<Tampered>, String> {
    let caches = stack.having(&[Role::Cache]);
    let legs = stack.having(&[Role::Leg]);
    let behind = stack.having(&[Role::Backing, Role::Ring, Role::Member, Role::Leg]);
    let plain = stack.having(&[Role::Backing]);
    let members = stack.members();
    let mut done = Tampered {
        kind,
        what: String::new(),
        devices: Vec::new(),
        restorable: chance.one_in(2),
        damage: false,
        window: Window::None,
        turned: None,
        since: None,
    };
    let one = |chance: &mut Chance, of: &[usize]| {
        if of.is_empty() { None } else { Some(of[chance.index(of.len())]) }
    };
    let copy = (!copies.is_empty()).then(|| &copies[chance.index(copies.len())]);
    let two_caches = caches.len() > 1;
    // Which device, if any.
    let target = match kind {
        Kind::LoseCache if two_caches && chance.one_in(2) => {
            done.devices.clone_from(&caches);
            Some(caches[0])
        }
        Kind::LoseCache
        | Kind::StaleCache
        | Kind::HoleInCache
        | Kind::FlipInCache
        | Kind::GarbageSuperblocks
        | Kind::HalveCache
        | Kind::DoubleCache
        | Kind::UsedCache => one(chance, &caches),
        Kind::StaleBacking | Kind::Snapshot => (!caches.is_empty()).then(|| behind[0]),
        Kind::DamagedTail => match stack.shape {
            Shape::OwnRing => stack.having(&[Role::Ring]).first().copied(),
            _ => plain.first().copied(),
        },
        Kind::HalveBacking | Kind::DoubleBacking => one(chance, &behind),
        Kind::SwapCaches => two_caches.then(|| caches[0]),
        Kind::SwapCacheAndBacking => plain.first().copied().filter(|_| !caches.is_empty()),
        Kind::StaleLeg | Kind::BlankLeg | Kind::AbsentLeg | Kind::DamagedLegTail => one(chance, &legs),
        Kind::SwapLegs => legs.first().copied(),
        Kind::StaleMember | Kind::BlankMember | Kind::DamagedMember => one(chance, &members),
        Kind::SwapMembers => members.first().copied(),
    };
    let Some(target) = target else { return Ok(None) };
    if !members.is_empty() {
        // A pool has no second place for what a member held: it must be brought back.
        done.restorable = true;
    }
    if done.devices.is_empty() {
        done.devices = vec![target];
    }
    let device = &stack.devices[target];
    let mut image = device.image()?;
    let size = image.size();
    let recent: Vec<u64> = before.get(target).map_or_else(Vec::new, |before| image.changed(before).collect());
    let told = match kind {
        Kind::LoseCache => {
            for device in &done.devices {
                let device = &stack.devices[*device];
                device.replace(&Image::new(device.image()?.size()))?;
            }
            "is blank".to_owned()
        }
        Kind::BlankLeg | Kind::BlankMember => {
            device.replace(&Image::new(size))?;
            "is blank".to_owned()
        }
        Kind::StaleMember => {
            // A copy since the last opening is not recognised, and nobody promises that.
            let Some(copy) = copy.filter(|copy| copy.tick < served) else { return Ok(None) };
            device.replace(&copy.images[target])?;
            format!("is the copy of moment {}", copy.tick)
        }
        Kind::DamagedMember => {
            // Of what a pool keeps there are two blocks; one is damaged: a superblock, or a block of the map.
            let block = if target == 0 { chance.below(4) } else { chance.below(2) };
            let bytes = garbage(chance.pick(&[1, 512, BLOCK as u64]), chance);
            image.write(block * BLOCK as u64, &bytes);
            device.replace(&image)?;
            format!("has {} bytes of garbage in block {block}", bytes.len())
        }
        Kind::AbsentLeg => {
            device.detach();
            "is absent".to_owned()
        }
        Kind::StaleCache | Kind::StaleLeg => {
            let Some(copy) = copy else { return Ok(None) };
            let older = &copy.images[target];
            // Superblocks and one block of bitmap, which holds its age.
            let metadata = size - 3 * BLOCK as u64;
            done.window = match kind {
                Kind::StaleLeg if target == legs[0] && !image.differs(older, metadata) => {
                    Window::Copy(copy.tick)
                }
                Kind::StaleCache if !two_caches && copy.tick > served => Window::Batches,
                _ => Window::None,
            };
            device.replace(older)?;
            format!("is the copy of moment {}", copy.tick)
        }
        Kind::StaleBacking | Kind::Snapshot => {
            let Some(copy) = copy else { return Ok(None) };
            for device in &behind {
                stack.devices[*device].replace(&copy.images[*device])?;
            }
            done.devices = behind;
            done.since = Some(copy.tick);
            if kind == Kind::Snapshot {
                for cache in &caches {
                    stack.devices[*cache].replace(&Image::new(stack.devices[*cache].image()?.size()))?;
                }
                done.devices.extend(&caches);
                done.restorable = false;
            }
            format!("and all beside it are the copies of moment {}", copy.tick)
        }
        Kind::HoleInCache => {
            let written = if chance.one_in(2) { device.written() } else { Vec::new() };
            let (mut holes, kept) = last_writes(&written, size, chance);
            let drawn = holes.is_empty();
            if drawn {
                holes.push(hole(&image, 0, &recent, chance));
            }
            holes.iter().for_each(|(at, length)| image.zero(*at, *length));
            device.replace(&image)?;
            done.damage = true;
            done.window = if two_caches { Window::None } else { Window::Marks };
            let all: u64 = holes.iter().map(|(_, length)| length).sum();
            let what = format!("has {all} zeroes in {} places from {}", holes.len(), holes[0].0);
            if drawn { what } else { format!("{what}, {kept} writes before the log's end") }
        }
        Kind::FlipInCache => {
            let at = flip(&mut image, 0, &recent, chance);
            device.replace(&image)?;
            done.damage = true;
            done.window = if two_caches { Window::None } else { Window::Marks };
            format!("has bits flipped at {at:?}")
        }
        Kind::GarbageSuperblocks => {
            image.write(0, &garbage(8192, chance));
            device.replace(&image)?;
            "has garbage in place of both superblocks".to_owned()
        }
        Kind::DamagedTail | Kind::DamagedLegTail => {
            let from = match kind {
                Kind::DamagedTail if device.role == Role::Ring => 0,
                Kind::DamagedTail => size - stack.tail,
                // Superblocks and one block of bitmap, as docs/MIRROR.md has them.
                _ => size - 3 * BLOCK as u64,
            };
            done.damage = true;
            // Without it nobody knows what belongs where.
            done.restorable |= kind == Kind::DamagedTail;
            let what = if chance.one_in(2) {
                let (at, length) = hole(&image, from, &[], chance);
                image.zero(at, length);
                format!("has {length} zeroes at {at}")
            } else {
                format!("has bits flipped at {:?}", flip(&mut image, from, &[], chance))
            };
            device.replace(&image)?;
            what
        }
        Kind::HalveCache | Kind::HalveBacking | Kind::DoubleCache | Kind::DoubleBacking => {
            let halve = matches!(kind, Kind::HalveCache | Kind::HalveBacking);
            image.resize(if halve { size / 2 / BLOCK as u64 * BLOCK as u64 } else { 2 * size });
            device.replace(&image)?;
            done.restorable = true;
            format!("has {} instead of {size} bytes", image.size())
        }
        Kind::SwapCaches => {
            done.turned = Some((caches[0], caches[1]));
            "and the other one have traded places".to_owned()
        }
        Kind::SwapMembers => {
            done.turned = Some((members[0], members[1]));
            done.devices.push(members[1]);
            "and the next one have traded places".to_owned()
        }
        Kind::SwapLegs => {
            done.turned = Some((legs[0], legs[1]));
            "and the next one have traded places".to_owned()
        }
        Kind::SwapCacheAndBacking => {
            done.turned = Some((target, caches[0]));
            done.restorable = true;
            done.devices.push(caches[0]);
            "and the cache have traded places".to_owned()
        }
        Kind::UsedCache => {
            image.zero(0, 8192);
            // A log of nobody's that nobody has described: garbage behind blank superblocks.
            let (at, length) = hole(&image, 8192, &[], chance);
            image.write(at, &garbage(length.min(1 << 16), chance));
            device.replace(&image)?;
            "is blank, with garbage in its log".to_owned()
        }
    };
    done.what = format!("{kind:?}: `{}` {told}", device.name);
    Ok(Some(done))
}
