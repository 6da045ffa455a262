//! The result of a call, behind ` = `.

use super::sink::TextSink;
use crate::decode::{DecodeStyle, ValueSink as _, Walk, put_parts};
use crate::format::ConstantStyle;
use crate::format::signal_name;
use crate::table::{
    PidKind, ResultKind, SpecialKind, SyscallDefinition, ValueKind, flags, ioctl, prctl_answer,
};
use crate::{SyscallOutcome, SyscallRecord};
use crate::{errno, format};

pub(super) fn put_result(
    sink: &mut TextSink<'_, '_>,
    call: &SyscallRecord,
    row: Option<&'static SyscallDefinition>,
    style: DecodeStyle,
) {
    let SyscallOutcome::Returned { value, .. } = call.outcome else {
        sink.out.push(b'?');
        return;
    };
    if let Some(error) = call.error() {
        put_error(sink.out, error);
        if let Some(row) = row {
            Walk::showing(call, row, sink, style).beside_result();
        }
        return;
    }
    let Some(row) = row else {
        format::signed(sink.out, value);
        return;
    };
    put_value(sink, call, row, value);
    Walk::showing(call, row, sink, style).beside_result();
}

fn put_error(out: &mut Vec<u8>, number: i64) {
    if let Some((name, text)) = errno::restart_by_number(number) {
        put_named_error(out, b"? ", name, text);
    } else if let Some((name, text)) = errno::error_by_number(number) {
        put_named_error(out, b"-1 ", name, text);
    } else {
        out.extend_from_slice(b"-1 (errno ");
        format::signed(out, number);
        out.push(b')');
    }
}

fn put_named_error(out: &mut Vec<u8>, value: &[u8], name: &str, text: &str) {
    out.extend_from_slice(value);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b" (");
    out.extend_from_slice(text.as_bytes());
    out.push(b')');
}

fn put_value(
    sink: &mut TextSink<'_, '_>,
    call: &SyscallRecord,
    row: &SyscallDefinition,
    value: i64,
) {
    let prctl = call.arguments[0] & 0xffff_ffff;
    match row.result {
        ResultKind::Hex => format::hex(sink.out, value as u64),
        ResultKind::Fd => {
            format::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        ResultKind::FdFor(asked) if asked.contains(&(call.arguments[0] & 0xffff_ffff)) => {
            format::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        ResultKind::Process(whose) => {
            format::signed(sink.out, value);
            sink.explain(value as i32, whose);
        }
        ResultKind::Child => {
            format::signed(sink.out, value);
            sink.explain(value as i32, PidKind::Process);
        }
        ResultKind::FdUnless(argument, bits) if call.arguments[argument] & bits == 0 => {
            format::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        ResultKind::Short => {
            format::signed(sink.out, value);
            let error = i64::from((value as u32).cast_signed());
            if let (-4095..0, Some((name, text))) = (error, errno::error_by_number(-error)) {
                sink.out.push(b' ');
                sink.out.extend_from_slice(name.as_bytes());
                parenthesised(sink.out, |out| out.extend_from_slice(text.as_bytes()));
            }
        }
        ResultKind::Octal => format::permissions(sink.out, value as u64),
        ResultKind::Fcntl => put_fcntl(sink, call, value),
        ResultKind::Moment => {
            format::signed(sink.out, value);
            sink.out.extend_from_slice(b" (");
            format::moment(sink.out, value, 0, 0);
            sink.out.push(b')');
        }
        ResultKind::Signal => {
            format::signed(sink.out, value);
            parenthesised(sink.out, |out| signal_name(out, value as i32));
        }
        ResultKind::Persona => {
            format::hex(sink.out, value as u64);
            let constants = sink.constants();
            parenthesised(sink.out, |out| {
                format::persona(out, value as u64, constants)
            });
        }
        ResultKind::InputPriority => {
            format::signed(sink.out, value);
            let constants = sink.constants();
            if constants != ConstantStyle::Numbers {
                parenthesised(sink.out, |out| {
                    format::io_priority(out, value as i32, constants)
                });
            }
        }
        ResultKind::Features
            if matches!(call.arguments[0] & 0xffff_ffff, 0x1023 | 0x1025) && value > 0 =>
        {
            format::hex(sink.out, value as u64);
            let names = &flags::FEATURES;
            let known = names.list.iter().any(|(_, bits)| value as u64 & bits != 0);
            if sink.constants() != ConstantStyle::Numbers && known {
                parenthesised(sink.out, |out| format::flags(out, value as u64, names));
            }
        }
        ResultKind::Policy => {
            format::signed(sink.out, value);
            parenthesised(sink.out, |out| {
                format::one(out, value as u64, &flags::SCHED)
            });
        }
        ResultKind::Clock => {
            format::signed(sink.out, value);
            if let Some(name) = usize::try_from(value)
                .ok()
                .and_then(|value| CLOCK_STATES.get(value))
            {
                parenthesised(sink.out, |out| out.extend_from_slice(name.as_bytes()));
            }
        }
        ResultKind::Prctl if let Some((decimal, kind)) = prctl_answer(prctl, call.arguments[1]) => {
            if decimal {
                format::signed(sink.out, value);
            } else {
                format::hex(sink.out, value as u64);
            }
            if sink.names_and_numbers().0 {
                let start = sink.out.len();
                sink.out.extend_from_slice(b" (");
                if put_words(sink.out, kind, value as u64) {
                    sink.out.push(b')');
                } else {
                    sink.out.truncate(start);
                }
            }
        }
        ResultKind::Membarrier if call.arguments[0] == 0 && value != 0 => {
            format::hex(sink.out, value as u64);
            parenthesised(sink.out, |out| {
                format::flags(out, value as u64, &flags::MEMBARRIER)
            });
        }
        _ if is_descriptor(call, row) => {
            format::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        // What isn't an error has no sign.
        _ if call.abi != crate::Abi::I386 => format::unsigned(sink.out, value.cast_unsigned()),
        _ => format::signed(sink.out, value),
    }
}

/// Whether what came of an `ioctl` is a descriptor.
fn is_descriptor(call: &SyscallRecord, row: &SyscallDefinition) -> bool {
    let answered = || ioctl::result_kind(call.arguments[1] as u32);
    row.kinds[2] == ValueKind::Special(SpecialKind::Requested)
        && matches!(answered(), Some(ioctl::RequestResult::Descriptor))
}

/// What the kernel says of its clock.
const CLOCK_STATES: [&str; 6] = [
    "TIME_OK",
    "TIME_INS",
    "TIME_DEL",
    "TIME_OOP",
    "TIME_WAIT",
    "TIME_ERROR",
];

fn parenthesised(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b" (");
    write(out);
    out.push(b')');
}

fn put_fcntl(sink: &mut TextSink<'_, '_>, call: &SyscallRecord, value: i64) {
    let arm = call.abi == crate::Abi::Aarch64;
    let bits = value as u64;
    match call.arguments[1] & 0xffff_ffff {
        0 | 1030 => {
            format::signed(sink.out, value);
            sink.describe(value as i32, call);
        }
        1 if value != 0 => {
            format::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"flags ");
                format::flags(out, bits, &flags::FD_FLAGS);
            });
        }
        3 => {
            format::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"flags ");
                format::open_flags(out, bits, arm);
            });
        }
        9 => {
            format::signed(sink.out, value);
            sink.explain(value as i32, PidKind::ProcessOrGroup);
        }
        11 if value != 0 => {
            format::signed(sink.out, value);
            parenthesised(sink.out, |out| signal_name(out, value as i32));
        }
        1025 => {
            format::hex(sink.out, bits);
            parenthesised(sink.out, |out| format::one(out, bits, &flags::LOCK_TYPE));
        }
        1034 if value != 0 => {
            format::hex(sink.out, bits);
            parenthesised(sink.out, |out| {
                out.extend_from_slice(b"seals ");
                format::flags(out, bits, &flags::SEALS);
            });
        }
        _ => format::signed(sink.out, value),
    }
}

/// Puts a result in words; whether there are any.
fn put_words(out: &mut Vec<u8>, kind: ValueKind, value: u64) -> bool {
    let start = out.len();
    match kind {
        ValueKind::One(_, names) if names.name(value).is_some() => format::one(out, value, names),
        ValueKind::Flags(_, names) if value == 0 && names.zero != "0" => {
            out.extend_from_slice(names.zero.as_bytes());
        }
        ValueKind::Flags(_, names) if value != 0 => {
            if format::named_bits(&mut Vec::new(), value, names, b"") == value {
                return false;
            }
            format::flags(out, value, names);
        }
        ValueKind::Parts(_, parts) => {
            put_parts(out, value, parts);
            // What says no more than the number itself.
            let mut bare = Vec::new();
            format::hex(&mut bare, value);
            return out[start..] != bare;
        }
        _ => {}
    }
    out.len() > start
}
