//! Functions of x86-64.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::hash::Hasher;

use crate::operand_targets::{CodeHasher, Target};

/// Instructions of an entry of a procedure linkage table until it jumps.
const LONGEST_STUB: usize = 3;

/// Adds a function's code: displacements of branches that leave it, of operands relative to the instruction pointer, and addresses in
/// code for one place are replaced by what they point at.
pub(crate) fn add_function(
    code: &mut CodeHasher<'_, impl Hasher>,
    bytes: &[u8],
    stub: &dyn Fn(u64) -> Option<u64>,
) {
    let mut decoder = Decoder::with_ip(64, bytes, code.range.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let from = decoder.position();
        decoder.decode_out(&mut instruction);
        let bytes = &bytes[from..decoder.position()];
        if instruction.is_invalid() {
            code.add(bytes);
            continue;
        }
        let offsets = decoder.get_constant_offsets(&instruction);
        let displacement = offsets.displacement_offset()
            ..offsets.displacement_offset() + offsets.displacement_size();
        let immediate =
            offsets.immediate_offset()..offsets.immediate_offset() + offsets.immediate_size();
        // A displacement precedes an immediate in every encoding.
        let mut added = 0;
        for (place, target) in [
            (displacement, displacement_target(code, &instruction)),
            (immediate, immediate_target(code, &instruction, stub)),
        ] {
            if let Some(target) = target
                && let Some(before) = bytes.get(added..place.start)
                && place.end <= bytes.len()
            {
                code.add(before);
                code.add_target(target);
                added = place.end;
            }
        }
        code.add(&bytes[added..]);
    }
}

fn displacement_target<'a>(
    code: &CodeHasher<'a, impl Hasher>,
    instruction: &Instruction,
) -> Option<Target<'a>> {
    if instruction.is_ip_rel_memory_operand() {
        let address = instruction.ip_rel_memory_address();
        return (!code.range.contains(&address)).then(|| code.targets.at(address));
    }
    let has_address = instruction.memory_displ_size() >= 4
        && (0..instruction.op_count())
            .any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    has_address
        .then(|| code.targets.at_number(instruction.memory_displacement64()))
        .flatten()
}

fn immediate_target<'a>(
    code: &CodeHasher<'a, impl Hasher>,
    instruction: &Instruction,
    stub: &dyn Fn(u64) -> Option<u64>,
) -> Option<Target<'a>> {
    (0..instruction.op_count()).find_map(|operand| match instruction.op_kind(operand) {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            let address = instruction.near_branch_target();
            let outside = !code.range.contains(&address);
            outside.then(|| code.targets.at(stub(address).unwrap_or(address)))
        }
        OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64 => {
            code.targets.at_number(instruction.immediate(operand))
        }
        _ => None,
    })
}

/// The slot whose address an entry of a procedure linkage table jumps to.
pub(crate) fn stub_slot(bytes: &[u8], address: u64) -> Option<u64> {
    let decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let mut jumps = decoder.into_iter().take(LONGEST_STUB);
    let jump = jumps.find(|it| it.mnemonic() == Mnemonic::Jmp)?;
    (jump.memory_base() == Register::RIP).then(|| jump.ip_rel_memory_address())
}
