//! Samplers that ask Linux by calls of its own, not by files.

use crate::{nic::Nics, perf::Perf, sampler::Open, sockets::Sockets};

/// These samplers by their names.
pub(crate) const SAMPLERS: &[(&str, Open)] = &[
    ("perf", |tree, _| Ok(Box::new(Perf::open(tree)?))),
    ("tracepoints", |tree, _| {
        Ok(Box::new(Perf::open_tracepoints(tree)?))
    }),
    ("sockets", |tree, _| Ok(Box::new(Sockets::open(tree)?))),
    ("nic", |_, _| Ok(Box::new(Nics::open()?))),
];
