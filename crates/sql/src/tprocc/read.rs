//! The settings of a TPROC-C workload.

use fathom_job::several::{COUNT, OWN};
use fathom_settings::{Choice, Key, Section};
use fathom_units::Span;

use super::input::Fidelity;
use super::scale::{SPEC_CUSTOMERS, SPEC_ITEMS, Scale};
use super::terminal::Interface;
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
        "schema",
        "`fathom` or `hammerdb`",
        "fathom",
        "`hammerdb` runs on tables that HammerDB built on PostgreSQL or SQL Server, loads nothing and finds the sizes by \
         counting.",
    ),
    Key::optional("warehouses", "1 to 100000", "10", "Warehouses; about 100 MB each."),
    Key::optional(
        "fidelity",
        "`spec` or `hammerdb`",
        "spec",
        "The specification's skewed keys and deck of cards, or HammerDB's uniform keys and independent draws. It alone \
         changes the miss rate of a cache threefold.",
    ),
    Key::optional(
        "interface",
        "`procedures` or `statements`",
        "procedures where the database has them",
        "One call per transaction, or its statements one by one (pipelined on PostgreSQL).",
    ),
    Key::optional(
        "users",
        "1 to 1000, or a list of such numbers",
        "4",
        "Virtual users. A list is a sequence: the first number runs twice, and its first run is discarded.",
    ),
    Key::optional(
        "home",
        "`all` or `one`",
        "all",
        "Whether a virtual user works for all warehouses by turns or for one of his own, which a cache soon holds.",
    ),
    Key::optional(
        "pauses",
        "`true` or `false`",
        "false",
        "Keying and thinking times: about 21 s around each transaction. With `fidelity = \"hammerdb\"` HammerDB's.",
    ),
    Key::optional(
        "rate",
        "0.001 to 10^6",
        "as many as the users manage",
        "Transactions per second of all users together; latency then counts from the intended start.",
    ),
    ARRIVALS,
    USERS_PER_SECOND,
    WARM_UP,
    Key::optional("ramp", "time span", "30s", "Runs before the measured phase; totals leave it out."),
    Key::optional(
        "duration",
        "time span",
        "60s",
        "Length of the measured phase, of each step of a sequence.",
    ),
    INTERVAL,
    Key::optional(
        "repeated",
        "percentage",
        "0%",
        "Share of every text that is the same everywhere: how well a storage system can compress the data.",
    ),
    LOAD_SESSIONS,
    CHECKSUM,
    Key::optional(
        "items",
        "100 to 100000",
        "100000",
        "Fewer than 100000 is no TPROC-C, but quick; for tests.",
    ),
    Key::optional("customers", "30 to 3000", "3000", "Customers per district; as `items`."),
    JOURNAL,
    SYNCHRONOUS,
];

/// Whose tables a run works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// Those that this workload makes and loads.
    Fathom,
    /// Those that HammerDB built.
    Hammerdb,
}

impl Choice for Schema {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("fathom", Self::Fathom), ("hammerdb", Self::Hammerdb)];
}

/// Whose warehouses a user works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeChoice {
    /// All.
    All,
    /// One each.
    One,
}

impl Choice for HomeChoice {
    const CHOICES: &'static [(&'static str, Self)] = &[("all", Self::All), ("one", Self::One)];
}

/// The settings of a TPROC-C workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What all workloads of virtual users have.
    pub common: Common,
    /// Whose tables.
    pub schema: Schema,
    /// Sizes of what is loaded; those of a schema of HammerDB are found.
    pub scale: Scale,
    /// Whose rules.
    pub fidelity: Fidelity,
    /// Whose warehouses.
    pub home: HomeChoice,
}

impl Config {
    /// Reads the settings; None if anything is wrong, with diagnostics.
    pub fn read(section: &mut Section<'_>) -> Option<Self> {
        let scale = Scale {
            warehouses: section.or_in::<u32>("warehouses", 10, 1..=100_000),
            items: section.or_in::<u32>("items", SPEC_ITEMS, 100..=SPEC_ITEMS),
            customers: section.or_in::<u32>("customers", SPEC_CUSTOMERS, 30..=SPEC_CUSTOMERS),
        };
        let schema = section.or("schema", Schema::Fathom);
        if schema == Schema::Hammerdb {
            refuse_sizes(section);
        }
        let pauses = section.or("pauses", false);
        let common = Common::read(section, pauses.then_some("pauses"), Span::from_secs(30));
        let fidelity = section.or("fidelity", Fidelity::Spec);
        if schema == Schema::Hammerdb
            && common.interface == Some(Interface::Procedures)
            && fidelity != Fidelity::Hammerdb
        {
            let message =
                "procedures of a schema of HammerDB are HammerDB's own, which draw items in its way";
            section.error_at("interface", message, "set fidelity = \"hammerdb\", or use \"statements\"");
        }
        let home = section.or("home", HomeChoice::All);
        section.is_clean().then_some(Self { common, schema, scale, fidelity, home })
    }

    /// What identifies the data: everything that changes a loaded row.
    pub fn identity(&self, seed: u64) -> String {
        let Scale { warehouses, items, customers } = self.scale;
        format!(
            "tproc-c {warehouses} warehouses {items} items {customers} customers {} repeated seed {seed}",
            self.common.repeated
        )
    }
}

/// Nothing is loaded into a schema that is there.
fn refuse_sizes(section: &Section<'_>) {
    for key in ["warehouses", "items", "customers", "repeated", "load_sessions", "checksum"] {
        if section.has(key) {
            section.error_at(
                key,
                "HammerDB has built the tables already",
                "leave this out: sizes are counted",
            );
        }
    }
}
