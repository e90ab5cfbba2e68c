"""The probes: they ask and measure, and leave nothing behind."""

from ric.doctor.probe.examine import DoctorSettings, Patience, examine

__all__ = ["DoctorSettings", "Patience", "examine"]
