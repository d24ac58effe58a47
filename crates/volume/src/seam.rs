//! The seam between volumes: the one place that checks, counts and times every request.

use std::future::Future;
use std::rc::Rc;

use fathom_runtime::{Context, Nanos};

use crate::answer::{Answer, Spare};
use crate::buffer::Buf;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Geometry;
use crate::request::{Kind, Marks, Request};
use crate::statistics::Statistics;

/// A volume: a layer on top of other volumes, or a device.
///
/// Every method that carries data is required: a new one must break the build of each layer until its author has
/// decided. Requests arrive checked: in range, aligned to the logical sector, no longer than the largest transfer,
/// the buffer exactly as long as the range.
///
/// Between flushes no order is promised. What was completed before a flush was sent is durable when it returns; a write
/// with FUA is durable when it returns.
pub trait Volume: 'static {
    /// Sizes and promises; the same for the life of the volume.
    fn geometry(&self) -> &Geometry;

    /// Fills `into` with the bytes of the range.
    fn read(&self, request: &Request, into: Buf) -> impl Future<Output = Result<()>>;

    /// Stores the bytes of `from`.
    fn write(&self, request: &Request, from: Buf) -> impl Future<Output = Result<()>>;

    /// Makes everything completed before this call durable.
    fn flush(&self, request: &Request) -> impl Future<Output = Result<()>>;

    /// Takes note that the range's content is no longer needed. Reads of it return anything until it is written again.
    fn trim(&self, request: &Request) -> impl Future<Output = Result<()>>;

    /// Makes the range read as zeroes.
    fn write_zeroes(&self, request: &Request) -> impl Future<Output = Result<()>>;

    /// The holder has discarded what it knew of the content, and will read or overwrite it: a mirror that
    /// takes a leg back. A device that fails everything because it may have lost writes serves again; a layer passes the call
    /// to the volumes below.
    fn reopen(&self) {}

    /// Several requests are about to write within the range: what a layer notes before a write it may note for all of them
    /// at once. Nothing depends on it; a layer passes it to the volumes below.
    fn expect(&self, _offset: u64, _length: u64) {}

    /// Whether a trimmed range reads as zeroes from then on. Where it does not, it may read as anything: as before, or otherwise
    /// on each of several copies.
    fn trims_to_zeroes(&self) -> bool {
        false
    }

    /// Whether it, or what it shows, opened with less than it had answered, because somebody accepted that. Known once a request
    /// was answered; a layer asks the volumes below.
    fn went_back(&self) -> bool {
        false
    }

    /// What a reader of the results should know about it, by name: where it fell back, what it found.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// What it counts beside the seam, by name, since it was built: read-modify-writes, faults, credits left.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

// A request crosses by its parts, which fit registers: a structure would be written to the stack and read back at once.
trait Node {
    fn seam(&self) -> &Seam;
    fn read(&self, offset: u64, length: u64, marks: Marks, into: Buf) -> Answer<'_>;
    fn write(&self, offset: u64, length: u64, marks: Marks, from: Buf) -> Answer<'_>;
    fn flush(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_>;
    fn trim(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_>;
    fn write_zeroes(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_>;
    fn reopen(&self);
    fn expect(&self, offset: u64, length: u64);
    fn trims_to_zeroes(&self) -> bool;
    fn went_back(&self) -> bool;
    fn facts(&self) -> Vec<(&'static str, String)>;
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

struct Seam {
    name: String,
    kind: &'static str,
    // Which seam an event of the digest belongs to.
    id: u64,
    geometry: Geometry,
    context: Context,
    statistics: Rc<Statistics>,
}

struct Wrapped<V> {
    seam: Seam,
    // By kind of request: each kind has futures of one type.
    spare: [Spare; Kind::ALL.len()],
    volume: V,
}

/// What users and upper layers hold: a volume behind its seam. Cheap to clone.
#[derive(Clone)]
pub struct Handle(Rc<dyn Node>);

impl Handle {
    /// Puts a volume behind a seam.
    ///
    /// `name` is the node's name in the settings, `kind` the layer's or device's; both appear in messages and results.
    ///
    /// # Errors
    /// If the volume's geometry contradicts itself.
    pub fn new<V: Volume>(context: &Context, name: &str, kind: &'static str, volume: V) -> Result<Self> {
        let geometry = volume.geometry().clone();
        geometry
            .check()
            .map_err(|why| Error::new(ErrorKind::Misuse, format!("volume `{name}` ({kind}): {why}")))?;
        let id = name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let seam = Seam {
            name: name.to_owned(),
            kind,
            id,
            geometry,
            context: context.clone(),
            statistics: Rc::new(Statistics::default()),
        };
        Ok(Self(Rc::new(Wrapped { seam, spare: Kind::ALL.map(|_| Spare::new()), volume })))
    }

    /// The node's name in the settings.
    pub fn name(&self) -> &str {
        &self.0.seam().name
    }

    /// The layer's or device's kind.
    pub fn kind(&self) -> &'static str {
        self.0.seam().kind
    }

    /// Sizes and promises.
    pub fn geometry(&self) -> &Geometry {
        &self.0.seam().geometry
    }

    /// What this seam counts.
    pub fn statistics(&self) -> &Rc<Statistics> {
        &self.0.seam().statistics
    }

    /// Says that what was known of the content is given up, see [`Volume::reopen`].
    pub fn reopen(&self) {
        self.0.reopen();
    }

    /// Says that several requests are about to write within the range, see [`Volume::expect`].
    pub fn expect(&self, offset: u64, length: u64) {
        self.0.expect(offset, length);
    }

    /// Whether a trimmed range reads as zeroes, see [`Volume::trims_to_zeroes`].
    pub fn trims_to_zeroes(&self) -> bool {
        self.0.trims_to_zeroes()
    }

    /// Whether it opened with less than it had answered ([`Volume::went_back`]).
    pub fn went_back(&self) -> bool {
        self.0.went_back()
    }

    /// What a reader of the results should know about the volume, by name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        self.0.facts()
    }

    /// What the volume counts beside the seam, by name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.0.counters()
    }

    /// Reads the range into the buffer.
    ///
    /// # Errors
    /// See [`ErrorKind`]; the message names the volume.
    #[inline]
    pub fn read(&self, request: Request, into: Buf) -> Answer<'_> {
        self.0.read(request.offset, request.length, request.marks(), into)
    }

    /// Writes the buffer to the range.
    ///
    /// # Errors
    /// As [`Handle::read`].
    #[inline]
    pub fn write(&self, request: Request, from: Buf) -> Answer<'_> {
        self.0.write(request.offset, request.length, request.marks(), from)
    }

    /// Makes durable what was completed before.
    ///
    /// # Errors
    /// As [`Handle::read`]. After a failed flush nothing completed before it may be taken as durable.
    #[inline]
    pub fn flush(&self, request: Request) -> Answer<'_> {
        self.0.flush(request.offset, request.length, request.marks())
    }

    /// Gives the range's content up.
    ///
    /// # Errors
    /// As [`Handle::read`].
    #[inline]
    pub fn trim(&self, request: Request) -> Answer<'_> {
        self.0.trim(request.offset, request.length, request.marks())
    }

    /// Makes the range read as zeroes.
    ///
    /// # Errors
    /// As [`Handle::read`].
    #[inline]
    pub fn write_zeroes(&self, request: Request) -> Answer<'_> {
        self.0.write_zeroes(request.offset, request.length, request.marks())
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "volume `{}` ({})", self.name(), self.kind())
    }
}

impl Seam {
    // Inlined, as is `Open::close`: each request passes here, and a call costs as much as the comparisons.
    #[inline(always)]
    fn check(&self, kind: Kind, request: &Request, buf: Option<&Buf>) -> Result<()> {
        let geometry = &self.geometry;
        let sector = u64::from(geometry.logical_sector);
        let fua_fits = matches!(kind, Kind::Write | Kind::WriteZeroes) || !request.fua;
        if kind == Kind::Flush {
            return if fua_fits { Ok(()) } else { self.misuse(kind, request, "FUA on a flush") };
        }
        if !fua_fits {
            return self.misuse(kind, request, "FUA on a request that writes nothing");
        }
        if request.length == 0
            || request.offset.checked_add(request.length).is_none_or(|end| end > geometry.size)
        {
            return self.misuse(kind, request, "out of range");
        }
        if (request.offset | request.length) & (sector - 1) != 0 {
            return self.misuse(kind, request, "not aligned to the logical sector");
        }
        if let Some(buf) = buf {
            if request.length > u64::from(geometry.max_transfer) {
                return self.misuse(kind, request, "longer than the largest transfer");
            }
            if buf.len() as u64 != request.length {
                return self.misuse(kind, request, "a buffer of another length");
            }
        }
        Ok(())
    }

    #[cold]
    fn misuse(&self, kind: Kind, request: &Request, why: &str) -> Result<()> {
        let geometry = &self.geometry;
        Err(Error::new(
            ErrorKind::Misuse,
            format!(
                "volume `{}` ({}): {} of {} bytes at offset {}: {why} (size {}, logical sector {}, largest transfer {})",
                self.name,
                self.kind,
                kind.name(),
                request.length,
                request.offset,
                geometry.size,
                geometry.logical_sector,
                geometry.max_transfer
            ),
        ))
    }

    /// Counts a request as outstanding until it is closed.
    #[inline]
    fn open(&self) -> Open<'_> {
        let start = self.context.now();
        self.statistics.begin(start);
        Open { seam: self, start }
    }
}

// A request on its way. Its outstanding count ends even when its future is dropped half-way.
struct Open<'a> {
    seam: &'a Seam,
    start: Nanos,
}

impl Open<'_> {
    #[inline(always)]
    fn close(self, kind: Kind, request: &Request, result: Result<()>) -> Result<()> {
        let Self { seam, start } = self;
        let end = seam.context.now();
        drop(self);
        match &result {
            Ok(()) => seam.statistics.completed(kind, request.length, end - start, request.waiting()),
            Err(_) => seam.statistics.failed(kind),
        }
        if seam.context.is_virtual() {
            let outcome = kind as u64 | (u64::from(request.fua) << 8) | (u64::from(result.is_err()) << 9);
            seam.context.digest().event([seam.id, outcome, request.offset, request.length, start, end]);
        }
        result
    }
}

impl Drop for Open<'_> {
    #[inline]
    fn drop(&mut self) {
        self.seam.statistics.end(self.seam.context.now());
    }
}

impl<V: Volume> Node for Wrapped<V> {
    fn seam(&self) -> &Seam {
        &self.seam
    }

    fn reopen(&self) {
        self.volume.reopen();
    }

    fn expect(&self, offset: u64, length: u64) {
        self.volume.expect(offset, length);
    }

    fn trims_to_zeroes(&self) -> bool {
        self.volume.trims_to_zeroes()
    }

    fn went_back(&self) -> bool {
        self.volume.went_back()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        self.volume.facts()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.volume.counters()
    }

    fn read(&self, offset: u64, length: u64, marks: Marks, into: Buf) -> Answer<'_> {
        let answer = || async move {
            let request = Request::marked(offset, length, marks);
            self.seam.check(Kind::Read, &request, Some(&into))?;
            let open = self.seam.open();
            let result = self.volume.read(&request, into).await;
            open.close(Kind::Read, &request, result)
        };
        // SAFETY: this place alone takes from the memory of this kind.
        unsafe { Answer::new(&self.spare[Kind::Read as usize], answer) }
    }

    fn write(&self, offset: u64, length: u64, marks: Marks, from: Buf) -> Answer<'_> {
        let answer = || async move {
            let request = Request::marked(offset, length, marks);
            self.seam.check(Kind::Write, &request, Some(&from))?;
            let open = self.seam.open();
            let result = self.volume.write(&request, from).await;
            open.close(Kind::Write, &request, result)
        };
        // SAFETY: this place alone takes from the memory of this kind.
        unsafe { Answer::new(&self.spare[Kind::Write as usize], answer) }
    }

    fn flush(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_> {
        let answer = || async move {
            let request = Request::marked(offset, length, marks);
            self.seam.check(Kind::Flush, &request, None)?;
            let open = self.seam.open();
            let result = self.volume.flush(&request).await;
            open.close(Kind::Flush, &request, result)
        };
        // SAFETY: this place alone takes from the memory of this kind.
        unsafe { Answer::new(&self.spare[Kind::Flush as usize], answer) }
    }

    fn trim(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_> {
        let answer = || async move {
            let request = Request::marked(offset, length, marks);
            self.seam.check(Kind::Trim, &request, None)?;
            let open = self.seam.open();
            let result = self.volume.trim(&request).await;
            open.close(Kind::Trim, &request, result)
        };
        // SAFETY: this place alone takes from the memory of this kind.
        unsafe { Answer::new(&self.spare[Kind::Trim as usize], answer) }
    }

    fn write_zeroes(&self, offset: u64, length: u64, marks: Marks) -> Answer<'_> {
        let answer = || async move {
            let request = Request::marked(offset, length, marks);
            self.seam.check(Kind::WriteZeroes, &request, None)?;
            let open = self.seam.open();
            let result = self.volume.write_zeroes(&request).await;
            open.close(Kind::WriteZeroes, &request, result)
        };
        // SAFETY: this place alone takes from the memory of this kind.
        unsafe { Answer::new(&self.spare[Kind::WriteZeroes as usize], answer) }
    }
}
