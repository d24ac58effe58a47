//! Tasks, timers and their order, in both drivers from one body where the clock does not matter.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use fathom_runtime::{Context, MICROSECOND, MILLISECOND, RingSetup, Runtime, SECOND, Semaphore, Signal};

fn real() -> Runtime {
    Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring")
}

/// Runs a test body in virtual and in real time.
fn in_both(body: impl Fn(&Runtime, &Context)) {
    for runtime in [Runtime::virtual_time(1), real()] {
        body(&runtime, &runtime.context());
    }
}

/// Runs until something holds; a busy machine may stop the thread for long, and then everything is due at once.
fn until(runtime: &Runtime, context: &Context, holds: impl Fn() -> bool) -> bool {
    (0..60_000).any(|_| {
        runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
        holds()
    })
}

/// The order in which tasks that sleep for these spans wake up.
fn order_of(runtime: &Runtime, spans: &[u64]) -> Vec<usize> {
    let context = runtime.context();
    let order = Rc::new(RefCell::new(Vec::new()));
    let tasks: Vec<_> = spans
        .iter()
        .enumerate()
        .map(|(index, span)| {
            let (clock, order, span) = (context.clone(), Rc::clone(&order), *span);
            context.spawn(async move {
                clock.sleep(span).await;
                order.borrow_mut().push(index);
            })
        })
        .collect();
    let all = async {
        for task in tasks {
            task.await;
        }
    };
    runtime.block_on(all).expect("every sleep ends");
    order.take()
}

#[test]
fn sleepers_wake_in_the_order_of_time() {
    in_both(|runtime, _| {
        // So far apart that a thread which is stopped for a moment between two of them does not change their order.
        let spans = [5, 1, 4, 2, 3].map(|step| step * 20 * MILLISECOND);
        assert_eq!(order_of(runtime, &spans), [1, 3, 4, 2, 0]);
    });
}

#[test]
fn ties_are_broken_by_the_seed_and_only_by_it() {
    let of = |seed| order_of(&Runtime::virtual_time(seed), &[MILLISECOND; 50]);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn virtual_time_jumps_and_costs_nothing() {
    let runtime = Runtime::virtual_time(1);
    let context = runtime.context();
    runtime.block_on(context.sleep(365 * 86_400 * SECOND)).expect("the sleep ends");
    assert_eq!(context.now(), 365 * 86_400 * SECOND);
    runtime.block_on(context.sleep_until(5)).expect("an instant that has passed is now");
    assert_eq!(context.now(), 365 * 86_400 * SECOND);
}

#[test]
fn a_real_sleep_never_ends_early_and_ends_soon_after() {
    let runtime = real();
    let context = runtime.context();
    let late: Vec<u64> = (0..50)
        .map(|_| {
            let at = context.now() + 500 * MICROSECOND;
            runtime.block_on(context.sleep_until(at)).expect("the sleep ends");
            // Underflows, and so fails, if it ended early.
            context.now() - at
        })
        .collect();
    // A busy machine may be late often, but not always. About 60 µs on an idle one; what would only look once per tick
    // of the kernel would be up to 4 ms late.
    let best = late.iter().min().expect("fifty sleeps");
    assert!(*best < 2 * MILLISECOND, "at best {best} ns late");
}

#[test]
fn a_task_is_joined_for_its_output_and_runs_on_without() {
    in_both(|runtime, context| {
        let ran = Rc::new(Cell::new(0));
        let joined = {
            let (context, ran) = (context.clone(), Rc::clone(&ran));
            async move {
                // A task may spawn; the inner one's handle is dropped at once.
                let inner = Rc::clone(&ran);
                let clock = context.clone();
                drop(context.spawn(async move {
                    clock.sleep(MILLISECOND).await;
                    inner.set(inner.get() + 1);
                }));
                let handle = context.spawn(async { 42 });
                assert!(!handle.is_done());
                context.sleep(2 * MILLISECOND).await;
                assert!(handle.is_done());
                handle.await
            }
        };
        assert_eq!(runtime.block_on(joined), Ok(42));
        assert!(until(runtime, context, || ran.get() == 1));
    });
}

#[test]
fn tasks_that_are_not_done_go_on_at_the_next_call() {
    in_both(|runtime, context| {
        let steps = Rc::new(Cell::new(0));
        let (clock, count) = (context.clone(), Rc::clone(&steps));
        context.spawn(async move {
            loop {
                clock.sleep(MILLISECOND).await;
                count.set(count.get() + 1);
            }
        });
        assert!(until(runtime, context, || steps.get() > 2));
        let first = steps.get();
        assert!(until(runtime, context, || steps.get() > first));
    });
}

struct Guard(Rc<Cell<u32>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn the_end_of_an_executor_drops_its_tasks_and_their_destructors_may_wake_others() {
    in_both(|_, _| {
        let dropped = Rc::new(Cell::new(0));
        let runtime = Runtime::virtual_time(3);
        let context = runtime.context();
        let places = Semaphore::new(1);
        for _ in 0..3 {
            let (guard, places, clock) = (Guard(Rc::clone(&dropped)), places.clone(), context.clone());
            context.spawn(async move {
                let _guard = guard;
                let _permit = places.acquire().await;
                clock.sleep(SECOND).await;
            });
        }
        runtime.block_on(context.sleep(1)).expect("the sleep ends");
        assert_eq!((places.free(), places.waiting()), (0, 2));
        drop(runtime);
        assert_eq!((dropped.get(), places.free()), (3, 1));
    });
}

#[test]
fn a_main_future_that_yields_goes_on_though_nothing_else_is_ready() {
    let yields = || {
        let mut left = 1000;
        poll_fn(move |task| {
            left -= 1;
            task.waker().wake_by_ref();
            if left == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
    };
    in_both(|runtime, context| {
        assert_eq!(runtime.block_on(yields()), Ok(()));
        let clock = context.clone();
        context.spawn(async move { clock.sleep(3600 * SECOND).await });
        assert_eq!(runtime.block_on(yields()), Ok(()));
        assert!(context.now() < 3600 * SECOND, "nobody waited for the clock");
    });
}

#[test]
fn a_future_that_is_dropped_half_way_leaves_nothing_behind() {
    in_both(|runtime, context| {
        let places = Semaphore::new(1);
        let signal = Signal::default();
        let done = runtime.block_on(async {
            let permit = places.acquire().await;
            {
                let mut waiting = pin!(places.acquire());
                let mut sleep = pin!(context.sleep(MILLISECOND));
                let mut wait = pin!(signal.wait());
                poll_fn(|task| {
                    assert!(waiting.as_mut().poll(task).is_pending());
                    assert!(sleep.as_mut().poll(task).is_pending());
                    assert!(wait.as_mut().poll(task).is_pending());
                    Poll::Ready(())
                })
                .await;
            }
            signal.notify();
            drop(permit);
            drop(places.acquire().await);
            context.sleep(3 * MILLISECOND).await;
            places.free()
        });
        assert_eq!(done, Ok(1));
    });
}

#[test]
fn a_deadlock_is_told_with_the_number_of_tasks() {
    in_both(|runtime, context| {
        let signal = Signal::default();
        for _ in 0..2 {
            let wait = signal.wait();
            context.spawn(wait);
        }
        runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
        let error = runtime.block_on(signal.wait()).expect_err("nobody will ever notify");
        assert_eq!(error.tasks, 2);
        assert!(error.at >= MILLISECOND);
        assert!(error.to_string().contains("2 tasks wait"), "{error}");
    });
}

/// Notes the waker it is polled with, and how often it is polled.
struct Spy {
    waker: Rc<RefCell<Option<Waker>>>,
    polls: Rc<Cell<u32>>,
    ends: bool,
}

impl Future for Spy {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        *self.waker.borrow_mut() = Some(task.waker().clone());
        self.polls.set(self.polls.get() + 1);
        if self.ends { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn a_waker_that_outlives_its_task_wakes_nobody() {
    in_both(|runtime, context| {
        let (old, new) = (Rc::new(RefCell::new(None)), Rc::new(RefCell::new(None)));
        let (first, second) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        context.spawn(Spy { waker: Rc::clone(&old), polls: Rc::clone(&first), ends: true });
        runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
        // Takes the place of the first.
        context.spawn(Spy { waker: Rc::clone(&new), polls: Rc::clone(&second), ends: false });
        runtime.block_on(context.sleep(MILLISECOND)).expect("the sleep ends");
        assert_eq!((first.get(), second.get()), (1, 1));
        let stale: Waker = old.take().expect("the first was polled");
        let again = async {
            stale.wake_by_ref();
            context.sleep(MILLISECOND).await;
        };
        runtime.block_on(again).expect("the sleep ends");
        assert_eq!(second.get(), 1, "a stale waker wakes the one that took the place");
        drop(stale);
    });
}

/// A waker of a combinator: counts, and wakes the task it stands in.
struct Relay {
    count: AtomicU32,
    outer: Waker,
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.outer.wake_by_ref();
    }
}

#[test]
fn a_sleep_inside_a_combinator_wakes_by_the_combinators_waker() {
    in_both(|runtime, context| {
        let mut sleep = pin!(context.sleep(MILLISECOND));
        let mut relay = None;
        let combined = poll_fn(|task| {
            let relay = relay.get_or_insert_with(|| {
                Arc::new(Relay { count: AtomicU32::new(0), outer: task.waker().clone() })
            });
            sleep.as_mut().poll(&mut TaskContext::from_waker(&Waker::from(Arc::clone(relay))))
        });
        runtime.block_on(combined).expect("the sleep ends");
        assert_eq!(relay.expect("it was polled").count.load(Ordering::Relaxed), 1);
    });
}
