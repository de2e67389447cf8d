//! Reads the names of features: `f_mem_access_global_float32_load_lstrides:{0:1;1:>15}_afr:>1`.
//!
//! All fields of `f_mem_access` are optional and stand in the paper's order (section 6.1.1). White
//! space may stand before and after the `_` and `:` of `lstrides`, `gstrides` and `afr`, because
//! the paper's listings break lines there. `f_machine_access` has the same fields, and `width`.

use gpucast_counters::features::{AccessDirection, ElementType, MemorySpace, OPERATION_NAMES};

use super::feature::{
    AccessFeature, Bound, Constraint, Feature, MachineAccessFeature, OperationFeature, Relation,
};
use super::parser::{Cursor, ExpressionError, at_next};

/// The order of the fields, for hints.
const ORDER: &str = "the fields of f_mem_access are, in this order: tag:…, a memory (global, local, \
                     constant, private), a type (float32, …), load or store, lstrides:{0:1;1:>15}, \
                     gstrides:{0:0}, afr:>1; those of f_machine_access also width:4, before lstrides";

/// Reads one feature and nothing else.
///
/// # Errors
///
/// If the text is not the name of a feature.
pub(super) fn whole(text: &str) -> Result<Feature, ExpressionError> {
    let mut cursor = Cursor::new(text);
    cursor.skip_space();
    let feature = feature(&mut cursor)?;
    cursor.skip_space();
    match cursor.rest.is_empty() {
        true => Ok(feature),
        false => Err(at_next(&cursor, "the name of the feature ends before this")),
    }
}

/// Reads the feature that comes next.
pub(super) fn feature(cursor: &mut Cursor<'_>) -> Result<Feature, ExpressionError> {
    let start = cursor.at();
    if cursor.takes("f_mem_access") {
        return access(cursor, Level::Source).map(|read| Feature::MemoryAccess(read.access));
    }
    if cursor.takes("f_machine_access") {
        return access(cursor, Level::Machine).map(Feature::MachineAccess);
    }
    let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    let range = cursor.range_from(start);
    match name {
        "f_sync_barrier_local" => return Ok(Feature::LocalBarriers),
        "f_sync_kernel_launch" => return Ok(Feature::KernelLaunches),
        "f_thread_groups" => return Ok(Feature::ThreadGroups),
        "f_sub_groups" => return Ok(Feature::SubGroups),
        "f_work_items" => return Ok(Feature::WorkItems),
        _ => {}
    }
    let wall_time = ["f_cl_wall_time", "f_cl.wall_time"];
    if let Some(device) = wall_time.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return Ok(Feature::WallTime(device.trim_start_matches('_').to_owned()));
    }
    if let Some(mnemonic) = name.strip_prefix("f_machine_op")
        && (mnemonic.is_empty() || mnemonic.starts_with('_'))
    {
        let mnemonic = mnemonic.trim_start_matches('_');
        let mnemonic = (!mnemonic.is_empty()).then(|| mnemonic.to_owned());
        return Ok(Feature::MachineOperation(mnemonic));
    }
    if let Some(fields) = name.strip_prefix("f_op")
        && (fields.is_empty() || fields.starts_with('_'))
    {
        return operation(fields)
            .map_err(|(message, hint)| ExpressionError::new(message, range).hint(hint))
            .map(Feature::Operation);
    }
    Err(ExpressionError::new(format!("there is no feature `{name}`"), range).hint(
        "there are f_op_TYPE_OPERATION, f_mem_access_…, f_sync_barrier_local, \
         f_sync_kernel_launch, f_thread_groups, f_sub_groups, f_work_items, f_machine_access_… and \
         f_machine_op_MNEMONIC",
    ))
}

/// The fields behind `f_op`, or their fault with a hint.
fn operation(fields: &str) -> Result<OperationFeature, (String, String)> {
    let mut feature = OperationFeature::default();
    for field in fields.split('_').skip(1) {
        let element = ElementType::parse(field);
        if element.is_some() && feature.element.is_none() && feature.operation.is_none() {
            feature.element = element;
        } else if OPERATION_NAMES.contains(&field) && feature.operation.is_none() {
            feature.operation = Some(field.to_owned());
        } else {
            let hint = format!(
                "write f_op_TYPE_OPERATION, such as f_op_float32_madd; the operations are {}",
                OPERATION_NAMES.join(", ")
            );
            return Err((format!("`{field}` is neither a type nor an operation"), hint));
        }
    }
    Ok(feature)
}

/// A word of a memory access that is no `name:` field.
enum Word {
    Space(MemorySpace),
    Element(ElementType),
    Direction(AccessDirection),
}

fn word(text: &str) -> Option<Word> {
    // CUDA's name of the memory that OpenCL and the paper call local.
    if text == "shared" {
        return Some(Word::Space(MemorySpace::Local));
    }
    let space = MemorySpace::ALL.into_iter().find(|space| space.name() == text);
    let direction = AccessDirection::ALL.into_iter().find(|direction| direction.name() == text);
    space
        .map(Word::Space)
        .or(direction.map(Word::Direction))
        .or_else(|| ElementType::parse(text).map(Word::Element))
}

/// Fields that have a value.
const LOCAL_STRIDES: &str = "lstrides";
const GLOBAL_STRIDES: &str = "gstrides";
const RATIO: &str = "afr";
const WIDTH: &str = "width";
const TAG: &str = "tag:";

/// The code whose accesses a feature counts.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Source,
    Machine,
}

/// The fields behind `f_mem_access` or `f_machine_access`.
fn access(cursor: &mut Cursor<'_>, level: Level) -> Result<MachineAccessFeature, ExpressionError> {
    let (mut feature, mut width) = (AccessFeature::default(), None);
    // The place of the last field in the order.
    let mut reached = 0;
    while next_field(cursor) {
        let start = cursor.at();
        let place = if cursor.takes(TAG) {
            feature.tag = Some(tag(cursor)?);
            1
        } else if level == Level::Machine && cursor.takes(WIDTH) {
            colon(cursor)?;
            width = Some(constraint(cursor)?);
            5
        } else if cursor.takes(LOCAL_STRIDES) {
            feature.local_strides = strides(cursor)?;
            6
        } else if cursor.takes(GLOBAL_STRIDES) {
            feature.global_strides = strides(cursor)?;
            7
        } else if cursor.takes(RATIO) {
            colon(cursor)?;
            feature.ratio = Some(constraint(cursor)?);
            8
        } else {
            let text = cursor.take_while(|c| c.is_ascii_alphanumeric());
            match word(text) {
                Some(Word::Space(space)) => {
                    feature.space = Some(space);
                    2
                }
                Some(Word::Element(element)) => {
                    feature.element = Some(element);
                    3
                }
                Some(Word::Direction(direction)) => {
                    feature.direction = Some(direction);
                    4
                }
                None => {
                    let message = format!("`{text}` is no field of a memory access");
                    return Err(ExpressionError::new(message, cursor.range_from(start)).hint(ORDER));
                }
            }
        };
        if place <= reached {
            let message = "this field stands behind a later one, or twice";
            return Err(ExpressionError::new(message, cursor.range_from(start)).hint(ORDER));
        }
        reached = place;
    }
    Ok(MachineAccessFeature { access: feature, width })
}

/// Goes on behind the `_` of the next field, if there is one.
fn next_field(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = *cursor;
    if !ahead.takes("_") {
        return false;
    }
    let directly = ahead;
    ahead.skip_space();
    let is_named =
        [LOCAL_STRIDES, GLOBAL_STRIDES, RATIO].iter().any(|name| ahead.rest.starts_with(name));
    *cursor = if is_named { ahead } else { directly };
    true
}

/// A tag reaches to the end of the name, or to the next field.
fn tag(cursor: &mut Cursor<'_>) -> Result<String, ExpressionError> {
    let mut tag = String::new();
    loop {
        tag += cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        let mut ahead = *cursor;
        if !ahead.takes("_") {
            break;
        }
        let next = ahead.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
        if next.is_empty()
            || word(next).is_some()
            || [LOCAL_STRIDES, GLOBAL_STRIDES, RATIO].contains(&next)
            || ahead.rest.starts_with(':')
        {
            break;
        }
        cursor.takes("_");
        tag.push('_');
    }
    if tag.is_empty() {
        return Err(at_next(cursor, "the name of the access is missing").hint(ORDER));
    }
    Ok(tag)
}

fn colon(cursor: &mut Cursor<'_>) -> Result<(), ExpressionError> {
    cursor.skip_space();
    if !cursor.takes(":") {
        return Err(at_next(cursor, "`:` is missing").hint(ORDER));
    }
    cursor.skip_space();
    Ok(())
}

/// `:{0:1;1:>15}`.
fn strides(cursor: &mut Cursor<'_>) -> Result<Vec<(usize, Constraint)>, ExpressionError> {
    const FORM: &str = "strides are written lstrides:{0:1;1:>15}: axis, colon, condition, separated \
                        by semicolons";
    colon(cursor)?;
    if !cursor.takes("{") {
        return Err(at_next(cursor, "`{` is missing").hint(FORM));
    }
    let mut all: Vec<(usize, Constraint)> = Vec::new();
    loop {
        cursor.skip_space();
        let start = cursor.at();
        let axis = match cursor.take_while(|c| c.is_ascii_digit()) {
            "0" => 0,
            "1" => 1,
            "2" => 2,
            _ => {
                let message = "the axis of a stride is 0, 1 or 2";
                return Err(ExpressionError::new(message, cursor.range_from(start)).hint(FORM));
            }
        };
        if all.iter().any(|(other, _)| *other == axis) {
            let message = format!("axis {axis} has a stride already");
            return Err(ExpressionError::new(message, cursor.range_from(start)));
        }
        cursor.skip_space();
        if !cursor.takes(":") {
            return Err(at_next(cursor, "`:` is missing").hint(FORM));
        }
        all.push((axis, constraint(cursor)?));
        cursor.skip_space();
        // Python's way of writing a dictionary is not the paper's, but hard to mistake.
        if cursor.takes("}") {
            return Ok(all);
        }
        if !cursor.takes(";") && !cursor.takes(",") {
            return Err(at_next(cursor, "`;` or `}` is missing").hint(FORM));
        }
    }
}

/// `1`, `>15`, `<n`, `16*n`.
fn constraint(cursor: &mut Cursor<'_>) -> Result<Constraint, ExpressionError> {
    cursor.skip_space();
    let relation = if cursor.takes(">=") {
        Relation::AtLeast
    } else if cursor.takes("<=") {
        Relation::AtMost
    } else if cursor.takes(">") {
        Relation::Greater
    } else if cursor.takes("<") {
        Relation::Less
    } else {
        Relation::Equal
    };
    cursor.skip_space();
    Ok(Constraint { relation, bound: bound(cursor)? })
}

/// A number or a size, or one size and one number multiplied or divided. A `*` that goes with
/// neither belongs to the expression around.
fn bound(cursor: &mut Cursor<'_>) -> Result<Bound, ExpressionError> {
    let negative = cursor.takes("-");
    let signed = |number: f64| if negative { -number } else { number };
    if let Some(number) = cursor.take_number() {
        let mut ahead = *cursor;
        if ahead.takes("*")
            && let Some(size) = size(&mut ahead)
        {
            *cursor = ahead;
            return Ok(Bound { factor: signed(number), divisor: 1.0, size: Some(size) });
        }
        return Ok(Bound::number(signed(number)));
    }
    let Some(size) = size(cursor) else {
        return Err(at_next(cursor, "a number or the name of a size is missing"));
    };
    let mut bound = Bound { factor: signed(1.0), divisor: 1.0, size: Some(size) };
    let mut ahead = *cursor;
    if ahead.takes("*")
        && let Some(number) = ahead.take_number()
    {
        bound.factor = signed(number);
        *cursor = ahead;
    } else if ahead.takes("/")
        && let Some(number) = ahead.take_number()
        && number != 0.0
    {
        bound.divisor = number;
        *cursor = ahead;
    }
    Ok(bound)
}

/// The name of a size of the problem, which is none of a parameter, feature or expression.
fn size(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut ahead = *cursor;
    if !ahead.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let name = ahead.take_while(|c| c.is_ascii_alphanumeric());
    // `p_x`: a `_` follows a name that is no size.
    let is_prefix = matches!(name, "p" | "f" | "c") && ahead.rest.starts_with('_');
    if is_prefix {
        return None;
    }
    *cursor = ahead;
    Some(name.to_owned())
}
