//! Queue management in place of the RLC's FIFO.
