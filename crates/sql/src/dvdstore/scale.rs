//! The size of the database, by the original's nominal sizes.

/// Size up to which products grow with the customers, 1,000 for each nominal MB, bytes.
const ALL_GROW: u64 = 100_000_000;

/// Sizes of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Customers.
    pub customers: u32,
    /// Orders of the year before the first run.
    pub orders: u32,
    /// Products.
    pub products: u32,
    /// Reviews of each product.
    pub reviews: u32,
    /// Ratings of a review: 2 to twice as many less 1, all alike.
    pub ratings: u32,
}

impl Scale {
    /// The original's sizes for a nominal size in bytes, 50 kB to 1 TB: 10 MB, 1 GB and 100 GB are its own. In between,
    /// products never become fewer as the size grows; the original has 100,000 at 1 GB and 20,000 at 2 GB.
    pub fn of(nominal: u64, reviews: u32, ratings: u32) -> Self {
        let each = |bytes: u64| u32::try_from(nominal / bytes).unwrap_or(u32::MAX).max(1);
        let products = if nominal <= ALL_GROW { each(1000) } else { each(100_000).max(100_000) };
        Self {
            customers: each(500),
            orders: (u64::from(each(500)) * 3 / 5) as u32,
            products,
            reviews,
            ratings,
        }
    }

    /// Most ratings of a review, right after the load.
    pub fn most_ratings(&self) -> u32 {
        2 * self.ratings - 1
    }

    /// Reviews right after the load.
    pub fn all_reviews(&self) -> u64 {
        u64::from(self.products) * u64::from(self.reviews)
    }

    /// In words, for results.
    pub fn describe(&self) -> String {
        let Self { customers, orders, products, reviews, ratings } = self;
        format!(
            "{customers} customers, {orders} orders, {products} products with {reviews} reviews each, \
             {ratings}.5 ratings per review in the mean"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;

    fn of(nominal: u64) -> (u32, u32, u32) {
        let scale = Scale::of(nominal, 20, 20);
        (scale.customers, scale.orders, scale.products)
    }

    #[test]
    fn the_originals_sizes_have_the_originals_rows() {
        assert_eq!(of(10_000_000), (20_000, 12_000, 10_000));
        assert_eq!(of(1_000_000_000), (2_000_000, 1_200_000, 100_000));
        assert_eq!(of(100_000_000_000), (200_000_000, 120_000_000, 1_000_000));
    }

    #[test]
    fn nothing_becomes_fewer_as_the_size_grows() {
        let sizes: Vec<_> = (0..60).map(|step| of((50_000.0 * 1.33_f64.powi(step)) as u64)).collect();
        let grows = |(one, next): (&(u32, u32, u32), &(u32, u32, u32))| {
            one.0 <= next.0 && one.1 <= next.1 && one.2 <= next.2
        };
        assert!(sizes.iter().zip(&sizes[1..]).all(grows));
    }
}
