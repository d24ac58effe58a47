//! Bugs of the sharing of devices made on purpose (`mutations.rs`).

mutations! {
    BackgroundTakesAll: "background work goes to the device whether or not there is room",
    DrainKeepsCalm: "destaging that somebody waits for is guaranteed no more than without hurry",
    UsersTakeAll: "background work is owed nothing while users are about",
}
