//! Pictures of small stages on whatever adapter there is, the software one by preference: it is the same everywhere.
use super::*;
