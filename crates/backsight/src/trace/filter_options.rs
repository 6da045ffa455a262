//! Expressions of `-e`, and the options that stand for them: `-e trace=openat`, `--trace=openat`.

/// The expressions of `-e` that have options of their own.
#[derive(Debug, clap::Args)]
pub(super) struct FilterOptions {
    /// What to trace and how to show it: trace=SET, signal=SET, status=SET, inject=…, fault=…, abbrev=SET, verbose=SET, raw=SET,
    /// read=SET, write=SET, trace-fds=SET, decode-fds=SET, decode-pids=SET, kvm=vcpu, namespace=new, quiet=SET; SET alone is
    /// trace=SET
    #[arg(short = 'e', value_name = "EXPR")]
    expressions: Vec<String>,
    /// Which calls are traced
    #[arg(long, value_name = "SET")]
    trace: Vec<String>,
    /// Which signals are told
    #[arg(long, visible_alias = "signals", value_name = "SET")]
    signal: Vec<String>,
    /// Only calls that end so
    #[arg(long, value_name = "SET")]
    status: Vec<String>,
    /// What is done to calls on purpose
    #[arg(long, value_name = "SET:…")]
    inject: Vec<String>,
    /// Calls that are made to fail
    #[arg(long, value_name = "SET:…")]
    fault: Vec<String>,
    /// The calls whose structures are shown in short
    #[arg(long, value_name = "SET")]
    abbrev: Vec<String>,
    /// The calls whose structures are shown
    #[arg(long, value_name = "SET")]
    verbose: Vec<String>,
    /// The calls whose arguments are shown as numbers
    #[arg(long, value_name = "SET")]
    raw: Vec<String>,
    /// The descriptors of which everything that is read is shown
    #[arg(long, visible_alias = "reads", value_name = "SET")]
    read: Vec<String>,
    /// The descriptors of which everything that is written is shown
    #[arg(long, visible_alias = "writes", value_name = "SET")]
    write: Vec<String>,
    /// Only calls that concern these descriptors
    #[arg(long, visible_alias = "trace-fd", value_name = "SET")]
    trace_fds: Vec<String>,
    /// Beside the result of running a virtual processor why it came back: vcpu
    #[arg(long, value_name = "vcpu")]
    kvm: Vec<String>,
    /// Beside results the name spaces that a process entered: new
    #[arg(long, value_name = "new")]
    namespace: Vec<String>,
    /// What is said beside descriptors: path, socket, dev, pidfd, eventfd, signalfd, all
    #[arg(
        long,
        value_name = "SET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "path"
    )]
    decode_fds: Vec<String>,
    /// What is said beside numbers of processes: comm, pidns, all
    #[arg(long, value_name = "SET")]
    decode_pids: Vec<String>,
    /// The names of processes beside their numbers, as --decode-pids=comm
    #[arg(short = 'Y')]
    process_names: bool,
    /// The numbers of processes here beside those in other name spaces, as --decode-pids=pidns
    #[arg(long)]
    pidns_translation: bool,
    /// What isn't told: attach, exit, path-resolution, personality, thread-execve, all
    #[arg(
        long,
        visible_aliases = ["silent", "silence"],
        value_name = "SET",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "attach,personality"
    )]
    quiet: Vec<String>,
}

impl FilterOptions {
    /// Each as `-e` would say it.
    pub fn all(&self) -> impl Iterator<Item = String> {
        let named: [(&str, &[String]); 16] = [
            ("trace", &self.trace),
            ("signal", &self.signal),
            ("status", &self.status),
            ("inject", &self.inject),
            ("fault", &self.fault),
            ("abbrev", &self.abbrev),
            ("verbose", &self.verbose),
            ("raw", &self.raw),
            ("read", &self.read),
            ("write", &self.write),
            ("trace-fds", &self.trace_fds),
            ("kvm", &self.kvm),
            ("namespace", &self.namespace),
            ("decode-fds", &self.decode_fds),
            ("decode-pids", &self.decode_pids),
            ("quiet", &self.quiet),
        ];
        let named = named
            .into_iter()
            .flat_map(|(what, values)| values.iter().map(move |value| format!("{what}={value}")));
        let short = [
            (self.process_names, "decode-pids=+comm"),
            (self.pidns_translation, "decode-pids=+pidns"),
        ];
        let short = short.into_iter().filter(|(options, _)| *options);
        let short = short.map(|(_, expression)| expression.to_owned());
        self.expressions.iter().cloned().chain(named).chain(short)
    }
}
