//! How much the program says on stderr beside errors and warnings.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::Args;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[derive(Args, Clone, Copy)]
pub struct VoiceArgs {
    /// Say nothing on stderr but errors and warnings
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 1000)]
    quiet: bool,
    /// Say more: what was chosen and why, and what takes the time; -vv: what libraries have to say, too
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 1001)]
    verbose: u8,
}

const QUIET: u8 = 0;
const NORMAL: u8 = 1;
const VERBOSE: u8 = 2;

static VOICE: AtomicU8 = AtomicU8::new(NORMAL);

impl VoiceArgs {
    /// Sets it for the whole program. The variable `PLIANT_LOG` chooses what is logged, if it is set.
    pub fn settle(self) {
        VOICE.store(if self.quiet { QUIET } else { NORMAL + self.verbose.min(1) }, Ordering::Relaxed);
        let wanted = std::env::var("PLIANT_LOG").ok().and_then(|text| text.parse().ok());
        let level = match self.verbose {
            0 | 1 => LevelFilter::ERROR,
            2 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        };
        let filter: Targets = wanted.unwrap_or_else(|| Targets::new().with_default(level));
        tracing_subscriber::registry().with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(filter)).init();
    }
}

/// Whether notes and progress are shown.
pub fn is_heard() -> bool {
    VOICE.load(Ordering::Relaxed) >= NORMAL
}

/// Whether more is told than what everyone wants to know.
pub fn is_verbose() -> bool {
    VOICE.load(Ordering::Relaxed) >= VERBOSE
}

/// Whether messages may have colours: a person reads them, and has not said otherwise (`NO_COLOR`).
pub fn has_colors() -> bool {
    let is_refused =
        std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_refused && std::io::stderr().is_terminal()
}
