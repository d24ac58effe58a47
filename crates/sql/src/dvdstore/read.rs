//! The settings of a DVD Store workload.

use fathom_job::several::{COUNT, OWN};
use fathom_settings::{Key, Section};
use fathom_units::{Bytes, Percent, Span};

use super::input::VisitMix;
use super::scale::Scale;
use crate::settings::{
    ARRIVALS, CHECKSUM, Common, DATABASE, INTERVAL, JOURNAL, LOAD_SESSIONS, SYNCHRONOUS, USERS_PER_SECOND,
    WARM_UP,
};

/// Every key the reader asks for.
pub(super) const KEYS: &[Key] = &[
    DATABASE,
    COUNT,
    OWN,
    Key::optional(
        "size",
        "50kB to 1TB",
        "10MB",
        "The original's nominal size (`db_size`): 10MB, 1GB and 100GB have its numbers of rows. On disk it is several times \
         as much.",
    ),
    Key::optional("reviews_per_product", "1 to 1000", "20", "Reviews of each product in the load."),
    Key::optional(
        "ratings_per_review",
        "2 to 1000",
        "20",
        "Ratings of each review in the load: 2 to twice as many less 1. They are most of the rows.",
    ),
    Key::optional(
        "interface",
        "`procedures` or `statements`",
        "procedures where the database has them",
        "Whether a purchase is one call, or its statements one by one (pipelined on PostgreSQL). Every other operation is one \
         statement.",
    ),
    Key::optional(
        "users",
        "1 to 1000, or a list of such numbers",
        "4",
        "Virtual users (`n_threads`). A list is a sequence: the first number runs twice, and its first run is discarded.",
    ),
    Key::optional(
        "new_customers",
        "percentage",
        "20%",
        "Share of visits by new customers (`pct_newcustomers`); the others log in.",
    ),
    Key::optional(
        "new_members",
        "percentage",
        "1%",
        "Share of visits in which the customer becomes a member (`pct_newmember`).",
    ),
    Key::optional(
        "searches",
        "0 to 100",
        "3",
        "Searches for products in a visit, in the mean (`n_searches`).",
    ),
    Key::optional(
        "search_batch",
        "1 to 500",
        "5",
        "Rows a search may answer, in the mean (`search_batch_size`).",
    ),
    Key::optional(
        "review_searches",
        "0 to 100",
        "3",
        "Searches for reviews in a visit, and as many readings of a product's reviews, in the mean (`n_reviews`).",
    ),
    Key::optional(
        "new_reviews",
        "percentage",
        "5%",
        "Share of visits in which a review is written (`pct_newreviews`).",
    ),
    Key::optional(
        "new_ratings",
        "percentage",
        "10%",
        "Share of visits in which a review is rated (`pct_newhelpfulness`).",
    ),
    Key::optional(
        "line_items",
        "1 to 10",
        "5",
        "Products in a cart, in the mean (`n_line_items`); never more than 10.",
    ),
    Key::optional(
        "skew",
        "0 to 2",
        "0",
        "Zipf's exponent of the products' popularity. 0 is the original: all alike, but every 10,000th ten times as often.",
    ),
    Key::optional(
        "think_time",
        "time span",
        "0s",
        "Mean thinking time after a purchase, none to twice as long (`think_time`).",
    ),
    Key::optional(
        "rate",
        "0.001 to 10^6",
        "as many as the users manage",
        "Operations per second of all users together; latency then counts from the intended start.",
    ),
    ARRIVALS,
    USERS_PER_SECOND,
    WARM_UP,
    Key::optional(
        "ramp",
        "time span",
        "1min",
        "Runs before the measured phase (`warmup_time`); totals leave it out.",
    ),
    Key::optional(
        "duration",
        "time span",
        "60s",
        "Length of the measured phase (`run_time`), of each step of a sequence.",
    ),
    INTERVAL,
    Key::optional(
        "repeated",
        "percentage",
        "0%",
        "Share of every free text that is the same everywhere: how well a storage system can compress the data.",
    ),
    LOAD_SESSIONS,
    CHECKSUM,
    JOURNAL,
    SYNCHRONOUS,
];

/// The settings of a DVD Store workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What all workloads of virtual users have.
    pub common: Common,
    /// Sizes.
    pub scale: Scale,
    /// What shoppers do how often.
    pub habits: VisitMix,
}

impl Config {
    /// Reads the settings; None if anything is wrong, with diagnostics.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let size =
            section.or_in("size", Bytes::new(10_000_000), Bytes::new(50_000)..=Bytes::new(1_000_000_000_000));
        let reviews = section.or_in::<u32>("reviews_per_product", 20, 1..=1000);
        let ratings = section.or_in::<u32>("ratings_per_review", 20, 2..=1000);
        let mut share = |key: &str, percent: f64| {
            section.optional::<Percent>(key).map_or(percent / 100.0, Percent::fraction)
        };
        let (new_customers, new_members) = (share("new_customers", 20.0), share("new_members", 1.0));
        let (new_reviews, new_ratings) = (share("new_reviews", 5.0), share("new_ratings", 10.0));
        let habits = VisitMix {
            new_customers,
            new_members,
            searches: section.or_in::<u32>("searches", 3, 0..=100),
            search_batch: section.or_in::<u32>("search_batch", 5, 1..=500),
            review_searches: section.or_in::<u32>("review_searches", 3, 0..=100),
            new_reviews,
            new_ratings,
            line_items: section.or_in::<u32>("line_items", 5, 1..=10),
            skew: section.or_in::<f64>("skew", 0.0, 0.0..=2.0),
            think_time: section.or("think_time", Span::from_secs(0)).as_nanos(),
        };
        let pauses = (habits.think_time > 0).then_some("think_time");
        let common = Common::read(section, pauses, Span::from_secs(60));
        let scale = Scale::of(size.get(), reviews, ratings);
        section.is_clean().then_some(Self { common, scale, habits })
    }

    /// What identifies the data: everything that changes a loaded row.
    pub fn identity(&self, seed: u64) -> String {
        let Scale { customers, orders, products, reviews, ratings } = self.scale;
        format!(
            "dvd-store {customers} customers {orders} orders {products} products {reviews} reviews {ratings} ratings {} \
             repeated seed {seed}",
            self.common.repeated
        )
    }
}
