//! The handle C holds: no panic across the border, and for each thread the last error and the bytes it
//! was handed.

use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::function::{Failure, Function};
use crate::types::{TcRfBytes, TcRfResult};

/// The TC RAN function of one gNB.
#[derive(Debug)]
pub struct TcRf {
    function: Function,
}

#[derive(Default)]
struct Thread {
    /// A call is on its way, so another one comes from a callback.
    busy: Cell<bool>,
    error: RefCell<CString>,
    /// What the last call handed out.
    bytes: RefCell<Vec<u8>>,
}

thread_local! {
    static THREAD: Thread = Thread::default();
}

impl TcRf {
    pub(crate) fn new(function: Function) -> Self {
        Self { function }
    }

    /// A call, unless it comes from a callback: its bearer is locked, and two threads that waited
    /// for each other's bearer would wait for ever.
    pub(crate) fn call(&self, call: impl FnOnce(&Function) -> Result<(), Failure>) -> TcRfResult {
        let guarded = |thread: &Thread| {
            if thread.busy.replace(true) {
                return TcRfResult::Busy;
            }
            let done = catch_unwind(AssertUnwindSafe(|| call(&self.function)));
            thread.busy.set(false);
            let (result, error) = match done {
                Ok(Ok(())) => return TcRfResult::Ok,
                Ok(Err((result, detail))) => (result, CString::new(detail).unwrap_or_default()),
                Err(_) => (TcRfResult::Internal, c"a defect inside; please report it".to_owned()),
            };
            thread.error.replace(error);
            result
        };
        // A thread that ends has no storage for an error.
        THREAD.try_with(guarded).unwrap_or(TcRfResult::Busy)
    }

    /// A call whose bytes stay with the thread until its next one of this kind.
    ///
    /// # Safety
    /// `out` must be null or valid to write.
    pub(crate) unsafe fn call_for_bytes(
        &self,
        out: *mut TcRfBytes,
        call: impl FnOnce(&Function) -> Result<Vec<u8>, Failure>,
    ) -> TcRfResult {
        self.call(|function| {
            if out.is_null() {
                return Err((TcRfResult::NullPointer, "out is null".to_owned()));
            }
            let bytes = call(function)?;
            let bytes = THREAD.with(|thread| {
                thread.bytes.replace(bytes);
                let kept = thread.bytes.borrow();
                TcRfBytes { data: kept.as_ptr(), length: kept.len() }
            });
            // SAFETY: not null, and the caller vouches for it.
            unsafe { *out = bytes };
            Ok(())
        })
    }
}

/// Text of this thread's last failure; valid until its next call that fails.
pub(crate) fn last_error() -> *const c_char {
    THREAD.try_with(|thread| thread.error.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
