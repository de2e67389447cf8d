//! Tells an observer that only adds up of each class, with the number of its CTAs.

use super::cover::Cover;
use crate::observer::{CountOverflow, Tally};

/// Hands over the record of each class.
pub(super) fn tally<O: Tally>(
    cover: &mut Cover<O::Recorder>,
    observer: &mut O,
) -> Result<(), CountOverflow> {
    for class in cover.classes_mut() {
        let shifts = class.shifts.each_ref().map(Option::as_ref);
        observer.tally(&mut class.record, class.ctas.ctas(), &class.ctas, &shifts)?;
    }
    Ok(())
}
