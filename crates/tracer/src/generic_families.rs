//! Names of the families of generic netlink, whose numbers the running kernel chooses: its controller is asked for all of them.
//!
//! The numbers are the same in every network namespace. Without an answer families have no names.

use std::collections::HashMap;
use std::io;

use rustix::net::{RecvFlags, SendFlags, netlink, recv, send};

use crate::netlink_connection::connect_netlink;

const HEAD: usize = 16;
/// What every message of a family begins with.
const COMMAND: usize = 4;
const ATTRIBUTE: usize = 4;
const CONTROLLER: u16 = 16;
const DONE: u16 = 3;
const ERROR: u16 = 2;
/// A request for all that there are.
const DUMP: u16 = 0x301;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// The names of all families by their numbers.
pub(crate) fn generic_families() -> HashMap<u16, String> {
    let mut families = HashMap::new();
    // What was answered until something failed is as good as ever.
    let _asked = ask_for_families(&mut families);
    families
}

fn ask_for_families(families: &mut HashMap<u16, String>) -> io::Result<()> {
    let socket = connect_netlink(netlink::GENERIC)?;
    let mut question = Vec::with_capacity(HEAD + COMMAND);
    question.extend_from_slice(&((HEAD + COMMAND) as u32).to_ne_bytes());
    question.extend_from_slice(&CONTROLLER.to_ne_bytes());
    question.extend_from_slice(&DUMP.to_ne_bytes());
    question.extend_from_slice(&[0; 8]);
    question.extend_from_slice(&[GET_FAMILY, 1, 0, 0]);
    send(&socket, &question, SendFlags::empty())?;
    let mut answer = vec![0_u8; 1 << 16];
    loop {
        let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        if length == 0 || !add_families(&answer[..length], families) {
            return Ok(());
        }
    }
}

/// Adds what an answer has; whether more follow.
fn add_families(mut answer: &[u8], families: &mut HashMap<u16, String>) -> bool {
    while let Some((length, kind)) = head(answer, HEAD, 4) {
        if kind == DONE || kind == ERROR {
            return false;
        }
        if kind == CONTROLLER {
            families.extend(family(&answer[..length]));
        }
        answer = answer.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    true
}

/// The length of what begins here, no less than its beginning and no more than there is, and what kind it is.
fn head(bytes: &[u8], least: usize, kind_at: usize) -> Option<(usize, u16)> {
    let number = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let length = if kind_at == 4 {
        u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize
    } else {
        usize::from(number(0)?)
    };
    let fits = (least..=bytes.len()).contains(&length);
    Some((length, number(kind_at)?)).filter(|_| fits)
}

/// The number and the name of the family that a message is about.
fn family(message: &[u8]) -> Option<(u16, String)> {
    let mut rest = message.get(HEAD + COMMAND..)?;
    let (mut number, mut name) = (None, None);
    while let Some((length, kind)) = head(rest, ATTRIBUTE, 2) {
        let held = &rest[ATTRIBUTE..length];
        match kind {
            FAMILY_ID => number = held.get(..2)?.try_into().ok().map(u16::from_ne_bytes),
            FAMILY_NAME => {
                let text = held.strip_suffix(b"\0").unwrap_or(held);
                name = Some(String::from_utf8_lossy(text).into_owned());
            }
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    number.zip(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_names_its_controller() {
        let families = generic_families();
        assert_eq!(
            families.get(&CONTROLLER).map(String::as_str),
            Some("nlctrl")
        );
    }

    #[test]
    fn cut_answer_names_nothing() {
        let mut families = HashMap::new();
        for length in 0..40 {
            let mut answer = vec![0_u8; length];
            if let Some(first) = answer.first_mut() {
                *first = 200;
            }
            assert!(add_families(&answer, &mut families));
        }
        assert!(families.is_empty());
    }
}
