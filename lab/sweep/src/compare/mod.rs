//! `gnb-lab compare`: recorded runs side by side, with statistics over seeds.

mod comparison;
mod contender;
mod json;
mod page;
mod text;
mod timeline;

pub use comparison::{Comparison, Row};
pub use json::json;
pub use lab_batch::Estimate;
pub use page::page;
pub use text::text;
