//! Python module gnb_lab.
