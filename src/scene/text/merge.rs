//! A value of a file becomes another one. Of lists and tables only what is other changes: lines, order, spelling and
//! comments of all else stay, whether a list stands on one line, on several or in tables of its own.

use toml_edit::{Array, ArrayOfTables, InlineTable, Item, Table as TomlTable, TableLike, Value as TomlValue};

/// Gives an item another value. Tables and lists of tables that stand on lines of their own stay so.
pub fn merge(item: &mut Item, value: TomlValue) {
    match (item, value) {
        (Item::Value(before), value) => merge_value(before, value),
        (Item::Table(before), TomlValue::InlineTable(value)) => merge_table(before, &value),
        (Item::ArrayOfTables(before), TomlValue::Array(value)) if value.iter().all(TomlValue::is_inline_table) => {
            merge_tables(before, &value);
        }
        (item, mut value) => {
            value.decor_mut().clear();
            *item = Item::Value(value);
        }
    }
}

/// Gives a value in a list or a table another one.
pub fn merge_value(before: &mut TomlValue, mut value: TomlValue) {
    if is_same(before, &value) {
        return;
    }
    match (before, &value) {
        (TomlValue::Array(before), TomlValue::Array(value)) => merge_array(before, value),
        (TomlValue::InlineTable(before), TomlValue::InlineTable(value)) => merge_table(before, value),
        (before, _) => {
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
    }
}

fn merge_table(table: &mut dyn TableLike, value: &InlineTable) {
    let left_out: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).filter(|key| !value.contains_key(key)).collect();
    left_out.iter().for_each(|key| drop(table.remove(key)));
    for (key, value) in value {
        match table.get_mut(key) {
            Some(item) => merge(item, value.clone()),
            None => {
                // Spaces of the entry on one line that it comes from.
                let mut value = value.clone();
                value.decor_mut().clear();
                // The space before the brace of a table on one line comes after the last value.
                if let Some((_, Item::Value(last))) = table.iter_mut().last()
                    && let Some(space) = last.decor().suffix().and_then(|raw| raw.as_str()).filter(|text| text.trim().is_empty())
                {
                    value.decor_mut().set_suffix(space);
                    last.decor_mut().set_suffix("");
                }
                table.insert(key, Item::Value(value));
            }
        }
    }
}

/// A list whose tables stand on lines of their own.
fn merge_tables(list: &mut ArrayOfTables, value: &Array) {
    let before: Vec<TomlTable> = list.iter().cloned().collect();
    let value: Vec<&InlineTable> = value.iter().filter_map(TomlValue::as_inline_table).collect();
    let places = places_before(before.len(), value.len(), |place, k| is_same_table(&before[place], value[k]));
    list.clear();
    for (value, place) in value.into_iter().zip(places) {
        list.push(match place {
            Some(place) => {
                let mut table = before[place].clone();
                if !is_same_table(&table, value) {
                    merge_table(&mut table, value);
                }
                table
            }
            None => own_lines(value.clone()),
        });
    }
}

/// A table whose entries stand on lines of their own.
pub fn own_lines(table: InlineTable) -> TomlTable {
    let mut table = table.into_table();
    table.fmt();
    table
}

/// An entry of a list in brackets.
struct Entry {
    /// What stands before it from the end of a line or the comma on.
    before: String,
    value: TomlValue,
    /// What follows on its line after the comma, as a comment.
    after: String,
}

fn merge_array(array: &mut Array, value: &Array) {
    let has_comma = array.trailing_comma();
    let (mut entries, tail) = entries(array);
    let before: Vec<TomlValue> = entries.iter().map(|entry| entry.value.clone()).collect();
    // The numbers of a vector are told apart by their places.
    let is_vector = before.len() == value.len() && value.iter().all(|value| value.is_float() || value.is_integer());
    let stays = |place: usize, k: usize| !is_vector || place == k;
    let places = places_before(before.len(), value.len(), |place, k| {
        stays(place, k) && value.get(k).is_some_and(|value| is_same(&before[place], value))
    });
    let [first, usual] = [entries.first(), entries.last()].map(|entry| entry.map_or_else(String::new, |entry| entry.before.clone()));
    let mut taken: Vec<Option<Entry>> = entries.drain(..).map(Some).collect();
    array.clear();
    let mut after = String::new();
    let mut n = 0;
    for (value, place) in value.iter().zip(places) {
        let entry = place.and_then(|place| taken[place].take());
        let is_first = n == 0;
        let mut entry = entry.unwrap_or_else(|| {
            let mut value = value.clone();
            value.decor_mut().clear();
            // On a line of its own where the others are; a comment above one of them is not about this one.
            let before = match usual.rsplit_once('\n') {
                Some((_, indent)) => format!("\n{indent}"),
                None => String::new(),
            };
            Entry { before, value, after: String::new() }
        });
        merge_value(&mut entry.value, value.clone());
        if !entry.before.contains('\n') {
            // The first one stands after the bracket, all others after a comma.
            match (is_first, entry.before.is_empty()) {
                (true, _) => entry.before.clone_from(&first),
                (false, true) if place.is_none_or(|place| place == 0) => entry.before.push(' '),
                (false, _) => {}
            }
        }
        entry.value.decor_mut().set_prefix(format!("{after}{}", entry.before));
        entry.value.decor_mut().set_suffix("");
        array.push_formatted(entry.value);
        after = entry.after;
        n += 1;
    }
    array.set_trailing(format!("{after}{tail}"));
    array.set_trailing_comma(has_comma && n > 0);
}

/// The entries of a list in brackets, and what follows the last one and its comment.
fn entries(array: &Array) -> (Vec<Entry>, String) {
    let text = |raw: Option<&toml_edit::RawString>| raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
    // A comment up to the end of the line is of what stands before it.
    let split = |gap: String| match gap.find('\n') {
        Some(end) if gap[..end].contains('#') => (gap[..end].to_owned(), gap[end..].to_owned()),
        _ => (String::new(), gap),
    };
    let mut entries: Vec<Entry> = vec![];
    let mut gap = String::new();
    for value in array {
        gap.push_str(&text(value.decor().prefix()));
        let (comment, before) = if entries.is_empty() { (String::new(), gap) } else { split(gap) };
        if let Some(last) = entries.last_mut() {
            last.after = comment;
        }
        entries.push(Entry { before, value: value.clone(), after: String::new() });
        gap = text(value.decor().suffix());
    }
    gap.push_str(&text(Some(array.trailing())));
    let (comment, tail) = split(gap);
    match entries.last_mut() {
        Some(last) => {
            last.after = comment;
            (entries, tail)
        }
        None => (entries, format!("{comment}{tail}")),
    }
}

/// For each entry of a list, the place that it had before; none of new ones. Those that are the same are found first,
/// in their order; of the others each is what was at its place.
fn places_before(n_before: usize, n: usize, is_same: impl Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let mut from = 0;
    let mut is_taken = vec![false; n_before];
    let mut places: Vec<Option<usize>> = (0..n)
        .map(|k| {
            let place = (from..n_before).find(|place| is_same(*place, k))?;
            from = place + 1;
            is_taken[place] = true;
            Some(place)
        })
        .collect();
    for (k, place) in places.iter_mut().enumerate() {
        if place.is_none() && is_taken.get(k) == Some(&false) {
            is_taken[k] = true;
            *place = Some(k);
        }
    }
    places
}

/// Whether a text says the same of two tables, however they are written.
fn is_same_table(a: &dyn TableLike, b: &dyn TableLike) -> bool {
    let value = |item: &Item| item.clone().into_value().ok();
    let is_there = |(key, b): (&str, &Item)| a.get(key).and_then(value).zip(value(b)).is_some_and(|(a, b)| is_same(&a, &b));
    a.len() == b.len() && b.iter().all(is_there)
}

fn is_same(a: &TomlValue, b: &TomlValue) -> bool {
    match (a, b) {
        (TomlValue::InlineTable(a), TomlValue::InlineTable(b)) => is_same_table(a, b),
        (TomlValue::Array(a), TomlValue::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (TomlValue::Boolean(a), TomlValue::Boolean(b)) => a.value() == b.value(),
        (TomlValue::String(a), TomlValue::String(b)) => a.value() == b.value(),
        _ => {
            let number = |value: &TomlValue| value.as_float().or_else(|| value.as_integer().map(|i| i as f64));
            number(a).is_some() && number(a) == number(b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in which `list` has another value.
    fn merged(text: &str, value: &str) -> String {
        let mut document: toml_edit::DocumentMut = text.parse().unwrap();
        merge(document.get_mut("list").unwrap(), value.parse().unwrap());
        let merged = document.to_string();
        let read: toml_edit::DocumentMut = merged.parse().unwrap();
        assert!(is_same(&read["list"].clone().into_value().unwrap(), &value.parse().unwrap()), "{merged}");
        merged
    }

    const LINES: &str = "list = [ # of three\n    # the first\n    { a = 1, b = 2e0 }, # one\n    { a = 2,  b = 3 }, # two\n    \
                         { a = 3, b = 4 }, # three\n    # the end\n] # all\nx = 1\n";

    #[test]
    fn a_list_on_several_lines_keeps_them() {
        assert_eq!(merged(LINES, "[{ a = 1, b = 2 }, { a = 2, b = 3 }, { a = 3, b = 4 }]"), LINES);
        assert_eq!(merged(LINES, "[{ a = 1, b = 2 }, { a = 2, b = 9 }, { a = 3, b = 4 }]"), LINES.replace("b = 3", "b = 9"));
        // The second goes with its comment.
        assert_eq!(merged(LINES, "[{ a = 1, b = 2 }, { a = 3, b = 4 }]"), LINES.replace("\n    { a = 2,  b = 3 }, # two", ""));
        assert_eq!(merged(LINES, "[{ a = 1, b = 2 }, { a = 2, b = 3 }]"), LINES.replace("\n    { a = 3, b = 4 }, # three", ""));
        let added = merged(LINES, "[{ a = 1, b = 2 }, { a = 2, b = 3 }, { a = 3, b = 4 }, { a = 5, b = 6 }]");
        assert_eq!(added, LINES.replace(" # three\n", " # three\n    { a = 5, b = 6 },\n"));
        assert_eq!(merged("list = [\n  1,\n  2 # two\n]\n", "[1, 3]"), "list = [\n  1,\n  3 # two\n]\n");
        assert_eq!(merged("list = [\n  1.0,\n  2.0,\n]\n", "[1, 5]"), "list = [\n  1.0,\n  5,\n]\n");
    }

    #[test]
    fn a_list_on_one_line_stays_there() {
        let line = "list = [{ a = 1, b = 2 }, {a=2, b=3}] # two\n";
        assert_eq!(merged(line, "[{ a = 1, b = 7 }, { a = 2, b = 3 }]"), line.replace("b = 2", "b = 7"));
        assert_eq!(merged(line, "[{ a = 2, b = 3 }]"), "list = [{a=2, b=3}] # two\n");
        assert_eq!(merged(line, "[{ a = 1, b = 2 }]"), "list = [{ a = 1, b = 2 }] # two\n");
        assert_eq!(merged(line, "[]"), "list = [] # two\n");
        assert_eq!(merged("list = [] # none\n", "[1, 2]"), "list = [1, 2] # none\n");
        assert_eq!(merged("list = [ 1, 2 ]\n", "[1, 2, 3]"), "list = [ 1, 2, 3 ]\n");
        assert_eq!(merged("list = [1,2]\n", "[3, 1, 2]"), "list = [3, 1,2]\n");
    }

    #[test]
    fn tables_keep_their_entries() {
        assert_eq!(merged("list = { a = 1, b = [1, 2] } # t\n", "{ b = [1, 3], c = \"x\" }"), "list = { b = [1, 3], c = \"x\" } # t\n");
        let own = "[list] # t\na = 1 # one\nb = 2\n[list.inner]\nc = 3 # three\n";
        assert_eq!(merged(own, "{ a = 1, b = 2, inner = { c = 4 } }"), own.replace("c = 3", "c = 4"));
    }
}
