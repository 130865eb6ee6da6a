//! What is plotted, and plots that are saved.

use super::Session;
use crate::app::files;
use crate::app::plots::{self, Names};
use crate::app::ui::{PlotsFile, PlotsState, PlotsView};
use crate::app::worker::Severity;
use crate::output::OutputFile;
use crate::record::save_png;

impl Session {
    /// Reads the numbers of the steps, while they are plotted and as far as they are new.
    pub(super) fn read_figures(&mut self) {
        if self.ui.plots.open {
            self.time.read_figures(&self.live);
        }
    }

    pub(super) fn plots(&self, state: &PlotsState) -> Option<PlotsView<'_>> {
        let scene = self.live.scene.as_ref().filter(|_| state.open)?;
        let rows = self.time.figures();
        let names = Names { model: &scene.model, probes: &self.points.names, component: state.component };
        Some(PlotsView { rows, times: state.times(rows), names })
    }

    /// Writes the plots under a new name into the pictures folder.
    pub(super) fn save_plots(&mut self, file: PlotsFile) {
        let Some(plots) = self.plots(&self.ui.plots) else { return };
        let saved = match file {
            PlotsFile::Csv => {
                let path = files::unused("pliant-plots", ".csv");
                let text = plots::csv(plots.rows, &plots.names);
                OutputFile::save(&path, text.as_bytes()).map(|()| path).map_err(|error| error.to_string())
            }
            PlotsFile::Picture => {
                let path = files::unused("pliant-plots", ".png");
                let image = plots::picture(&self.ui.plots.charts, plots.rows, &plots.names, plots.times);
                save_png(&path, &image).map(|()| path).map_err(|error| error.to_string())
            }
        };
        match saved {
            Ok(path) => {
                self.log.say(format_args!("plots {}", path.display()));
                self.tell_of_file(format!("The plots are in {}", path.display()), path);
            }
            Err(text) => self.tell(Severity::Error, text),
        }
    }
}
