//! Doors for fuzzing to readers of foreign bytes that nothing else calls from outside.

use prost::Message as _;

use crate::{proto, wire};

/// Reads bytes as each message of the protocol that means something to whoever gets it.
pub fn messages(bytes: &[u8]) {
    if let Ok(request) = proto::RunRequest::decode(bytes) {
        let _a_step_or_refused = wire::step(request);
    }
    if let Ok(event) = proto::StepEvent::decode(bytes) {
        let _an_event_or_refused = wire::step_event(event);
    }
    if let Ok(reply) = proto::HelloReply::decode(bytes) {
        let _an_agent_or_refused = wire::hello(reply);
    }
    if let Ok(reply) = proto::EndTrialReply::decode(bytes) {
        let _an_end_or_refused = wire::trial_ended(reply);
    }
    if let Ok(request) = proto::BeginTrialRequest::decode(bytes) {
        let _steps_or_refused: Result<Vec<_>, _> =
            request.undo.into_iter().map(wire::step).collect();
    }
}

/// Pieces of a build that are taken in: what comes later is taken as these are.
const PIECES: usize = 32;

/// Takes a build in, in this folder: bytes as messages, each as its length in two bytes (little-endian) and itself.
pub fn receive_build(builds: &std::path::Path, mut bytes: &[u8]) {
    let mut pieces = 0;
    let next = || {
        let ended = || tonic::Status::aborted("no more");
        let [low, high, rest @ ..] = bytes else {
            return Err(ended());
        };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        bytes = rest;
        pieces += 1;
        let piece = proto::PutRequest::decode(piece).ok();
        piece
            .filter(|_| pieces <= PIECES)
            .and_then(|request| request.piece)
            .ok_or_else(ended)
    };
    let _put_or_refused = crate::build_upload::receive(builds, next, |_| ());
}
