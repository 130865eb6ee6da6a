//! Matrix Market files [Boisvert, Pozo, Remington 1996]: real, integer or pattern; general or symmetric; coordinate or
//! array.
//!
//! `sprs` 0.11 reads such files too, and the tests compare with it. It is not the reader here because it names no line
//! in its errors, waits for ever at a file that ends before its size line, reserves the memory that a size line
//! promises, panics at an index outside the matrix, passes over entries beyond those that were promised, and takes
//! neither arrays nor, as real numbers, integers and patterns.

use super::Csr;

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum MarketError {
    #[error("{name}:{line}: {found}; expected {expected}")]
    Line { name: String, line: usize, found: String, expected: String },
    #[error("{name}: it ends after {found} entries; its size line promises {promised}")]
    Short { name: String, found: usize, promised: u64 },
}

/// Values that a file may have.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    Number,
    /// None: every entry is 1.
    Pattern,
}

/// Rows or columns that a matrix may have: indices are u32.
const MOST: u64 = u32::MAX as u64;
/// Bytes that the row starts of a matrix may take beyond those of its entries. A size line alone must not take the
/// memory.
const EMPTY_ROWS: u64 = 1 << 24;

/// The matrix in `text`. Both triangles of a symmetric one are filled. `name` is for messages. The number of entries
/// that the header promises is compared with those found, and never used to reserve memory.
pub fn parse_market(name: &str, text: &str) -> Result<Csr, MarketError> {
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    let wrong = |line: usize, found: &str, expected: &str| {
        let found = match found.trim() {
            "" => "the line is empty".into(),
            found => format!("found \"{}\"", found.chars().take(60).collect::<String>()),
        };
        MarketError::Line { name: name.into(), line, found, expected: expected.into() }
    };
    let banner = "\"%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric\"";
    let (_, first) = lines.next().unwrap_or((1, ""));
    let words: Vec<String> = first.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ["%%matrixmarket", "matrix", format @ ("coordinate" | "array"), field, symmetry @ ("general" | "symmetric")] = words[..] else {
        return Err(wrong(1, first, banner));
    };
    let values = match field {
        "real" | "integer" => Values::Number,
        "pattern" if format == "coordinate" => Values::Pattern,
        _ => return Err(wrong(1, first, banner)),
    };
    let symmetric = symmetry == "symmetric";
    let mut lines = lines.filter(|(_, line)| !line.starts_with('%') && !line.trim().is_empty());

    let n_sizes = if format == "array" { 2 } else { 3 };
    let expected = if format == "array" { "the numbers of rows and columns" } else { "the numbers of rows, columns and entries" };
    let (number, line) = lines.next().unwrap_or((text.lines().count() + 1, ""));
    let sizes: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    if sizes.len() != n_sizes || line.split_whitespace().count() != n_sizes {
        return Err(wrong(number, line, expected));
    }
    let (n_rows, n_columns) = (sizes[0], sizes[1]);
    if n_rows == 0 || n_columns == 0 || n_rows > MOST || n_columns > MOST {
        return Err(wrong(number, line, &format!("between 1 and {MOST} rows and columns")));
    }
    if symmetric && n_rows != n_columns {
        return Err(wrong(number, line, "as many rows as columns, because it is symmetric"));
    }
    let (size_line, size_text) = (number, line);

    let mut triplets = vec![];
    let mut found = 0;
    let mut put = |row: u64, column: u64, value: f64| {
        let (row, column) = (row as u32, column as u32);
        triplets.push((row, column, value));
        if symmetric && row != column {
            triplets.push((column, row, value));
        }
    };
    let value_of = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite());
    let promised;
    if format == "array" {
        promised = if symmetric { n_rows * (n_rows + 1) / 2 } else { n_rows.saturating_mul(n_columns) };
        let (mut row, mut column) = (0, 0);
        for (number, line) in lines {
            for word in line.split_whitespace() {
                if column == n_columns {
                    return Err(wrong(number, line, &format!("no more than {promised} entries")));
                }
                put(row, column, value_of(word).ok_or_else(|| wrong(number, line, "a finite number"))?);
                found += 1;
                row += 1;
                if row == n_rows {
                    column += 1;
                    row = if symmetric { column } else { 0 };
                }
            }
        }
    } else {
        promised = sizes[2];
        let expected = match values {
            Values::Number => format!("a row from 1 to {n_rows}, a column from 1 to {n_columns} and a finite number"),
            Values::Pattern => format!("a row from 1 to {n_rows} and a column from 1 to {n_columns}"),
        };
        for (number, line) in lines {
            let mut words = line.split_whitespace();
            let mut index = |most: u64| words.next().and_then(|word| word.parse::<u64>().ok()).filter(|i| (1..=most).contains(i));
            let (row, column) = (index(n_rows), index(n_columns));
            let value = if values == Values::Pattern { Some(1.0) } else { words.next().and_then(value_of) };
            let (Some(row), Some(column), Some(value), None) = (row, column, value, words.next()) else {
                return Err(wrong(number, line, &expected));
            };
            if symmetric && column > row {
                return Err(wrong(number, line, "an entry of the lower triangle, because the matrix is symmetric"));
            }
            if found as u64 == promised {
                return Err(wrong(number, line, &format!("no more than the {promised} entries of the size line")));
            }
            put(row - 1, column - 1, value);
            found += 1;
        }
    }
    if (found as u64) < promised {
        return Err(MarketError::Short { name: name.into(), found, promised });
    }
    if n_rows > 16 * triplets.len() as u64 + EMPTY_ROWS {
        return Err(wrong(size_line, size_text, "fewer rows: nearly all of them are empty"));
    }
    Ok(Csr::from_triplets(n_rows as usize, n_columns as usize, triplets))
}
