//! Python module e2sm_tc.
