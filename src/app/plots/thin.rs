//! Many points in few columns of pixels: of each column its least and its greatest value.

use super::{Curve, Rows};

/// The values of a curve in one column of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Counted from the left.
    pub place: usize,
    pub least: f64,
    pub greatest: f64,
    pub mean: f64,
    /// The value of its last row.
    pub last: f64,
}

/// The rows between two times [s], with one on each side where there is one, so that lines go on to the edge.
pub fn span(rows: &Rows, [from, to]: [f64; 2]) -> &Rows {
    let first = rows.partition_point(|row| row.time < from).saturating_sub(1);
    let last = (rows.partition_point(|row| row.time <= to) + 1).min(rows.len());
    &rows[first.min(last)..last]
}

/// A curve between two times [s] in `n` columns; those without a value are left out.
pub fn columns(rows: &Rows, curve: &Curve, [from, to]: [f64; 2], n: usize) -> Vec<Column> {
    let scale = n as f64 / (to - from).max(f64::MIN_POSITIVE);
    let mut columns: Vec<Column> = vec![];
    let mut count = 0.0;
    for row in rows {
        let Some(value) = curve.value(row) else { continue };
        let place = (((row.time - from) * scale).floor().max(0.0) as usize).min(n.saturating_sub(1));
        match columns.last_mut().filter(|column| column.place == place) {
            Some(column) => {
                count += 1.0;
                column.least = column.least.min(value);
                column.greatest = column.greatest.max(value);
                column.mean += (value - column.mean) / count;
                column.last = value;
            }
            None => {
                count = 1.0;
                columns.push(Column { place, least: value, greatest: value, mean: value, last: value });
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sim::past::Figures;

    #[test]
    fn no_peak_is_lost_in_few_columns() {
        let row =
            |k: usize| Figures { time: 0.001 * k as f64, grab_force: if k == 5432 { 9.0 } else { (k % 2) as f64 }, ..Figures::default() };
        let rows: Vec<_> = (0..10_000).map(|k| Arc::new(row(k))).collect();
        let curve = Curve { name: String::new(), value: Box::new(|row| Some(row.grab_force)) };
        let columns = columns(&rows, &curve, [0.0, 10.0], 100);
        assert_eq!(columns.len(), 100);
        let peaks: Vec<_> = columns.iter().filter(|column| column.greatest > 1.0).map(|column| (column.place, column.greatest)).collect();
        assert_eq!(peaks, [(54, 9.0)]);
        assert!(columns.iter().all(|column| column.least == 0.0 && (0.49..0.6).contains(&column.mean)));
    }

    #[test]
    fn a_span_goes_on_to_its_edges() {
        let rows: Vec<_> = (0..10).map(|k| Arc::new(Figures { time: f64::from(k), ..Figures::default() })).collect();
        let times = |range| span(&rows, range).iter().map(|row| row.time).collect::<Vec<_>>();
        assert_eq!(times([2.5, 4.5]), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(times([-1.0, 0.5]), [0.0, 1.0]);
        assert_eq!(times([20.0, 30.0]), [9.0]);
        assert!(span(&[], [0.0, 1.0]).is_empty());
    }
}
