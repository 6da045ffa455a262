//! Flame graph of the time in system calls, by the stacks that they were made in: the calls of a trace as a profile, whose innermost
//! functions are the calls themselves.

use std::{collections::HashMap, io::Write as _, path::Path};

use backsight_exchange::table::TableOutput;
use backsight_profile::{
    Module, Profile, ProfileBuilder, ProfileEvent, ProfileFrame, ProfileHead, ProfileUnit, Sample,
    Thread, export::ProfileFormat,
};
use backsight_study::{ComparedProfiles, ProfiledSide};
use backsight_syscall_decode::{EventKind, StackFrame, SyscallOutcome, TraceEvent, table};
use backsight_tracer::process_tree::ProcessTree;
use miette::{IntoDiagnostic as _, WrapErr as _};

/// What the file of calls is called in a profile.
const KERNEL: &str = "[kernel]";
/// Most functions of a stack: what a profile may have, less the call.
const DEEPEST_STACK: usize = 4095;

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlameFormat {
    /// The page with the graph.
    Page,
    /// A line a stack.
    Folded,
    /// The profile itself.
    Profile,
}

impl FlameFormat {
    fn from_path(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "html" => Self::Page,
            "folded" => Self::Folded,
            "json" => Self::Profile,
            _ => return None,
        })
    }
}

/// Collects the stacks of calls, with how long the calls took.
#[derive(Debug)]
pub(super) struct FlameGraph {
    /// The file, which is as it was unless all is written.
    out: TableOutput,
    format: FlameFormat,
    builder: ProfileBuilder,
    processes: ProcessTree,
    /// The last call of each thread, whose stack comes right behind it.
    last: HashMap<i32, (String, u64, u64)>,
    calls: u64,
    stacks: u64,
    times: Option<(u64, u64)>,
}

impl FlameGraph {
    /// One that is written into this file at the end. `live`: what is traced runs now.
    pub fn new(path: &Path, live: bool) -> miette::Result<Self> {
        let format = FlameFormat::from_path(path).ok_or_else(|| {
            miette::miette!(
                help = "name it FILE.html for a page, FILE.folded for a line a stack, or FILE.json for a profile that `backsight profile` shows and compares",
                "--flame-graph: what `{}` is to be can't be told from its ending",
                path.display()
            )
        })?;
        // Whether it can be written is said before anything is traced.
        let out = TableOutput::to(Some(path)).into_diagnostic();
        Ok(Self {
            out: out.wrap_err("--flame-graph")?,
            format,
            builder: ProfileBuilder::new(ProfileHead {
                event: ProfileEvent::SystemCalls,
                unit: ProfileUnit::Ns,
                ..ProfileHead::default()
            }),
            processes: ProcessTree::new(live),
            last: HashMap::new(),
            calls: 0,
            stacks: 0,
            times: None,
        })
    }

    /// Takes notice of an event.
    pub fn add(&mut self, event: &TraceEvent) {
        let process = self.processes.add(event);
        let (first, _) = self.times.unwrap_or((event.at, event.at));
        self.times = Some((first.min(event.at), first.max(event.at)));
        match &event.kind {
            EventKind::Call(call) => {
                self.calls += 1;
                let took = match call.outcome {
                    SyscallOutcome::Returned { took, .. } => took,
                    SyscallOutcome::Open => 0,
                };
                let name = match table::find_syscall(call.abi, call.number) {
                    Some(row) => row.name.to_owned(),
                    None => format!("syscall_{:#x}", call.number),
                };
                self.last.insert(event.tid, (name, took, call.entered));
            }
            EventKind::Stack(frames) => {
                if let Some((call, took, at)) = self.last.remove(&event.tid) {
                    self.stacks += 1;
                    let name = &self.processes.nodes()[process].name;
                    let process = String::from_utf8_lossy(name).into_owned();
                    self.add_call(event, process, frames, (call, took, at));
                }
            }
            // A stack behind it is the signal's.
            EventKind::Signal { .. } => {
                self.last.remove(&event.tid);
            }
            _ => {}
        }
    }

    fn add_call(
        &mut self,
        event: &TraceEvent,
        process: String,
        frames: &[StackFrame],
        (call, took, at): (String, u64, u64),
    ) {
        let is_cut = frames.len() > DEEPEST_STACK;
        let frames = frames.iter().take(DEEPEST_STACK).rev();
        let mut stack: Vec<u32> = frames.map(|frame| self.add_frame(frame)).collect();
        let kernel = self.add_module(KERNEL);
        stack.push(self.builder.add_frame(ProfileFrame::new(call, kernel)));
        let stack = self.builder.add_stack(&stack);
        let thread = self.builder.add_thread(Thread {
            pid: event.pid.unsigned_abs(),
            tid: event.tid.unsigned_abs(),
            thread: process.clone(),
            process,
        });
        self.builder.head_mut().truncated += u64::from(is_cut);
        self.builder.add_sample(Sample {
            stack,
            thread,
            weight: took,
            cpu: -1,
            first_ns: at,
        });
    }

    fn add_frame(&mut self, frame: &StackFrame) -> u32 {
        let file = String::from_utf8_lossy(&frame.file).into_owned();
        let module = self.add_module(&file);
        let name = match &frame.function {
            Some((name, _)) => String::from_utf8_lossy(name).into_owned(),
            None => {
                let short = file.rsplit('/').next().unwrap_or(&file);
                format!("[{short}+{:#x}]", frame.offset)
            }
        };
        self.builder.add_frame(ProfileFrame::new(name, module))
    }

    fn add_module(&mut self, path: &str) -> u32 {
        self.builder.add_module(Module {
            path: path.to_owned(),
            build_id: String::new(),
        })
    }

    /// Writes it; `title` says what was traced.
    pub fn finish(mut self, title: &str) -> miette::Result<()> {
        miette::ensure!(
            self.stacks > 0 || self.calls == 0,
            help = "record with -k: `backsight trace -k --record FILE COMMAND`",
            "--flame-graph: there are calls, but none has a stack"
        );
        let head = self.builder.head_mut();
        (head.began_ns, head.ended_ns) = self.times.unwrap_or_default();
        let profile = self.builder.finish();
        profile
            .check()
            .into_diagnostic()
            .wrap_err("--flame-graph")?;
        let bytes = match self.format {
            FlameFormat::Profile => profile.to_json(),
            FlameFormat::Folded => ProfileFormat::Folded.write(&profile, title),
            FlameFormat::Page => page(profile, title)?.into_bytes(),
        };
        let written = self.out.write_all(&bytes);
        written.into_diagnostic().wrap_err("--flame-graph")?;
        self.out.finish().into_diagnostic()
    }
}

fn page(profile: Profile, title: &str) -> miette::Result<String> {
    let side = ProfiledSide {
        name: title.to_owned(),
        trials: vec![profile],
        ..ProfiledSide::default()
    };
    let shown = ComparedProfiles::new(None, side)?;
    backsight_site::profile_page(&shown.report, &shown.tree).into_diagnostic()
}

/// A command as a title.
pub(super) fn title_of_command(words: impl Iterator<Item = String>) -> String {
    const LONGEST: usize = 100;
    let title = words.collect::<Vec<_>>().join(" ");
    match title.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None if title.is_empty() => "system calls".to_owned(),
        None => title,
    }
}
