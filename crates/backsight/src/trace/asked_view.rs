//! The view of a trace that the options ask for: lines of a format, and a summary.

use backsight_syscall_decode::descriptor_set::DescriptorSet;
use backsight_syscall_decode::json::JsonWriter;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_syscall_decode::text::{self, LinePrefix, TextWriter};
use backsight_tracer::descriptors::{DescriptorDetails, ProcResolver};
use backsight_tracer::expressions::{DisplaySettings, QuietSettings};
use backsight_tracer::options::SignalSet;
use backsight_tracer::output::{EventFormat, EventView};
use backsight_tracer::perfetto::PerfettoWriter;
use backsight_tracer::processes::PidDetails;
use backsight_tracer::recording::{RecordingHeader, RecordingWriter};
use backsight_tracer::result_details::ResultDetails;
use backsight_tracer::summary::TraceSummary;
use miette::IntoDiagnostic as _;

use super::TraceArgs;

impl TraceArgs {
    /// How things are shown, as far as `-e` doesn't say it.
    pub(super) fn display(&self) -> DisplaySettings {
        let format = &self.format;
        DisplaySettings {
            aspects: match format.descriptors {
                0 => DescriptorDetails::default(),
                1 => DescriptorDetails::PATHS,
                _ => DescriptorDetails::ALL,
            },
            processes: PidDetails::default(),
            results: ResultDetails::default(),
            full: if format.in_full > 0 {
                SyscallSet::all()
            } else {
                SyscallSet::none()
            },
            opaque: SyscallSet::none(),
            raw: SyscallSet::none(),
            reads: DescriptorSet::default(),
            writes: DescriptorSet::default(),
            quiet: QuietSettings {
                attach: format.quietly > 0,
                personality: format.quietly > 0,
                exit: format.quietly > 1,
                superseded: format.quietly > 2,
                paths: format.quietly > 2,
                named: false,
            },
        }
    }

    /// How events are shown; `wall` is what is added to their clock to have nanoseconds since 1970.
    pub(super) fn shown(
        &self,
        wall: i64,
        display: DisplaySettings,
        counted: SyscallSet,
        signals: SignalSet,
    ) -> miette::Result<EventView> {
        let (aspects, processes, results) = (display.aspects, display.processes, display.results);
        let format = &self.format;
        let lines = if self.record.is_some() {
            let command = self.command.iter();
            let header = RecordingHeader {
                wall,
                command: command
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect(),
            };
            EventFormat::Recording(Some(RecordingWriter::new(&header).into_diagnostic()?))
        } else if self.summary.only_counts() {
            EventFormat::None
        } else if format.perfetto {
            EventFormat::Perfetto(PerfettoWriter::default())
        } else if format.json {
            let json = JsonWriter::new(format.strings);
            EventFormat::Json(if aspects.is_empty() {
                json
            } else {
                json.with_resolver(ProcResolver::new(aspects))
            })
        } else {
            let text = TextWriter::new(self.text(wall, display, signals));
            let files = ProcResolver::new(aspects)
                .with_results(results)
                .with_processes(processes, format.escapes());
            EventFormat::Text(Box::new(text.with_resolver(files)))
        };
        let summary = &self.summary;
        miette::ensure!(
            !(format.perfetto && summary.is_asked_for()),
            "--perfetto lists events for a viewer, which shows no summary; leave out --perfetto, or what asks for the summary"
        );
        miette::ensure!(
            !(self.each() && summary.is_asked_for()),
            "-ff writes a file for each thread, and a summary is one of all; leave out -ff (-f follows without), or what asks for the summary"
        );
        miette::ensure!(
            !(self.each() && self.is_piped()),
            "-ff writes a file for each thread, and one command can't read them all; name a file behind -o, or leave out -ff (-f follows without)"
        );
        let live = self.replay.is_none();
        let distributions = summary.shows_distributions()?;
        let new = || TraceSummary::new(summary.grouping(), counted, distributions, live);
        Ok(EventView {
            lines,
            summary: summary.is_asked_for().then(new),
            view: summary.view(format.json, live && summary.counts_work())?,
        })
    }

    fn text(&self, wall: i64, display: DisplaySettings, signals: SignalSet) -> text::TextOptions {
        let silent = self.is_silent(&display);
        let format = &self.format;
        let time = format.time();
        text::TextOptions {
            string: format.strings,
            full: display.full,
            opaque: display.opaque,
            raw: display.raw,
            reads: display.reads,
            writes: display.writes,
            escapes: format.escapes(),
            constants: format.constants(),
            column: format.columns,
            prefix: match (self.each(), self.follows(), self.begun_with(), &self.output) {
                (true, ..) => LinePrefix::Nobody,
                _ if format.always_show_pid => LinePrefix::Plain,
                (_, 0, 0..=1, _) => LinePrefix::Nobody,
                (.., Some(_)) => LinePrefix::Plain,
                (.., None) => LinePrefix::Bracketed,
            },
            time,
            since: format.since(),
            took: format.took(),
            numbered: format.syscall_number,
            argument_names: format.argument_names,
            colors: format.colors(self.output.is_some()),
            instructions: format.instruction_pointer,
            wall,
            // What the zone is called is looked for in every folder of the zones, for whom it matters.
            zone: match time {
                Some(time) if !time.epoch => jiff::Zoned::now().offset().seconds().into(),
                _ => 0,
            },
            // Into a file, threads come and go without a word.
            attached: !display.quiet.attach && self.output.is_none(),
            exits: !display.quiet.exit,
            modes: !display.quiet.personality && (self.output.is_none() || !silent),
            superseded: !display.quiet.superseded,
            signals: signals.bits(),
        }
    }
}
