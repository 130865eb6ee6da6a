//! A virtual display with the program on it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long anything may take. Far longer than it should: the processor may be shared with other tests.
const PATIENCE: Duration = Duration::from_secs(120);

/// Drives one window; closes it, and its display, when dropped.
pub struct Driver {
    display: String,
    server: Child,
    program: Child,
    folder: PathBuf,
    lines: Arc<Lines>,
    /// Lines before this one were looked at.
    seen: usize,
    /// One window at a time: two would leave each other frames of half a second.
    _alone: MutexGuard<'static, ()>,
}

#[derive(Default)]
struct Lines {
    all: Mutex<Vec<String>>,
    grown: Condvar,
}

impl Driver {
    /// Starts the program with a configuration, home and working folder of its own.
    pub fn start(arguments: &[&str]) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        // A test that failed leaves nothing behind.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let name = format!("pliant-window-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // Whoever drives it knows the window: no hints.
        std::fs::create_dir_all(folder.join("config")).unwrap();
        std::fs::write(folder.join("config/settings.json"), "{ \"hints_seen\": true }").unwrap();
        let (server, display) = start_server(&folder);
        let (program, lines) = start_program(&folder, &display, arguments);
        Self { display, server, program, folder, lines, seen: 0, _alone: alone }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The next line that starts with `start`.
    pub fn wait(&mut self, start: &str) -> String {
        self.wait_for(start, |line| line.starts_with(start))
    }

    /// The next line that is wanted; lines before it are gone.
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut all = self.lines.all.lock().unwrap();
        loop {
            if let Some(k) = all.iter().skip(self.seen).position(|line| wanted(line)) {
                self.seen += k + 1;
                return all[self.seen - 1].clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = self.program.try_wait().unwrap();
            if left.is_zero() || ended.is_some() {
                let tail = all[all.len().saturating_sub(25)..].join("\n");
                panic!(
                    "waited in vain for {what}; the program {}; its last words:\n{tail}",
                    ended.map_or("runs".into(), |s| s.to_string())
                );
            }
            all = self.lines.grown.wait_timeout(all, left.min(Duration::from_millis(200))).unwrap().0;
        }
    }

    /// A line that starts so, which may have come before others that were waited for.
    pub fn has_told(&mut self, start: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.last(start) {
                return line;
            }
            assert!(Instant::now() < deadline && self.program.try_wait().unwrap().is_none(), "waited in vain for {start}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the newest line that starts so is this one.
    pub fn comes_to(&self, start: &str, line: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.last(start).as_deref() != Some(line) {
            assert!(Instant::now() < deadline, "waited in vain for {line}; the last one is {:?}", self.last(start));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The newest line of all that starts so.
    pub fn last(&self, start: &str) -> Option<String> {
        self.lines.all.lock().unwrap().iter().rev().find(|line| line.starts_with(start)).cloned()
    }

    /// Where the recording that just ended went.
    pub fn recorded(&mut self) -> PathBuf {
        let ended = |line: &str| line.starts_with("message") && line.contains("frames were recorded into");
        let told = self.wait_for("the end of the recording", ended);
        told.split("recorded into ").nth(1).unwrap().into()
    }

    /// For a while no new line may start so.
    pub fn expect_nothing(&mut self, start: &str, milliseconds: u64) {
        std::thread::sleep(Duration::from_millis(100)); // what was under way may still come
        let before = self.lines.all.lock().unwrap().len();
        std::thread::sleep(Duration::from_millis(milliseconds));
        let all = self.lines.all.lock().unwrap();
        let surprise = all[before..].iter().find(|line| line.starts_with(start));
        assert!(surprise.is_none(), "unexpected: {surprise:?}");
        self.seen = all.len();
    }

    /// Clicks the middle of a named widget, when it is there.
    pub fn click(&mut self, widget: &str) {
        self.bring_cursor_to(widget);
        let before = self.answers();
        self.xdotool(&["click", "1"]);
        self.until_answered(before);
    }

    /// Inputs that were answered with a picture so far.
    fn answers(&self) -> usize {
        self.lines.all.lock().unwrap().iter().filter(|line| line.starts_with("answered ")).count()
    }

    /// Waits for the answer to what came after so many, and for three more pictures: a sheet that grows by it moves in
    /// the next one, and where its widgets are then is told when they stand still. A click that ends the program has no
    /// answer.
    fn until_answered(&self, before: usize) {
        let deadline = Instant::now() + Duration::from_secs(3);
        while self.answers() == before && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let frame = self.last("answered ").and_then(|line| line.split("frame_ms=").nth(1)?.parse::<f64>().ok());
        std::thread::sleep(Duration::from_secs_f64(3.5e-3 * frame.unwrap_or(0.0).min(400.0)));
    }

    /// Where a named widget is now [px].
    pub fn place(&self, widget: &str) -> [i32; 2] {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.newest_place(&format!("widget {widget} "), widget) {
                let xy: Vec<i32> = line.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
                // A sheet that is measured for the first time may be beside the window for a frame.
                if xy[0] >= 0 && xy[1] >= 0 {
                    return [xy[0], xy[1]];
                }
            }
            assert!(Instant::now() < deadline, "the widget {widget} did not appear");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Where a named widget is once it is no longer where it was [px].
    pub fn moved(&self, widget: &str, from: [i32; 2]) -> [i32; 2] {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.place(widget);
            if now != from {
                return now;
            }
            assert!(Instant::now() < deadline, "the widget {widget} stays at {from:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Brings the cursor to the middle of a named widget that a frame after it has left where it was: a bar that comes
    /// with the scene moves others, and frames of a busy machine may take longer than any time that one would wait.
    fn bring_cursor_to(&self, widget: &str) {
        let mut place = self.place(widget);
        loop {
            let before = self.answers();
            // A motion even if the cursor is there.
            self.point_at([place[0] + 1, place[1]]);
            self.move_to(place[0], place[1]);
            self.until_answered(before);
            let now = self.place(widget);
            if now == place {
                return;
            }
            place = now;
        }
    }

    fn newest_place(&self, start: &str, widget: &str) -> Option<String> {
        let gone = format!("gone {widget}");
        let all = self.lines.all.lock().unwrap();
        all.iter().rev().find(|line| line.starts_with(start) || **line == gone).filter(|line| **line != gone).cloned()
    }

    /// Without a window manager nobody else gives the window the keyboard.
    pub fn focus(&self) {
        self.xdotool(&["search", "--sync", "--onlyvisible", "--name", "Pliant", "windowfocus", "--sync"]);
    }

    pub fn key(&self, key: &str) {
        self.xdotool(&["key", key]);
    }

    pub fn type_text(&self, text: &str) {
        self.comes_to("typing ", "typing begun");
        self.xdotool(&["type", "--", text]);
    }

    /// Clicks a point of the window.
    pub fn click_at(&self, [x, y]: [i32; 2]) {
        self.move_to(x, y);
        std::thread::sleep(Duration::from_millis(150));
        self.xdotool(&["click", "1"]);
    }

    /// The same with the right button.
    pub fn right_click_at(&self, [x, y]: [i32; 2]) {
        self.move_to(x, y);
        std::thread::sleep(Duration::from_millis(150));
        self.xdotool(&["click", "3"]);
    }

    /// Brings the cursor to a point.
    pub fn hover(&self, [x, y]: [i32; 2]) {
        self.move_to(x, y);
        std::thread::sleep(Duration::from_millis(150));
    }

    /// Turns the wheel (4 is up, 5 is down) by some notches while a key is held.
    pub fn wheel_with(&self, key: &str, button: u32, notches: u32) {
        self.hold(key, true);
        self.xdotool(&["click", "--repeat", &notches.to_string(), &button.to_string()]);
        self.hold(key, false);
    }

    /// Presses the button on the field of a number, from where it may be dragged; the place.
    pub fn press_field(&mut self, widget: &str) -> [i32; 2] {
        let place = self.last(&format!("widget {widget} ")).unwrap();
        let at: Vec<i32> = place.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
        let before = self.answers();
        self.press(at[0], at[1]);
        self.until_answered(before);
        [at[0], at[1]]
    }

    /// Holds a key down, or lets it go.
    pub fn hold(&self, key: &str, down: bool) {
        self.xdotool(&[if down { "keydown" } else { "keyup" }, key]);
        std::thread::sleep(Duration::from_millis(100));
    }

    pub fn press(&self, x: i32, y: i32) {
        self.move_to(x, y);
        self.xdotool(&["mousedown", "1"]);
    }

    /// Moves the cursor and goes on at once.
    pub fn point_at(&self, [x, y]: [i32; 2]) {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
    }

    pub fn drag(&self, x: i32, y: i32, to_x: i32, to_y: i32, moves: i32) {
        for k in 1..=moves {
            self.move_to(x + (to_x - x) * k / moves, y + (to_y - y) * k / moves);
        }
    }

    pub fn release(&self) {
        self.xdotool(&["mouseup", "1"]);
    }

    /// The part of the screen with this corner and size [px], as it is now: bytes of four for each pixel.
    pub fn screen(&self, [left, top]: [usize; 2], [width, height]: [usize; 2]) -> Vec<u8> {
        // A dump of X11: a head of words, a table of colours, and rows from the top.
        let dump = std::fs::File::open(self.folder.join("Xvfb_screen0")).unwrap();
        let read = |at: usize, length: usize| {
            let mut bytes = vec![0; length];
            dump.read_exact_at(&mut bytes, at as u64).unwrap();
            bytes
        };
        let word = |k: usize| u32::from_be_bytes(read(4 * k, 4).try_into().unwrap()) as usize;
        let (start, stride) = (word(0) + 12 * word(19), word(12));
        (top..top + height).flat_map(|y| read(start + y * stride + 4 * left, 4 * width)).collect()
    }

    /// Time from an input until more than this share of a part of the screen has changed by it, and time that it took
    /// to be sent [s].
    pub fn time_to_change(&self, corner: [usize; 2], size: [usize; 2], share: f64, input: impl Fn(&Self)) -> [f64; 2] {
        let before = self.screen(corner, size);
        let start = Instant::now();
        input(self);
        let sent = start.elapsed().as_secs_f64();
        loop {
            let now = self.screen(corner, size);
            let is_other = |(a, b): (&[u8], &[u8])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 20);
            let others = before.chunks_exact(4).zip(now.chunks_exact(4)).filter(|pair| is_other(*pair)).count();
            if others as f64 > share * (size[0] * size[1]) as f64 {
                return [start.elapsed().as_secs_f64(), sent];
            }
            assert!(start.elapsed() < PATIENCE, "nothing changes on the screen");
        }
    }

    /// Processor time that the program has taken so far [s].
    pub fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.program.id())).unwrap();
        // After the name in brackets; user and system time are the 14th and 15th word, in hundredths.
        let words: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        words[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
    }

    /// Ends the program as a crash would.
    pub fn kill(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }

    /// Starts the program again, in the same folder and on the same display, when it has ended.
    pub fn start_again(&mut self, arguments: &[&str]) {
        assert!(self.program.try_wait().unwrap().is_some(), "it still runs");
        (self.program, self.lines) = start_program(&self.folder, &self.display, arguments);
        self.seen = 0;
    }

    pub fn exit_status(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the window does not close");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn move_to(&self, x: i32, y: i32) {
        self.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
        std::thread::sleep(Duration::from_millis(40));
    }

    fn xdotool(&self, arguments: &[&str]) {
        let done = Command::new("xdotool").args(arguments).env("DISPLAY", &self.display).stdout(Stdio::null()).status();
        let status = done.expect("xdotool is needed: apt-get install xdotool");
        assert!(status.success(), "xdotool {arguments:?}: {status}");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        for child in [&mut self.program, &mut self.server] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn start_program(folder: &Path, display: &str, arguments: &[&str]) -> (Child, Arc<Lines>) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pliant"))
        .args(["--log-events", "/dev/stdout"])
        .args(arguments)
        .current_dir(folder)
        .env("DISPLAY", display)
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .env("XDG_RUNTIME_DIR", folder)
        .env("PLIANT_CONFIG_DIR", folder.join("config"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Arc::new(Lines::default());
    let (output, to) = (program.stdout.take().unwrap(), lines.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            to.all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line);
            to.grown.notify_all();
        }
    });
    (program, lines)
}

/// A virtual screen on a display number that the server finds itself, with room for the window of usual size between
/// the bars of a desktop.
fn start_server(folder: &Path) -> (Child, String) {
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1440x900x24", "-nolisten", "tcp", "-noreset"])
        // Where its pixels can be read.
        .arg("-fbdir")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Xvfb is needed: apt-get install xvfb");
    let mut number = String::new();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut number).unwrap();
    assert!(!number.trim().is_empty(), "Xvfb did not start");
    // Keep its end open.
    std::thread::spawn(move || std::io::copy(&mut output.by_ref(), &mut std::io::sink()));
    (server, format!(":{}", number.trim()))
}

/// A picture read from a PNG file.
pub struct Picture {
    pub size: [u32; 2],
    pixels: Vec<[u8; 3]>,
}

impl Picture {
    pub fn read(path: &Path) -> Self {
        let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Self { size: [info.width, info.height], pixels: bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect() }
    }

    pub fn distinct_colors(&self) -> usize {
        self.pixels.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The share of pixels that differ clearly from those of another picture.
    pub fn changed_from(&self, other: &Self) -> f64 {
        assert_eq!(self.size, other.size);
        let is_other = |(a, b): (&[u8; 3], &[u8; 3])| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 12);
        self.pixels.iter().zip(&other.pixels).filter(|pair| is_other(*pair)).count() as f64 / self.pixels.len() as f64
    }

    /// The share of pixels for which this holds.
    pub fn share(&self, holds: impl Fn([u8; 3]) -> bool) -> f64 {
        self.pixels.iter().filter(|p| holds(**p)).count() as f64 / self.pixels.len() as f64
    }
}
