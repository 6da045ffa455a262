//! Stack unwinding of programs by the unwind tables of what is mapped in their processes, and the names of functions.
//!
//! In comes where a thread stands ([`Registers`]) and a reader of its memory: that of a stopped thread, or a copy of its stack. Out
//! come addresses in what is mapped ([`UnwoundFrame`]), the innermost first, and what they are called ([`Image::function`]). Where
//! there are no unwind tables, the chain of frame pointers is followed. How threads are stopped or sampled is no matter of this room.
//!
//! Programs of another architecture have no stack here, and a symbol names only addresses within its size.
//!
//! ```
//! use backsight_stack_unwinder::{AddressSpace, ImageCache, MappedFile};
//!
//! let mut images = ImageCache::default();
//! let mut space = AddressSpace::default();
//! let pid = std::process::id().cast_signed();
//! for mapped in MappedFile::all_executable(pid)? {
//!     let image = images.load(pid, &mapped, |_, _| Vec::new());
//!     space.map(mapped, image);
//! }
//! let code = AddressSpace::map as *const () as u64;
//! let mapping = space.mapping(code).unwrap();
//! assert!(mapping.image.is_some());
//! # Ok::<(), std::io::Error>(())
//! ```

mod address_space;
mod epilogue;
mod image;
mod mapped_file;
mod registers;
mod signal_frame;
mod symbol_names;

pub use address_space::{AddressSpace, Mapping, StackEnd, UnwoundFrame};
pub use image::{Function, Image, ImageCache};
pub use mapped_file::MappedFile;
pub use registers::Registers;
pub use symbol_names::in_source as source_name;
