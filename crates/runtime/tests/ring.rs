//! The ring under stress: more operations than it holds, futures dropped in flight, its end with work outstanding.

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::task::Poll;

use fathom_runtime::{Context, MILLISECOND, Ring, RingSetup, Runtime};
use io_uring::{opcode, types};

fn runtime(entries: u32) -> (Runtime, Context, Ring) {
    let setup = RingSetup { entries, ..RingSetup::default() };
    let runtime = Runtime::real(setup, 1).expect("the tests need an io_uring");
    let context = runtime.context();
    let ring = context.ring().expect("the real driver has a ring").clone();
    (runtime, context, ring)
}

fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    let status = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(status, 0, "{}", io::Error::last_os_error());
    // SAFETY: both were just opened and belong to nobody else.
    unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) }
}

type Buffer = Rc<[u8; 64]>;

/// Starts a read that waits for the pipe's other end, and drops its future; the buffer is seen by `Weak` only.
async fn abandoned_read(ring: &Ring, reader: &File) -> Weak<[u8; 64]> {
    let buffer: Buffer = Rc::new([0; 64]);
    let seen = Rc::downgrade(&buffer);
    let entry = opcode::Read::new(types::Fd(reader.as_raw_fd()), buffer.as_ptr().cast_mut(), 64).build();
    // SAFETY: the entry points into the buffer, which is kept, and nobody looks at it.
    let mut read = Box::pin(unsafe { ring.start(entry, Some(buffer)) });
    poll_fn(|task| {
        assert!(Pin::new(&mut read).poll(task).is_pending());
        Poll::Ready(())
    })
    .await;
    ring.submit();
    drop(read);
    seen
}

#[test]
fn a_dropped_operation_keeps_its_buffer_until_the_kernel_has_answered() {
    let (runtime, context, ring) = runtime(8);
    let (reader, mut writer) = pipe();
    let seen = runtime.block_on(async {
        let seen = abandoned_read(&ring, &reader).await;
        assert!(seen.strong_count() > 0, "freed while the kernel may write to it");
        assert!(ring.in_flight() > 0);
        seen
    });
    let seen = seen.expect("nothing waits");
    // The wait is called off, so the kernel answers though nobody writes.
    let answered = (0..60_000).any(|_| {
        runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
        (seen.strong_count(), ring.in_flight()) == (0, 0)
    });
    assert!(answered, "{} hold the buffer, {} in flight", seen.strong_count(), ring.in_flight());
    writer.write_all(b"later").expect("the pipe takes it");
}

#[test]
fn an_operation_dropped_before_its_first_poll_never_starts() {
    let (runtime, _, ring) = runtime(8);
    let kept: Buffer = Rc::new([0; 64]);
    // SAFETY: the entry points to no memory.
    drop(unsafe { ring.start(opcode::Nop::new().build(), Some(Rc::clone(&kept) as Rc<_>)) });
    assert_eq!((Rc::strong_count(&kept), ring.in_flight()), (1, 0));
    drop(runtime);
}

#[test]
fn the_end_of_the_ring_waits_for_the_kernel_and_not_for_others() {
    let (reader, _writer) = pipe();
    let (runtime, context, ring) = runtime(8);
    let task_ring = ring.clone();
    let task = context.spawn(async move {
        let buffer: Buffer = Rc::new([0; 64]);
        let entry = opcode::Read::new(types::Fd(reader.as_raw_fd()), buffer.as_ptr().cast_mut(), 64).build();
        // SAFETY: the entry points into the buffer, which is kept, and nobody looks at it.
        unsafe { task_ring.start(entry, Some(buffer)) }.await
    });
    runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
    assert!(!task.is_done());
    drop((ring, context));
    // Would hang here if it waited for somebody to write.
    drop(runtime);
}

#[test]
fn a_main_future_that_is_always_ready_starves_neither_operations_nor_timers() {
    for beside_a_busy_task in [false, true] {
        let (runtime, context, ring) = runtime(8);
        if beside_a_busy_task {
            context.spawn(poll_fn(|task| {
                task.waker().wake_by_ref();
                Poll::<()>::Pending
            }));
        }
        let clock = context.clone();
        let work = context.spawn(async move {
            // SAFETY: the entry points to nothing.
            let answer = unsafe { ring.start(opcode::Nop::new().build(), None) }.await;
            clock.sleep(MILLISECOND).await;
            answer
        });
        let mut work = pin!(work);
        // Far more polls than fit into a millisecond.
        let mut polls = 0_u64;
        let answer = runtime.block_on(poll_fn(|task| {
            polls += 1;
            task.waker().wake_by_ref();
            if polls > 50_000_000 { Poll::Ready(None) } else { work.as_mut().poll(task).map(Some) }
        }));
        assert_eq!(answer, Ok(Some(0)), "busy task: {beside_a_busy_task}");
    }
}

#[test]
fn thousands_of_operations_go_through_a_small_ring() {
    const COUNT: u64 = 5000;
    let (runtime, context, ring) = runtime(8);
    // All in flight at once, and all due at the same instant: more than the completion queue holds.
    let span = Rc::new(types::Timespec::new().nsec(20_000_000));
    let tasks: Vec<_> = (0..COUNT)
        .map(|_| {
            let (ring, span) = (ring.clone(), Rc::clone(&span));
            context.spawn(async move {
                let entry = opcode::Timeout::new(&raw const *span).build();
                // SAFETY: the entry points to the timespec, which is kept.
                unsafe { ring.start(entry, Some(span)) }.await
            })
        })
        .collect();
    let all = async {
        let mut expired = 0;
        for task in tasks {
            expired += u64::from(task.await == -libc::ETIME);
        }
        expired
    };
    assert_eq!(runtime.block_on(all), Ok(COUNT));
    assert_eq!((ring.in_flight(), Rc::strong_count(&span)), (0, 1));
}

#[test]
fn prompt_operations_all_reach_the_kernel_whatever_their_number() {
    let (runtime, context, ring) = runtime(64);
    for count in [1_u64, 4, 5, 63, 64, 200] {
        let nothing = |_| {
            let ring = ring.clone();
            context.spawn(async move {
                let entry = opcode::Nop::new().build();
                ring.be_prompt();
                // SAFETY: the entry points to nothing.
                unsafe { ring.start(entry, None) }.await
            })
        };
        let tasks: Vec<_> = (0..count).map(nothing).collect();
        let all = async {
            let mut done = 0;
            for task in tasks {
                done += u64::from(task.await == 0);
            }
            done
        };
        assert_eq!(runtime.block_on(all), Ok(count));
        assert_eq!(ring.in_flight(), 0);
    }
}

#[test]
fn a_file_registered_is_read_by_its_place_and_the_place_is_used_again() {
    let (runtime, _, ring) = runtime(8);
    let mut places = Vec::new();
    for content in [b"first", b"later"] {
        let (reader, mut writer) = pipe();
        writer.write_all(content).expect("the pipe takes it");
        let place = ring.register_file(reader.as_raw_fd()).expect("the table has room");
        places.push(place);
        // The ring's reference keeps the file open.
        drop(reader);
        let buffer: Rc<std::cell::UnsafeCell<[u8; 5]>> = Rc::default();
        let entry = opcode::Read::new(types::Fixed(place), buffer.get().cast(), 5).build();
        // SAFETY: the entry points into the buffer, which is kept, and looked at only after the answer.
        let read = unsafe { ring.start(entry, Some(Rc::clone(&buffer) as Rc<_>)) };
        assert_eq!(runtime.block_on(read), Ok(5));
        // SAFETY: the operation is over.
        assert_eq!(unsafe { *buffer.get() }, *content);
        ring.unregister_file(place);
    }
    assert_eq!(places[0], places[1]);
}
