//! In place of samplers that need calls of Linux.

use crate::sampler::Open;

/// None.
pub(crate) const SAMPLERS: &[(&str, Open)] = &[];
