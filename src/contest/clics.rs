//! Shapes out.
