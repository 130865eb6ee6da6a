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

/// What the banner and the size line of a file say.
struct Header<'t> {
    name: &'t str,
    is_array: bool,
    values: Values,
    is_symmetric: bool,
    /// Rows and columns.
    sizes: [u64; 2],
    /// Entries that the file promises; found to be so, never used to reserve memory.
    promised: u64,
}

/// Numbered lines that are neither empty nor comments.
type Lines<'t> = dyn Iterator<Item = (usize, &'t str)> + 't;

fn wrong(name: &str, (line, found): (usize, &str), expected: &str) -> MarketError {
    let found = match found.trim() {
        "" => "the line is empty".into(),
        found => format!("found \"{}\"", found.chars().take(60).collect::<String>()),
    };
    MarketError::Line { name: name.into(), line, found, expected: expected.into() }
}

/// The matrix in `text`. Both triangles of a symmetric one are filled. `name` is for messages.
pub fn parse_market(name: &str, text: &str) -> Result<Csr, MarketError> {
    let mut lines = text.lines().enumerate().map(|(number, line)| (number + 1, line));
    let banner = lines.next().unwrap_or((1, ""));
    let mut lines = lines.filter(|(_, line)| !line.starts_with('%') && !line.trim().is_empty());
    let size_line = lines.next().unwrap_or((text.lines().count() + 1, ""));
    let header = Header::parse(name, banner, size_line)?;
    let triplets = if header.is_array { header.array(&mut lines)? } else { header.coordinates(&mut lines)? };
    let [n_rows, n_columns] = header.sizes;
    if n_rows > 16 * triplets.len() as u64 + EMPTY_ROWS {
        return Err(wrong(name, size_line, "fewer rows: nearly all of them are empty"));
    }
    Ok(Csr::from_triplets(n_rows as usize, n_columns as usize, triplets))
}

impl<'t> Header<'t> {
    fn parse(name: &'t str, banner: (usize, &str), size_line: (usize, &str)) -> Result<Self, MarketError> {
        let words: Vec<String> = banner.1.split_whitespace().map(str::to_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let expected = "\"%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric\"";
        let ["%%matrixmarket", "matrix", format @ ("coordinate" | "array"), field, symmetry @ ("general" | "symmetric")] = words[..] else {
            return Err(wrong(name, banner, expected));
        };
        let (is_array, is_symmetric) = (format == "array", symmetry == "symmetric");
        let values = match field {
            "real" | "integer" => Values::Number,
            "pattern" if !is_array => Values::Pattern,
            _ => return Err(wrong(name, banner, expected)),
        };
        let expected = if is_array { "the numbers of rows and columns" } else { "the numbers of rows, columns and entries" };
        let sizes: Vec<u64> = size_line.1.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let (n_rows, n_columns, promised) = match (&sizes[..], is_array) {
            _ if size_line.1.split_whitespace().count() != sizes.len() => return Err(wrong(name, size_line, expected)),
            (&[n, m], true) if is_symmetric => (n, m, n.saturating_mul(n.saturating_add(1)) / 2),
            (&[n, m], true) => (n, m, n.saturating_mul(m)),
            (&[n, m, promised], false) => (n, m, promised),
            _ => return Err(wrong(name, size_line, expected)),
        };
        if n_rows == 0 || n_columns == 0 || n_rows > MOST || n_columns > MOST {
            return Err(wrong(name, size_line, &format!("between 1 and {MOST} rows and columns")));
        }
        if is_symmetric && n_rows != n_columns {
            return Err(wrong(name, size_line, "as many rows as columns, because it is symmetric"));
        }
        Ok(Self { name, is_array, values, is_symmetric, sizes: [n_rows, n_columns], promised })
    }

    /// All entries, column by column; of a symmetric matrix those of the lower triangle.
    fn array(&self, lines: &mut Lines) -> Result<Vec<(u32, u32, f64)>, MarketError> {
        let [n_rows, n_columns] = self.sizes;
        let (mut triplets, mut found, mut row, mut column) = (vec![], 0, 0, 0);
        for line in lines {
            for word in line.1.split_whitespace() {
                if column == n_columns {
                    return Err(wrong(self.name, line, &format!("no more than {} entries", self.promised)));
                }
                let value = value_of(word).ok_or_else(|| wrong(self.name, line, "a finite number"))?;
                self.put([row, column], value, &mut triplets);
                found += 1;
                row += 1;
                if row == n_rows {
                    column += 1;
                    row = if self.is_symmetric { column } else { 0 };
                }
            }
        }
        self.check_count(found)?;
        Ok(triplets)
    }

    /// An entry a line, counted from 1.
    fn coordinates(&self, lines: &mut Lines) -> Result<Vec<(u32, u32, f64)>, MarketError> {
        let [n_rows, n_columns] = self.sizes;
        let expected = match self.values {
            Values::Number => format!("a row from 1 to {n_rows}, a column from 1 to {n_columns} and a finite number"),
            Values::Pattern => format!("a row from 1 to {n_rows} and a column from 1 to {n_columns}"),
        };
        let (mut triplets, mut found) = (vec![], 0);
        for line in lines {
            let mut words = line.1.split_whitespace();
            let mut index = |most: u64| words.next().and_then(|word| word.parse::<u64>().ok()).filter(|i| (1..=most).contains(i));
            let (row, column) = (index(n_rows), index(n_columns));
            let value = if self.values == Values::Pattern { Some(1.0) } else { words.next().and_then(value_of) };
            let (Some(row), Some(column), Some(value), None) = (row, column, value, words.next()) else {
                return Err(wrong(self.name, line, &expected));
            };
            if self.is_symmetric && column > row {
                return Err(wrong(self.name, line, "an entry of the lower triangle, because the matrix is symmetric"));
            }
            if found as u64 == self.promised {
                return Err(wrong(self.name, line, &format!("no more than the {} entries of the size line", self.promised)));
            }
            self.put([row - 1, column - 1], value, &mut triplets);
            found += 1;
        }
        self.check_count(found)?;
        Ok(triplets)
    }

    fn put(&self, [row, column]: [u64; 2], value: f64, triplets: &mut Vec<(u32, u32, f64)>) {
        let (row, column) = (row as u32, column as u32);
        triplets.push((row, column, value));
        if self.is_symmetric && row != column {
            triplets.push((column, row, value));
        }
    }

    fn check_count(&self, found: usize) -> Result<(), MarketError> {
        let Self { name, promised, .. } = *self;
        if (found as u64) < promised { Err(MarketError::Short { name: name.into(), found, promised }) } else { Ok(()) }
    }
}

fn value_of(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|value| value.is_finite())
}
