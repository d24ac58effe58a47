//! The stream of requests of one user.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use fathom_runtime::Random;
use fathom_volume::{Handle, Kind};

use super::profile::{AddressPattern, Profile, Spread};
use super::target::{Misfit, Target};
use fathom_job::draw::alias::fraction_to_word;
use fathom_job::draw::{Scramble, Sizes, Zipf};
use fathom_job::outcome::Failure;

/// One request to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Read, write or trim.
    pub kind: Kind,
    /// Which of the user's volumes.
    pub volume: usize,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// A position that advances with each request, shared by the users of a worker.
#[derive(Debug)]
struct Cursor {
    at: Cell<u64>,
    region: Range<u64>,
}

impl Cursor {
    fn new(region: Range<u64>) -> Rc<Self> {
        Rc::new(Self { at: Cell::new(region.start), region })
    }

    #[inline]
    fn next(&self, length: u64) -> u64 {
        let mut offset = self.at.get();
        if offset + length > self.region.end {
            offset = self.region.start;
        }
        self.at.set(offset + length);
        offset
    }
}

/// How a user finds offsets on one volume.
#[derive(Clone)]
enum Addressing {
    Random,
    Sequential(Rc<Cursor>),
    Zipf(Rc<(Zipf, Scramble)>),
    HotSpot { hot: u64, below: u64 },
}

#[derive(Clone)]
struct Spot {
    target: Rc<Target>,
    addressing: Addressing,
    blocks: u64,
}

/// The requests of one user; two users of a seed and worker never draw the same stream.
pub struct Source {
    random: Random,
    law: Rc<Law>,
}

// What the users of a worker draw from. They share it: per-user state of many users is in no cache when its turn
// comes, after the kernel copied the data of all the others.
struct Law {
    // A uniform word below `reads` is a read, from there below `trims` a trim, else a write.
    reads: u64,
    trims: u64,
    read_sizes: Sizes,
    write_sizes: Sizes,
    spots: Vec<Spot>,
}

impl Source {
    /// The volume that operations refer to by this number.
    #[inline]
    pub fn volume(&self, index: usize) -> &Handle {
        &self.law.spots[index].target.volume
    }

    /// The next request.
    #[inline(always)]
    pub fn next(&mut self) -> Operation {
        let Self { random, law } = self;
        let toss = random.word();
        let kind = match toss {
            toss if toss < law.reads => Kind::Read,
            toss if toss < law.trims => Kind::Trim,
            _ => Kind::Write,
        };
        let volume = if law.spots.len() == 1 { 0 } else { random.below(law.spots.len() as u64) as usize };
        let spot = &law.spots[volume];
        let target = &*spot.target;
        let (sizes, positions) = match kind {
            Kind::Read => (&law.read_sizes, &target.read_positions),
            _ => (&law.write_sizes, &target.write_positions),
        };
        let size = sizes.draw(random);
        let length = sizes.list()[size];
        let last = positions[size] - 1;
        let block = match &spot.addressing {
            Addressing::Random => random.below(last + 1),
            Addressing::Sequential(cursor) => {
                return Operation { kind, volume, offset: cursor.next(length), length };
            }
            Addressing::Zipf(zipf) => zipf.1.map(zipf.0.draw(random)).min(last),
            Addressing::HotSpot { hot, below } => {
                let hits = random.word() < *below;
                let block = if hits { random.below(*hot) } else { hot + random.below(spot.blocks - hot) };
                block.min(last)
            }
        };
        Operation { kind, volume, offset: target.start + block * target.unit, length }
    }
}

/// Makes the streams of all users of a profile: one list per worker, one stream per user.
///
/// # Errors
/// [`fathom_job::Reason::Settings`] if the profile does not suit a volume.
pub fn sources(
    profile: &Profile,
    volumes: &[Handle],
    seed: u64,
    name: &str,
) -> Result<Vec<Vec<Source>>, Failure> {
    let targets: Vec<Rc<Target>> = volumes
        .iter()
        .map(|volume| Target::new(volume, profile).map(Rc::new))
        .collect::<Result<_, Misfit>>()?;
    let shared: Vec<Spot> = targets.iter().map(|target| spot(profile, target)).collect();
    let count = volumes.len() as u64;
    let workers = u64::from(profile.workers);
    let streams = |worker: u64| {
        let mine = match profile.spread {
            Spread::All => 0..volumes.len(),
            Spread::One => {
                let volume = (worker % count) as usize;
                volume..volume + 1
            }
        };
        // Workers on the same volume, and this one's index among them.
        let (index, beside) = match profile.spread {
            Spread::All => (worker, workers),
            Spread::One => (worker / count, (workers - worker % count).div_ceil(count)),
        };
        let law = Rc::new(Law {
            reads: fraction_to_word(profile.read),
            trims: fraction_to_word(profile.read + profile.trim),
            read_sizes: profile.read_sizes.clone(),
            write_sizes: profile.write_sizes.clone(),
            spots: shared[mine].iter().map(|spot| spot.of_worker(profile, index, beside)).collect(),
        });
        let user = |user: u32| Source {
            random: Random::new(seed, &format!("{name}/{worker}/{user}")),
            law: Rc::clone(&law),
        };
        (0..profile.outstanding).map(user).collect()
    };
    Ok((0..workers).map(streams).collect())
}

fn spot(profile: &Profile, target: &Rc<Target>) -> Spot {
    let blocks = target.length / target.unit;
    let addressing = match profile.places {
        AddressPattern::Random => Addressing::Random,
        // Only the shared one is made here; each worker makes its own.
        AddressPattern::Sequential | AddressPattern::SharedSequential => {
            Addressing::Sequential(Cursor::new(target.start..target.start + target.length))
        }
        AddressPattern::Zipf(theta) => {
            Addressing::Zipf(Rc::new((Zipf::new(blocks, theta), Scramble::new(blocks))))
        }
        AddressPattern::HotSpot { requests, space } if blocks > 1 => {
            let hot = ((blocks as f64 * space).round() as u64).clamp(1, blocks - 1);
            Addressing::HotSpot { hot, below: fraction_to_word(requests) }
        }
        AddressPattern::HotSpot { .. } => Addressing::Random,
    };
    Spot { target: Rc::clone(target), addressing, blocks }
}

impl Spot {
    fn of_worker(&self, profile: &Profile, index: u64, beside: u64) -> Self {
        if profile.places != AddressPattern::Sequential {
            return self.clone();
        }
        let region = self.target.region(index, beside, profile.largest());
        Self { addressing: Addressing::Sequential(Cursor::new(region)), ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
