//! The size of the database: the specification's, or a smaller one for tests, marked as such.

/// Districts of a warehouse; the stock table has one column per district, so it is fixed.
pub const DISTRICTS: u32 = 10;

/// The specification's items, of which every warehouse stocks each one.
pub const SPEC_ITEMS: u32 = 100_000;

/// The specification's customers (and initial orders) of a district.
pub const SPEC_CUSTOMERS: u32 = 3000;

/// Sizes of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses.
    pub warehouses: u32,
    /// Rows of `item`, and of `stock` per warehouse.
    pub items: u32,
    /// Customers, and initial orders, of a district.
    pub customers: u32,
}

impl Scale {
    /// The specification's sizes.
    pub fn spec(warehouses: u32) -> Self {
        Self { warehouses, items: SPEC_ITEMS, customers: SPEC_CUSTOMERS }
    }

    /// Whether items and customers are the specification's.
    pub fn is_spec(&self) -> bool {
        self.items == SPEC_ITEMS && self.customers == SPEC_CUSTOMERS
    }

    /// Initial orders of a district that are delivered; 2,100 of 3,000.
    pub fn delivered(&self) -> u32 {
        self.customers / 10 * 7
    }

    /// Last names in use: every one of the first thousand customers has his own.
    pub fn names(&self) -> u32 {
        self.customers.min(1000)
    }

    /// In words, for results.
    pub fn describe(&self) -> String {
        let Self { warehouses, items, customers } = self;
        if self.is_spec() {
            return format!("{warehouses} warehouses");
        }
        format!(
            "{warehouses} warehouses, scaled down: {items} items instead of {SPEC_ITEMS}, \
             {customers} customers per district instead of {SPEC_CUSTOMERS}"
        )
    }
}
