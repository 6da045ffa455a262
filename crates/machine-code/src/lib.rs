//! Machine code of two builds of a program, compared function by function.
//!
//! In come two ELF programs or libraries ([`CodeImage::read`]), out comes which functions have other code ([`code_difference`]). A
//! function that lies elsewhere, or whose callees and data do, isn't changed: operands that hold the distance to another function or to
//! data are replaced by what they point at. They are known on x86-64 and AArch64; on other machines bytes are compared as they are.
//!
//! What data holds (strings, constants, tables of jumps) isn't compared. Bytes are anybody's: a damaged file is an error, and memory and
//! time are bounded by the file's size.
//!
//! ```
//! use backsight_machine_code::{CodeImage, code_difference};
//!
//! let bytes = std::fs::read(std::env::current_exe()?)?;
//! let image = CodeImage::read(bytes.as_slice())?;
//! assert!(image.text_size > 0);
//! assert!(code_difference(&image, &image).functions.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aarch64;
mod code_image;
mod difference;
mod name_budget;
mod operand_targets;
mod x86_64;

pub use code_image::{CodeError, CodeImage};
pub use difference::{CodeDifference, FunctionChange, FunctionDifference, code_difference};
