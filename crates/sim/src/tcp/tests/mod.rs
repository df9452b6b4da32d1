//! The machines against their RFCs, step by step.
