//! The benchmarks of `examples/` with tiny inputs: they check their own answers, and must not rot.

#[path = "../examples/full_stack.rs"]
#[allow(dead_code, reason = "only part of the program is called")]
mod full_stack;
#[path = "../examples/null_layers.rs"]
#[allow(dead_code, reason = "only part of the program is called")]
mod null_layers;

#[test]
fn a_full_stack_runs_and_checks_its_answer() {
    full_stack::run("queued", 128, 2, 48_000.0);
    full_stack::run("busy", 32, 2, 1e6);
}

#[test]
fn layers_that_pass_on_cost_something_in_both_drivers() {
    for real in [false, true] {
        let (bare, stacked) = (null_layers::cost(real, 0, 0, 20_000), null_layers::cost(real, 0, 8, 20_000));
        assert!(bare > 0.0 && stacked > bare, "{bare} ns without layers, {stacked} with eight");
        assert!(null_layers::cost(real, 20_000, 2, 6400) > 0.0);
    }
}
