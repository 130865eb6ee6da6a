//! The Markdown that the guide is written in, as blocks to be drawn: headings, paragraphs, lists, code, pictures,
//! tables.

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// 1 is the title of the page.
    Heading(u8, Vec<Span>),
    Paragraph(Vec<Span>),
    /// An entry of a list.
    Item(Vec<Span>),
    Code(String),
    Picture {
        path: String,
        words: String,
    },
    /// Rows of cells; the first row is the head, and may be empty.
    Table(Vec<Vec<Vec<Span>>>),
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub text: String,
    pub style: Style,
    /// What it leads to.
    pub link: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Emphasis,
    Strong,
    Code,
}

/// The blocks of a page.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = vec![];
    let mut lines = text.lines().peekable();
    let mut paragraph = String::new();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        let is_special = trimmed.is_empty() || starts_block(line);
        if is_special && !paragraph.is_empty() {
            blocks.push(Block::Paragraph(spans(&std::mem::take(&mut paragraph))));
        }
        if trimmed.is_empty() {
            continue;
        }
        if let Some(picture) = picture(trimmed) {
            blocks.push(picture);
        } else if let Some(code) = line.strip_prefix("    ") {
            let mut code = code.to_owned();
            while let Some(next) = lines.next_if(|next| next.starts_with("    ") || next.trim().is_empty()) {
                code = format!("{code}\n{}", next.strip_prefix("    ").unwrap_or_default());
            }
            blocks.push(Block::Code(code.trim_end().to_owned()));
        } else if trimmed.starts_with("```") {
            let mut code = vec![];
            while let Some(next) = lines.next_if(|next| !next.trim().starts_with("```")) {
                code.push(next);
            }
            lines.next();
            blocks.push(Block::Code(code.join("\n")));
        } else if let Some((level, words)) = heading(trimmed) {
            blocks.push(Block::Heading(level, spans(words)));
        } else if trimmed.starts_with('|') {
            let mut rows = vec![cells(trimmed)];
            while let Some(next) = lines.next_if(|next| next.trim().starts_with('|')) {
                let is_rule = next.chars().all(|c| "|-: ".contains(c));
                rows.extend((!is_rule).then(|| cells(next.trim())));
            }
            blocks.push(Block::Table(rows));
        } else if let Some(words) = trimmed.strip_prefix("- ") {
            let mut words = words.to_owned();
            while let Some(next) = lines.next_if(|next| next.starts_with("  ") && !next.trim().is_empty() && !next.trim().starts_with("- "))
            {
                words = format!("{words} {}", next.trim());
            }
            blocks.push(Block::Item(spans(&words)));
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(trimmed);
        }
    }
    if !paragraph.is_empty() {
        blocks.push(Block::Paragraph(spans(&paragraph)));
    }
    blocks
}

fn starts_block(line: &str) -> bool {
    let trimmed = line.trim();
    line.starts_with("    ")
        || trimmed.starts_with("```")
        || trimmed.starts_with('|')
        || trimmed.starts_with("- ")
        || heading(trimmed).is_some()
        || picture(trimmed).is_some()
}

fn heading(line: &str) -> Option<(u8, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let words = line[level..].strip_prefix(' ')?;
    (1..=4).contains(&level).then_some((level as u8, words))
}

/// A line that is a picture: `![WORDS](PATH)`.
fn picture(line: &str) -> Option<Block> {
    let (words, path) = line.strip_prefix("![")?.strip_suffix(')')?.split_once("](")?;
    Some(Block::Picture { path: path.to_owned(), words: words.to_owned() })
}

fn cells(row: &str) -> Vec<Vec<Span>> {
    row.trim_matches('|').split('|').map(|cell| spans(cell.trim())).collect()
}

/// The pieces of a line: code between backticks, `**strong**`, `*emphasis*` and links.
fn spans(text: &str) -> Vec<Span> {
    let mut found = vec![];
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let piece = match first {
            '`' => delimited(rest, "`").map(|(inner, after)| (Span { text: inner.into(), style: Style::Code, link: None }, after)),
            '*' if rest.starts_with("**") => {
                delimited(rest, "**").map(|(inner, after)| (Span { text: inner.into(), style: Style::Strong, link: None }, after))
            }
            '*' => delimited(rest, "*").map(|(inner, after)| (Span { text: inner.into(), style: Style::Emphasis, link: None }, after)),
            '[' => link(rest),
            _ => None,
        };
        match piece {
            Some((span, after)) => {
                if !plain.is_empty() {
                    found.push(Span { text: std::mem::take(&mut plain), style: Style::Plain, link: None });
                }
                found.push(span);
                rest = after;
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if !plain.is_empty() {
        found.push(Span { text: plain, style: Style::Plain, link: None });
    }
    found
}

fn delimited<'a>(text: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let inner = &text[mark.len()..];
    let end = inner.find(mark).filter(|end| *end > 0)?;
    Some((&inner[..end], &inner[end + mark.len()..]))
}

fn link(text: &str) -> Option<(Span, &str)> {
    let (words, rest) = text[1..].split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    let is_one = !words.contains(['[', ']', '\n']);
    is_one.then(|| (Span { text: words.replace('`', ""), style: Style::Plain, link: Some(target.to_owned()) }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Span {
        Span { text: text.into(), style: Style::Plain, link: None }
    }

    #[test]
    fn a_page_is_its_blocks() {
        let text = "# Title\n\nOne line\nand **another** of `code`.\n\n![A picture](images/a.png)\n\n- first\n  goes on\n- [second](b.md)\n\n    \
                    pliant run\n      more\n\n```toml\na = 1\n```\n\n| | |\n|---|---|\n| `a` | b * c |\n";
        let code = Span { text: "code".into(), style: Style::Code, link: None };
        let strong = Span { text: "another".into(), style: Style::Strong, link: None };
        let second = Span { text: "second".into(), style: Style::Plain, link: Some("b.md".into()) };
        let a = Span { text: "a".into(), style: Style::Code, link: None };
        assert_eq!(
            parse(text),
            [
                Block::Heading(1, vec![plain("Title")]),
                Block::Paragraph(vec![plain("One line and "), strong, plain(" of "), code, plain(".")]),
                Block::Picture { path: "images/a.png".into(), words: "A picture".into() },
                Block::Item(vec![plain("first goes on")]),
                Block::Item(vec![second]),
                Block::Code("pliant run\n  more".into()),
                Block::Code("a = 1".into()),
                Block::Table(vec![vec![vec![], vec![]], vec![vec![a], vec![plain("b * c")]]]),
            ]
        );
    }

    #[test]
    fn marks_without_an_end_are_letters() {
        assert_eq!(spans("2 * 3 [x] `y"), [plain("2 * 3 [x] `y")]);
        assert_eq!(spans(""), []);
    }
}
