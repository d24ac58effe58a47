//! What memory does not hold of a batch, read from the log: in the order of the log, and neighbours with one request. A batch
//! lies sorted by place; read in that order, most of its pages would cost the cache device a request each.

use std::ops::Range;
use std::rc::Rc;

use fathom_volume::{Class, Result};

use crate::codec::blocks_of;

use super::Live;
use super::pacing::{Stage, Steps};
use super::redo_copy::Part;
use super::task_group::TaskGroup;

/// Bytes of one request at most, unless a part alone has more: users write the log beside it, and wait for each.
pub const LONGEST: u64 = 64 << 10;
/// Bytes between two parts that are read as well rather than with a request more: what they cost volumes of 125 MiB/s and 3,000
/// IOPS, or of 2 GB/s and 60,000.
const GAP: u64 = 32 << 10;
/// Requests at once if destaging goes as fast as it goes.
const WIDTH: usize = 8;
/// Otherwise: users read and write the log beside it.
const CALM_WIDTH: usize = 4;

/// Neighbours in the log, in order.
#[derive(Debug, PartialEq)]
struct Run {
    /// Whole blocks of the log, by position.
    blocks: Range<u64>,
    /// Which parts.
    parts: Vec<usize>,
}

impl Run {
    fn length(&self) -> u64 {
        self.blocks.end - self.blocks.start
    }
}

/// Ranges of the log with the number of their part, as runs that lie in one segment each.
fn runs(mut ranges: Vec<(Range<u64>, usize)>, segment: u64) -> Vec<Run> {
    ranges.sort_unstable_by_key(|(range, _)| range.start);
    let mut runs: Vec<Run> = Vec::new();
    for (range, part) in ranges {
        let blocks = blocks_of(range);
        let joins = |run: &&mut Run| {
            blocks.start <= run.blocks.end + GAP
                && blocks.end <= run.blocks.start + LONGEST
                && blocks.start / segment == run.blocks.start / segment
        };
        match runs.last_mut().filter(joins) {
            Some(run) => {
                run.blocks.end = run.blocks.end.max(blocks.end);
                run.parts.push(part);
            }
            None => runs.push(Run { blocks, parts: vec![part] }),
        }
    }
    runs
}

impl Live {
    /// Fills those parts of a batch that memory does not hold.
    pub async fn fetch(self: &Rc<Self>, parts: &[Rc<Part>], steps: Steps) -> Result<()> {
        let missing = parts.iter().enumerate().filter(|(_, part)| !part.is_in_memory());
        let ranges = missing.map(|(index, part)| (part.range(), index)).collect();
        let runs = runs(ranges, self.state.borrow().space.segment);
        let width = if self.is_calm(Stage::Redo) { CALM_WIDTH } else { WIDTH };
        let tasks = TaskGroup::new(&self.context, width);
        let (mut gone, whole) = (0, runs.iter().map(Run::length).sum());
        for run in runs {
            self.in_step(steps, gone, whole).await;
            if !tasks.goes_on() {
                break;
            }
            gone += run.length();
            let of_run = run.parts.iter().map(|part| Rc::clone(&parts[*part])).collect();
            let live = Rc::clone(self);
            tasks.start(async move { live.fetch_run(run.blocks, of_run).await }).await;
        }
        tasks.end().await
    }

    async fn fetch_run(self: &Rc<Self>, blocks: Range<u64>, parts: Vec<Rc<Part>>) -> Result<()> {
        // Users read the log beside it, unless somebody waits for the batch.
        let class = if self.is_calm(Stage::Redo) { Class::Destage } else { Class::Foreground };
        let mut read = None;
        if parts.len() > 1 {
            let space = self.state.borrow().space;
            let buf = self.pool.get((blocks.end - blocks.start) as usize);
            if let Some(leg) = self.legs.to_read(blocks.start / space.segment, blocks.end).first() {
                let answer = self.legs.all()[*leg].read(class, space.physical(blocks.start), &buf).await;
                read = answer.is_ok().then_some(buf);
            }
        }
        for part in parts {
            let within = |range: Range<u64>| {
                (range.start - blocks.start) as usize..(range.end - blocks.start) as usize
            };
            let own = blocks_of(part.range());
            let record = &part.from.record;
            let is_whole = |bytes: &[u8]| bytes.is_empty() || record.is_whole(own.start, bytes);
            let found = read.as_ref().filter(|buf| buf.slice(within(own.clone())).with(is_whole));
            match found {
                Some(buf) => part.into.copy_from_buf(&buf.slice(within(part.range()))),
                // Alone, from any device that has it: that repairs the others, or tells what is damaged.
                None => self.read_dirty(class, &part.from, &part.into).await?,
            }
            part.is_fetched.set(true);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::{GAP, LONGEST, Run, blocks_of, runs};

    const SEGMENT: u64 = 1 << 20;

    #[test]
    fn neighbours_make_one_request_and_far_ones_two() {
        let page = |number: u64| number * 8192..(number + 1) * 8192;
        let ranges = vec![(page(2), 0), (page(0), 1), (page(20), 2), (page(5), 3)];
        let found = runs(ranges, SEGMENT);
        let expected = [
            Run { blocks: 0..6 * 8192, parts: vec![1, 0, 3] },
            Run { blocks: 20 * 8192..21 * 8192, parts: vec![2] },
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn each_part_is_in_one_run_that_holds_it(places in prop::collection::vec((0..4 * SEGMENT / 512, 1..512_u64), 0..200)) {
            let ends = |(at, sectors): (u64, u64)| {
                let start = at * 512;
                // A record, and so a part, lies in one segment.
                start..(start + sectors * 512).min(start.next_multiple_of(SEGMENT).max(start + 512))
            };
            let ranges: Vec<_> = places.into_iter().map(ends).zip(0..).collect();
            let runs = runs(ranges.clone(), SEGMENT);
            let mut seen: Vec<usize> = runs.iter().flat_map(|run| run.parts.clone()).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..ranges.len()).collect::<Vec<_>>());
            for run in &runs {
                let length = |blocks: Range<u64>| blocks.end - blocks.start;
                let part = run.parts.iter().map(|part| length(blocks_of(ranges[*part].0.clone()))).max();
                prop_assert!(length(run.blocks.clone()) <= part.unwrap().max(LONGEST));
                prop_assert_eq!(run.blocks.start / SEGMENT, (run.blocks.end - 1) / SEGMENT);
                let mut end = run.blocks.start;
                for part in &run.parts {
                    let blocks = blocks_of(ranges[*part].0.clone());
                    prop_assert!(run.blocks.start <= blocks.start && blocks.end <= run.blocks.end);
                    prop_assert!(blocks.start <= end + GAP);
                    end = end.max(blocks.end);
                }
            }
        }
    }
}
