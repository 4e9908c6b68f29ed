//! Encoding of values, items and faults on the wire.

mod decode;
mod encode;
mod fault;
mod older;

pub(crate) use decode::{
    DecodeError, TOO_DEEP, attribute_value, item, name_map, not_convertible, number_error,
    value_map,
};
pub(crate) use encode::{write_item, write_value};
pub(crate) use fault::{Fault, FaultCode, Reason, Throttling};
pub(crate) use older::{Wording, older_message, older_value_message};
