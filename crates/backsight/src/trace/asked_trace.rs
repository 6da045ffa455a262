//! The trace that the options ask for: which calls, of which command, with what of their memory.

use std::cell::LazyCell;

use backsight_syscall_decode::memory::CaptureLimits;
use backsight_syscall_decode::syscall_set::SyscallSet;
use backsight_tracer::command::{TracedCommand, UserRights};
use backsight_tracer::expressions::{DisplaySettings, apply_expression, known_syscalls};
use backsight_tracer::options::{CallStatus, StatusSet, TraceOptions};
use backsight_tracer::summary::{SummaryGrouping, calls_of_summary};
use miette::{IntoDiagnostic as _, WrapErr as _};

use super::TraceArgs;
use super::scope_options::{self, OtherOptions};

/// Most bytes of one buffer that are captured to be dumped.
const MOST_DUMPED: usize = 1 << 24;

impl TraceArgs {
    /// How much of what pointers lead to is captured: nothing where calls are only counted, but names of files and programs.
    pub(super) fn capture_limits(&self) -> Option<CaptureLimits> {
        let names_alone = CaptureLimits {
            string: 0,
            elements: 2,
            verbose: false,
        };
        match (self.summary.only_counts(), self.summary.grouping()) {
            (true, SummaryGrouping::Call | SummaryGrouping::ProcessAndCall)
                if self.summary.flame_graph.is_none() =>
            {
                None
            }
            (true, _) => Some(names_alone),
            (false, _) => Some(CaptureLimits {
                string: self.format.strings,
                elements: self.format.strings,
                verbose: self.format.in_full > 0,
            }),
        }
    }

    /// What is traced, how it is shown, and which calls are counted.
    pub(super) fn trace_options(
        &self,
    ) -> miette::Result<(TraceOptions, DisplaySettings, SyscallSet)> {
        let mut display = self.display();
        let others = OtherOptions {
            command: !self.command.is_empty(),
            pids: !self.pids.is_empty(),
            apart: self.apart > 0 || self.daemonize.is_some(),
            profile: self.profile.is_some(),
        };
        let mut options = TraceOptions {
            command: self.command()?,
            pids: self.processes_left(),
            scope: self.scope.scope(&others)?,
            follow: self.follow > 0 || self.follow_vforks,
            paths: self.every_path(),
            filter: self.seccomp_bpf == "yes",
            limit: self.syscall_limit,
            limits: self.capture_limits(),
            pending: self.follows() <= 1 && !self.format.json && !self.summary.only_counts(),
            renumbering: self.follows() > 1 && !self.format.json && !self.summary.only_counts(),
            ..TraceOptions::default()
        };
        // Most traces name no call.
        let known = LazyCell::new(known_syscalls);
        for expression in self.expressions.all() {
            apply_expression(&mut options, &mut display, &expression, &known)
                .into_diagnostic()
                .wrap_err_with(|| format!("-e {expression}"))?;
        }
        // What has no name can't be asked for by one: it is told whatever is asked for, as strace does it.
        if !options.calls.is_all() {
            options.calls = options.calls.union(&SyscallSet::nameless(&known));
        }
        if let Some(limits) = &mut options.limits
            && !self.summary.only_counts()
        {
            limits.verbose = !display.full.is_empty();
            if !(display.reads.is_empty() && display.writes.is_empty()) {
                limits.string = limits.string.max(MOST_DUMPED);
            }
        }
        options.instructions = self.format.instruction_pointer;
        options.stacks = self.summary.flame_graph.is_some()
            || (self.format.stack_trace.is_some() && !self.summary.only_counts());
        if let Some(most) = self.format.stack_trace_frame_limit {
            options.stack_frames = usize::try_from(most).unwrap_or(usize::MAX);
        }
        options.kill_on_exit = self.kill_on_exit;
        if options.scope.is_some() {
            options.ring = scope_options::RING;
        }
        options.work = self.record.is_none() && self.summary.counts_work();
        options.descriptors = !(display.aspects.is_empty()
            && display.processes.is_empty()
            && display.results.is_empty());
        let lines = !(self.format.json || self.format.perfetto || self.summary.only_counts());
        options.early = options.descriptors && lines && self.record.is_none();
        for calls in &self.detach_on {
            options.detach_on = options
                .detach_on
                .union(&SyscallSet::parse(calls, &known).into_diagnostic()?);
        }
        if self.successful_only {
            options.statuses = StatusSet::only(CallStatus::Successful);
        }
        if self.failed_only {
            options.statuses = StatusSet::only(CallStatus::Failed);
        }
        let counted = self.summarised_calls(&mut options)?;
        Ok((options, display, counted))
    }

    /// The calls that a summary counts; those that it needs besides are traced too.
    pub(super) fn summarised_calls(
        &self,
        options: &mut TraceOptions,
    ) -> miette::Result<SyscallSet> {
        let by = self.summary.grouping();
        let alone = self.summary.only_counts();
        let (traced, counted) = calls_of_summary(by, &options.calls, alone);
        miette::ensure!(
            matches!(by, SummaryGrouping::Call | SummaryGrouping::ProcessAndCall)
                || options.statuses == StatusSet::all(),
            "--by {}: which file or program something is, is known from calls that succeed and from calls that fail; leave out -z, -Z or -e status=, the errors are counted anyway (-S errors)",
            by.name()
        );
        miette::ensure!(
            alone || traced == counted,
            "-C --by {}: it takes calls that -e trace= leaves out, and they would be shown; use -c in place of -C, or keep everything with --record and show it twice with --replay",
            by.name()
        );
        options.calls = traced;
        options.follow |= by == SummaryGrouping::Process;
        Ok(counted)
    }

    pub(super) fn command(&self) -> miette::Result<Option<TracedCommand>> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Ok(None);
        };
        let mut command = TracedCommand::new(program, arguments);
        // A command that reads what is written has the standard streams of this process.
        if !self.is_piped() {
            command.leave_standard_streams();
        }
        for variable in &self.environment {
            command.change_environment(variable);
        }
        command.own_name.clone_from(&self.own_name);
        if let Some(name) = &self.user {
            let user = match UserRights::from_numbers(name) {
                Some(user) => Some(user),
                None => UserRights::from_name(name).into_diagnostic()?,
            };
            let nobody = || miette::miette!("nobody is named `{name}` here, nor is it UID:GID");
            command.user = Some(user.ok_or_else(nobody)?);
        }
        Ok(Some(command))
    }
}
