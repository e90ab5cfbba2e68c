"""The probes: they ask and measure, and leave nothing behind."""

from ric_doctor.probe.examine import DoctorSettings, Patience, examine

__all__ = ["DoctorSettings", "Patience", "examine"]
