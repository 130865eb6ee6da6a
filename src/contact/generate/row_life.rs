//! What has happened to the row of a contact in this step.

/// Counts of one row's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowLife {
    /// How often the features have crossed in trials of this step: what crossed once keeps its row, even where the features slide off each
    /// other.
    pub crossings: u32,
    pub renewals: u32,
    /// The gap at the last renewal, and the one that the row was given then [m].
    pub last_gap: f64,
    pub last_given: f64,
}
