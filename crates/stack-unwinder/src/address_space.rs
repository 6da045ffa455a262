//! The memory of a process as far as it can be executed, and walking a stack in it.

use std::{collections::BTreeMap, sync::Arc};

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, Unwinder as _, UnwinderNative,
};

use crate::{
    epilogue,
    image::{Bytes, Image},
    mapped_file::MappedFile,
    registers::Registers,
    signal_frame,
};

/// Most functions of one stack.
pub(crate) const DEPTH: usize = 256;

/// What can be executed in a process.
#[derive(Default)]
pub struct AddressSpace {
    unwinder: UnwinderNative<Bytes, MayAllocateDuringUnwind>,
    /// Rules of addresses that were on a stack. One a space: rules of one that is shared would be mixed up after 65,536 mappings.
    cache: CacheNative<MayAllocateDuringUnwind>,
    /// By their first addresses.
    mappings: BTreeMap<u64, Mapping>,
}

/// Something that is mapped.
#[derive(Debug)]
pub struct Mapping {
    /// Where, and which file.
    pub mapped: MappedFile,
    /// What the file holds; none for what is no program.
    pub image: Option<Arc<Image>>,
    /// Address within the image of what lies first.
    first: u64,
}

impl Mapping {
    /// The image's own address of an address of the process, the same wherever it is loaded; without an image, the offset in the
    /// mapping.
    #[must_use]
    pub fn own_address(&self, address: u64) -> u64 {
        (address.wrapping_sub(self.mapped.range.start)).wrapping_add(self.first)
    }

    /// Offset in the file.
    #[must_use]
    pub fn file_offset(&self, address: u64) -> u64 {
        (address.wrapping_sub(self.mapped.range.start)).wrapping_add(self.mapped.offset)
    }
}

/// A function on a stack.
#[derive(Debug)]
pub struct UnwoundFrame<'a> {
    /// Where it is: the next instruction, or the one after its call.
    pub address: u64,
    /// An address that is surely within it: its call may be its last instruction.
    pub within: u64,
    /// What it lies in.
    pub mapping: &'a Mapping,
}

/// Why a stack has no more frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackEnd {
    /// Its first function, which has no caller.
    Root,
    /// An address where nothing is mapped that can be executed, as far as is known.
    Unmapped,
    /// The stack can't be read on, or is deeper than is followed.
    Truncated,
}

impl AddressSpace {
    /// Something is mapped, in place of what was there.
    pub fn map(&mut self, mapped: MappedFile, image: Option<Arc<Image>>) {
        let range = mapped.range.clone();
        let below = self.mappings.range(..range.end);
        let replaced: Vec<u64> = below
            .rev()
            .take_while(|(_, mapping)| mapping.mapped.range.end > range.start)
            .map(|(start, _)| *start)
            .collect();
        for start in replaced {
            self.mappings.remove(&start);
            self.unwinder.remove_module(start);
        }
        // A file of which nothing is loaded from there is no image of this mapping.
        let image = image.and_then(|image| Some((image.address_at(mapped.offset)?, image)));
        if let Some((first, image)) = &image {
            let base = range.start.wrapping_sub(*first);
            let module = Module::new(String::new(), range.clone(), base, image.sections());
            self.unwinder.add_module(module);
        }
        let (first, image) = match image {
            Some((first, image)) => (first, Some(image)),
            None => (0, None),
        };
        let mapping = Mapping {
            mapped,
            image,
            first,
        };
        self.mappings.insert(range.start, mapping);
    }

    /// What is mapped at an address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        find(&self.mappings, address)
    }

    /// Shows the functions on a stack, the innermost first. `read` reads eight bytes of the thread's memory.
    pub fn unwind(
        &mut self,
        from: Registers,
        read: &mut impl FnMut(u64) -> Result<u64, ()>,
        show: &mut impl FnMut(UnwoundFrame<'_>),
    ) -> StackEnd {
        let mut registers = from.for_unwinding();
        let mut address = FrameAddress::InstructionPointer(from.instruction);
        for _ in 0..DEPTH {
            let handled = signal_frame::is_returned_from(address, read);
            // A handler goes back to what no call stands before.
            let within = match handled {
                true => address.address(),
                false => address.address_for_lookup(),
            };
            let Some(mapping) = find(&self.mappings, within) else {
                return StackEnd::Unmapped;
            };
            show(UnwoundFrame {
                address: address.address(),
                within,
                mapping,
            });
            if handled {
                let Some(interrupted) = signal_frame::interrupted(registers.sp(), read) else {
                    return StackEnd::Truncated;
                };
                registers = interrupted.for_unwinding();
                address = FrameAddress::InstructionPointer(interrupted.instruction);
                continue;
            }
            // Without tables, code that says itself where its caller is knows better than a frame pointer that it may not have set.
            let returned = match (&mapping.image, address) {
                (None, FrameAddress::ReturnAddress(at)) => {
                    epilogue::return_from(at.get(), &mut registers, read)
                }
                _ => None,
            };
            let unwound = match returned {
                Some(caller) => Ok(Some(caller)),
                None => {
                    let (unwinder, cache) = (&self.unwinder, &mut self.cache);
                    unwinder.unwind_frame(address, &mut registers, cache, read)
                }
            };
            let next = match unwound {
                Ok(Some(next)) => FrameAddress::from_return_address(next),
                Ok(None) => None,
                Err(_) => return StackEnd::Truncated,
            };
            match next {
                Some(next) => address = next,
                None => return StackEnd::Root,
            }
        }
        StackEnd::Truncated
    }
}

fn find(mappings: &BTreeMap<u64, Mapping>, address: u64) -> Option<&Mapping> {
    let (_, mapping) = mappings.range(..=address).next_back()?;
    mapping.mapped.range.contains(&address).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(range: std::ops::Range<u64>, offset: u64) -> MappedFile {
        MappedFile {
            range,
            offset,
            file: (0, 0, 0),
            path: Arc::default(),
        }
    }

    #[test]
    fn what_is_mapped_later_takes_the_place_of_what_was_there() {
        let mut space = AddressSpace::default();
        for (range, offset) in [(10..20, 1), (20..30, 2), (30..40, 3), (15..35, 4)] {
            space.map(mapped(range, offset), None);
        }
        let offsets = [9, 12, 15, 34, 35, 40].map(|at| Some(space.mapping(at)?.mapped.offset));
        assert_eq!(offsets, [None, None, Some(4), Some(4), None, None]);
        assert_eq!(space.mapping(17).unwrap().own_address(17), 2);
        assert_eq!(space.mapping(17).unwrap().file_offset(17), 6);
    }

    proptest::proptest! {
        /// What is mapped is the program's business: whatever stands in its files, nothing worse comes of it than a short stack.
        #[test]
        fn a_file_may_say_what_it_likes(
            changes in proptest::collection::vec((proptest::prelude::any::<u16>(), proptest::prelude::any::<u8>()), 0..40),
            place in proptest::prelude::any::<[u64; 4]>(),
        ) {
            let mut bytes = std::fs::read("/bin/true").unwrap();
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[usize::from(at) % length] = byte;
            }
            let length = bytes.len() as u64;
            if let Some(image) = Image::parse_bytes(&bytes) {
                let image = Arc::new(image);
                let mut space = AddressSpace::default();
                space.map(mapped(0x1000..0x10_0000, place[0] % length), Some(Arc::clone(&image)));
                let mut read = |address: u64| address.is_multiple_of(8).then_some(address % 0x10_0000).ok_or(());
                let from = Registers {
                    instruction: 0x1000 + place[2] % 0xf_f000,
                    stack: place[3],
                    frame: place[3],
                    #[cfg(target_arch = "aarch64")]
                    link: 0,
                };
                let mut frames = 0;
                space.unwind(from, &mut read, &mut |frame| {
                    image.function(frame.mapping.own_address(frame.within));
                    frames += 1;
                });
                proptest::prop_assert!(frames <= DEPTH);
            }
        }
    }
}
