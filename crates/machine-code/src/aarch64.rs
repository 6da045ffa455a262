//! Functions of AArch64 (Arm Architecture Reference Manual, DDI 0487, C4.1: encodings).

use std::hash::Hasher;

use crate::operand_targets::{CodeHasher, Target};

/// Where an instruction has its immediate: the lowest bit, and how many.
struct Immediate {
    lowest: u32,
    bits: u32,
}

/// Branches that leave the function, `adr`, `ldr` of a literal; each a word of the instruction's own fields with its mask.
const RELATIVE: [(u32, u32, Immediate); 6] = [
    // b, bl
    (
        0x7c00_0000,
        0x1400_0000,
        Immediate {
            lowest: 0,
            bits: 26,
        },
    ),
    // b.cond
    (
        0xff00_0010,
        0x5400_0000,
        Immediate {
            lowest: 5,
            bits: 19,
        },
    ),
    // bc.cond
    (
        0xff00_0010,
        0x5400_0010,
        Immediate {
            lowest: 5,
            bits: 19,
        },
    ),
    // cbz, cbnz
    (
        0x7e00_0000,
        0x3400_0000,
        Immediate {
            lowest: 5,
            bits: 19,
        },
    ),
    // tbz, tbnz
    (
        0x7e00_0000,
        0x3600_0000,
        Immediate {
            lowest: 5,
            bits: 14,
        },
    ),
    // ldr, ldrsw and prfm of a literal
    (
        0x3b00_0000,
        0x1800_0000,
        Immediate {
            lowest: 5,
            bits: 19,
        },
    ),
];

const ADR: u32 = 0x1000_0000;
const ADRP: u32 = 0x9000_0000;
const ADR_MASK: u32 = 0x9f00_0000;
/// The immediates of both: two bits from 29 on, nineteen from 5 on.
const ADR_IMMEDIATE: u32 = 0x60ff_ffe0;
const PAGE: u64 = 0xfff;
/// `add` of an unshifted immediate, 64 bits.
const ADD: (u32, u32) = (0xffc0_0000, 0x9100_0000);
/// Loads and stores at an unsigned offset, and those of them that store.
const LOAD_STORE: (u32, u32) = (0x3b00_0000, 0x3900_0000);
const STORE: (u32, u32) = (0x3bc0_0000, 0x3900_0000);
const OFFSET: Immediate = Immediate {
    lowest: 10,
    bits: 12,
};
/// `bl` and `blr`.
const CALLS: [(u32, u32); 2] = [(0xfc00_0000, 0x9400_0000), (0xffff_fc1f, 0xd63f_0000)];
/// Branches and system instructions write no register of these bits.
const BRANCH: (u32, u32) = (0x1c00_0000, 0x1400_0000);
/// Registers that a called function may change: x0 to x18.
const CALL_CLOBBERED: usize = 19;

impl Immediate {
    fn mask(&self) -> u32 {
        ((1 << self.bits) - 1) << self.lowest
    }

    fn unsigned(&self, word: u32) -> u64 {
        u64::from((word & self.mask()) >> self.lowest)
    }

    fn signed(&self, word: u32) -> i64 {
        sign_extended(self.unsigned(word), self.bits)
    }
}

fn sign_extended(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)).cast_signed() >> (64 - bits)
}

fn is(word: u32, (mask, value): (u32, u32)) -> bool {
    word & mask == value
}

/// Adds a function's code: immediates of branches that leave it, of `adr` and `adrp`, and of `add`, loads and stores at the page that
/// an `adrp` before them made are replaced by what they point at.
pub(crate) fn add_function(code: &mut CodeHasher<'_, impl Hasher>, bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<4>();
    // The page that each register holds.
    let mut pages: [Option<u64>; 32] = [None; 32];
    for (place, word) in words.iter().enumerate() {
        let word = u32::from_le_bytes(*word);
        let address = code.range.start.wrapping_add(4 * place as u64);
        let written = (word & 31) as usize;
        if is(word, (ADR_MASK, ADRP)) || is(word, (ADR_MASK, ADR)) {
            let by = sign_extended(
                u64::from(word >> 3 & 0x1f_fffc) | u64::from(word >> 29 & 3),
                21,
            );
            pages[written] = None;
            if is(word, (ADR_MASK, ADRP)) {
                let page = (address & !PAGE).wrapping_add_signed(by << 12);
                pages[written] = Some(page);
                // What is on the page is told by who uses it.
                code.add(&(word & !ADR_IMMEDIATE).to_le_bytes());
            } else {
                add_word(code, word, ADR_IMMEDIATE, address.wrapping_add_signed(by));
            }
            continue;
        }
        let base = (word >> 5 & 31) as usize;
        let uses_page = is(word, ADD) || is(word, LOAD_STORE);
        if let Some(page) = pages[base].filter(|_| uses_page) {
            let size = match is(word, ADD) {
                true => 0,
                // 128 bits of a vector register: the size is in another field.
                false if word & 0x0480_0000 == 0x0480_0000 && word >> 30 == 0 => 4,
                false => word >> 30,
            };
            let target = page.wrapping_add(OFFSET.unsigned(word) << size);
            code.add(&(word & !OFFSET.mask()).to_le_bytes());
            code.add_target(code.targets.at(target));
        } else if let Some((.., immediate)) = RELATIVE
            .iter()
            .find(|(mask, value, _)| is(word, (*mask, *value)))
        {
            let target = address.wrapping_add_signed(immediate.signed(word) << 2);
            add_word(code, word, immediate.mask(), target);
        } else {
            code.add(&word.to_le_bytes());
        }
        if CALLS.iter().any(|call| is(word, *call)) {
            pages[..CALL_CLOBBERED].fill(None);
        } else if !is(word, STORE) && !is(word, BRANCH) {
            // Not every instruction writes the register of these bits: a page that is forgotten makes a difference that isn't one, a
            // page that is kept hides one that is.
            pages[written] = None;
        }
    }
    code.add(rest);
}

/// Adds an instruction whose immediate leads to `target`.
fn add_word(code: &mut CodeHasher<'_, impl Hasher>, word: u32, mask: u32, target: u64) {
    if code.range.contains(&target) {
        return code.add(&word.to_le_bytes());
    }
    code.add(&(word & !mask).to_le_bytes());
    let target: Target<'_> = code.targets.at(target);
    code.add_target(target);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operand_targets::OperandTargets;
    use std::hash::DefaultHasher;

    const NAMES: [(u64, u64, &str); 4] = [
        (0x1_0000, 0x100, "work"),
        (0x1_4000, 0x10, "called"),
        (0x1_5000, 0x10, "other"),
        (0x2_0120, 0x80, "table"),
    ];

    /// The digest of code at an address, among things that lie so much further.
    fn digest(words: &[u32], shift: u64) -> u64 {
        let names = NAMES.map(|(start, size, name)| (start + shift..start + shift + size, name));
        let targets = OperandTargets::with_symbols(&names);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let start = 0x1_0000 + shift;
        let mut code = CodeHasher {
            targets: &targets,
            range: start..start + bytes.len() as u64,
            hasher: DefaultHasher::new(),
        };
        add_function(&mut code, &bytes);
        code.hasher.finish()
    }

    fn bl(from: u64, to: u64) -> u32 {
        0x9400_0000 | ((to.wrapping_sub(from) >> 2) as u32 & 0x03ff_ffff)
    }

    fn adrp(register: u32, from: u64, to: u64) -> u32 {
        let pages = (to >> 12).wrapping_sub(from >> 12) as u32;
        ADRP | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5 | register
    }

    /// `add Xd, Xn, #by`.
    fn add(to: u32, from: u32, by: u64) -> u32 {
        0x9100_0000 | (by as u32 & 0xfff) << 10 | from << 5 | to
    }

    /// `ldr Xt, [Xn, #by]`.
    fn load(to: u32, from: u32, by: u64) -> u32 {
        0xf940_0000 | ((by as u32 & 0xfff) >> 3) << 10 | from << 5 | to
    }

    const RET: u32 = 0xd65f_03c0;
    /// `b.ne` three instructions back.
    const LOOP: u32 = 0x54ff_ffa1;

    /// A function that calls and reads what lies `shift` further than in [`NAMES`], as it does itself.
    fn function(shift: u64, called: u64, table: u64) -> Vec<u32> {
        let at = |place: u64| 0x1_0000 + shift + 4 * place;
        vec![
            bl(at(0), called + shift),
            adrp(0, at(1), table + shift),
            add(1, 0, table + shift),
            load(2, 0, table + shift + 8),
            LOOP,
            RET,
        ]
    }

    #[test]
    fn only_what_is_pointed_at_counts_of_operands_that_move() {
        let base = digest(&function(0, 0x1_4000, 0x2_0120), 0);
        for shift in [0x10, 0x1000, 0x12_3450] {
            assert_eq!(base, digest(&function(shift, 0x1_4000, 0x2_0120), shift));
        }
        // Another function is called; another field is read.
        assert_ne!(base, digest(&function(0, 0x1_5000, 0x2_0120), 0));
        assert_ne!(base, digest(&function(0, 0x1_4000, 0x2_0128), 0));
        // Another number of the same form that isn't on a page; a loop of another length.
        let mut words = function(0, 0x1_4000, 0x2_0120);
        words[2] = add(1, 3, 0x120);
        assert_ne!(base, digest(&words, 0));
        let mut words = function(0, 0x1_4000, 0x2_0120);
        words[4] -= 1 << 5;
        assert_ne!(base, digest(&words, 0));
    }

    #[test]
    fn a_page_is_forgotten_where_its_register_is_written() {
        for forgetting in [
            // mov x0, x3; ldr x0, [x4]; blr x5
            0xaa03_03e0,
            load(0, 4, 0),
            0xd63f_00a0,
        ] {
            let words = |field| {
                let page = adrp(0, 0x1_0000, 0x2_0120);
                [page, forgetting, load(2, 0, field), RET]
            };
            assert_ne!(digest(&words(0x200), 0), digest(&words(0x208), 0));
        }
        // A store, a comparison with a branch and a branch on a flag write nothing.
        for keeping in [0xf900_0060, 0xb400_0040, 0x5400_0040] {
            let words = |shift: u64| {
                let page = adrp(0, 0x1_0000 + shift, 0x2_0120 + shift);
                [page, keeping, load(2, 0, 0x2_0120 + shift), RET]
            };
            assert_eq!(
                digest(&words(0), 0),
                digest(&words(0x40), 0x40),
                "{keeping:x}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_words_are_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400), start in proptest::prelude::any::<u64>()) {
            let targets = OperandTargets::with_symbols(&[]);
            let range = start..start.saturating_add(bytes.len() as u64);
            let mut code = CodeHasher { targets: &targets, range, hasher: DefaultHasher::new() };
            add_function(&mut code, &bytes);
        }
    }
}
