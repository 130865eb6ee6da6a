//! The guide, as it ships with the program: the files of `docs/guide` with their pictures.

/// A page of the guide.
pub struct Page {
    /// Its file.
    pub file: &'static str,
    /// As lists call it.
    pub title: &'static str,
    pub text: &'static str,
}

macro_rules! pages {
    ($($file:literal: $title:literal,)*) => {
        /// In the order in which they are read.
        pub const PAGES: &[Page] = &[$(Page { file: $file, title: $title, text: include_str!(concat!("../../docs/guide/", $file)) }),*];
    };
}

macro_rules! pictures {
    ($($file:literal,)*) => {
        /// Paths of pictures as pages name them, and the PNG files.
        pub const PICTURES: &[(&str, &[u8])] = &[$(($file, include_bytes!(concat!("../../docs/guide/", $file)))),*];
    };
}

pages! {
    "first-body.md": "Your first body",
    "bodies.md": "Bodies by mouse",
    "materials.md": "Materials",
    "contact.md": "Contact",
    "inside.md": "Looking inside",
    "time.md": "Time and branches",
    "pictures.md": "Views, pictures and films",
    "exports.md": "Taking results with you",
    "command-line.md": "Without a window",
    "methods.md": "Methods",
    "../scene-reference.md": "Values of a scene",
    "../verify.md": "Known answers",
}

pictures! {
    "images/import.png",
    "images/materials.png",
    "images/contacts.png",
    "images/stress.png",
    "images/tets.png",
    "images/time.png",
    "images/inside.png",
    "images/brush.png",
}

/// The place of the page of a file among [`PAGES`].
pub fn page_of(file: &str) -> Option<usize> {
    PAGES.iter().position(|page| page.file == file)
}

pub fn picture(path: &str) -> Option<&'static [u8]> {
    PICTURES.iter().find(|(known, _)| *known == path).map(|(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::app::markdown::{Block, parse};

    #[test]
    fn every_page_is_there_with_its_pictures() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide");
        let named = |folder: &Path, ending: &str| {
            let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
            names.sort();
            names
        };
        let mut files: Vec<&str> = PAGES.iter().map(|page| page.file).filter(|file| !file.starts_with("../")).collect();
        files.sort_unstable();
        assert_eq!(named(&folder, ".md"), files);

        let mut used = vec![];
        for page in PAGES {
            let blocks = parse(page.text);
            let Some(Block::Heading(1, title)) = blocks.first() else { panic!("{} has no title", page.file) };
            assert!(!title.is_empty() && blocks.len() > 3, "{}", page.file);
            for block in &blocks {
                if let Block::Picture { path, words } = block {
                    let bytes = picture(path).unwrap_or_else(|| panic!("{}: {path} is not in the program", page.file));
                    assert!(bytes.starts_with(b"\x89PNG") && !words.is_empty(), "{path}");
                    used.push(path.trim_start_matches("images/").to_owned());
                }
            }
        }
        used.sort();
        // Those of the README are its own.
        let own = ["gallery.png", "window.png"];
        let all: Vec<String> = named(&folder.join("images"), ".png").into_iter().filter(|name| !own.contains(&name.as_str())).collect();
        assert_eq!(all, used, "pictures that no page shows, or that are not there");
        let script = std::fs::read_to_string(folder.join("../../scripts/pictures.py")).unwrap();
        for name in all.iter().map(String::as_str).chain(own) {
            assert!(script.contains(name), "scripts/pictures.py does not make {name}");
        }
    }
}
