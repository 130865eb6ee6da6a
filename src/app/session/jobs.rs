//! What the user is told, and files that are written while the window goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egui::Context;

use super::Session;
use crate::app::exporting::FINISHING;
use crate::app::graphics::Graphics;
use crate::app::job::{Job, JobKind};
use crate::app::ui::JobView;
use crate::app::worker::{Notice, Severity};

#[derive(Default)]
pub struct Jobs {
    list: Vec<Arc<Job>>,
    large: Option<LargePicture>,
    /// The program quits once they are over.
    quits: bool,
}

/// A picture that takes a while to draw: the window says so first.
struct LargePicture {
    job: Arc<Job>,
    size: [u32; 2],
    transparent: bool,
    /// Frames that come before: the first shows that it is made.
    n_before: u32,
}

/// How often the window looks whether a job is over.
const LOOK: Duration = Duration::from_millis(50);

impl Session {
    pub fn tell(&mut self, severity: Severity, text: String) {
        self.pass_on(Notice { severity, text, file: None, scene: None });
    }

    /// Good news about a file.
    pub(super) fn tell_of_file(&mut self, text: String, file: PathBuf) {
        self.pass_on(Notice { severity: Severity::Info, text, file: Some(file), scene: None });
    }

    pub(super) fn pass_on(&mut self, notice: Notice) {
        self.log.say(format_args!("message {}", notice.text.replace('\n', " ")));
        self.ui.tell(notice);
    }

    pub(super) fn add_job(&mut self, job: Arc<Job>) {
        self.jobs.list.push(job);
    }

    /// Draws a picture in the frame after the one that says so.
    pub(super) fn draw_soon(&mut self, job: Arc<Job>, size: [u32; 2], transparent: bool) {
        self.add_job(job.clone());
        self.jobs.large = Some(LargePicture { job, size, transparent, n_before: 2 });
    }

    /// Tells what came of the jobs that are over.
    pub(super) fn look_at_jobs(&mut self, context: &Context, graphics: &mut Graphics) {
        if let Some(large) = &mut self.jobs.large {
            context.request_repaint();
            if large.n_before > 0 {
                large.n_before -= 1;
            } else if let Some(LargePicture { job, size, transparent, .. }) = self.jobs.large.take() {
                self.draw_picture(&job, size, transparent, graphics);
            }
        }
        for job in self.jobs.list.extract_if(.., |job| job.is_over()).collect::<Vec<_>>() {
            let path = job.path.clone();
            match (job.take_told(), job.kind) {
                (Some(Ok(text)), _) if text.is_empty() => self.log.say(format_args!("thrown away {}", path.display())),
                (Some(Ok(text)), kind) => {
                    if kind == JobKind::Picture {
                        self.log.say(format_args!("screenshot {}", path.display()));
                    }
                    self.tell_of_file(text, path);
                }
                (Some(Err(text)), JobKind::Export) => self.tell(Severity::Error, format!("The export failed: {text}")),
                (Some(Err(text)), _) => self.tell(Severity::Error, text),
                (None, _) => {}
            }
        }
        if !self.jobs.list.is_empty() {
            context.request_repaint_after(LOOK);
        }
        self.wishes.quit |= self.jobs.quits && self.jobs.list.is_empty();
    }

    /// Ends what is being written and quits once it is there; asked again, at once.
    pub(super) fn wind_up(&mut self) {
        self.stop_recording();
        let is_early = |job: &Arc<Job>| job.kind == JobKind::Export && !job.is_stopped() && job.progress().stage != FINISHING;
        let ends_export = self.jobs.list.iter().any(is_early);
        self.jobs.list.iter().for_each(|job| job.stop(Some("as Pliant quits")));
        if std::mem::replace(&mut self.jobs.quits, true) || self.jobs.list.is_empty() {
            self.wishes.quit = true;
            return;
        }
        let export = if ends_export { "The export ends here, as Pliant quits: it closes" } else { "Pliant closes" };
        self.tell(Severity::Info, format!("{export} once the file is complete, or at once if you quit again"));
    }

    /// The job that the window shows.
    fn shown_job(&self) -> Option<&Arc<Job>> {
        let is_large = |job: &Arc<Job>| self.jobs.large.as_ref().is_some_and(|large| Arc::ptr_eq(&large.job, job));
        self.jobs.list.iter().find(|job| !job.is_discarded() && (job.is_long() || is_large(job)))
    }

    pub(super) fn job_view(&self) -> Option<JobView> {
        let job = self.shown_job()?;
        let progress = job.progress();
        let may_stop = job.kind == JobKind::Export && !job.is_stopped() && progress.stage != FINISHING;
        Some(JobView { stage: progress.stage, part: progress.part, may_stop })
    }

    /// Ends the job that is shown: what it has written is completed, or thrown away.
    pub(super) fn end_job(&mut self, keeps: bool) {
        let Some(job) = self.shown_job() else { return };
        if keeps {
            job.stop(Some("as you ended it"));
        } else {
            job.discard();
        }
    }
}
