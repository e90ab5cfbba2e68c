"""A1-P: policies of a Non-RT RIC as delay targets (O-RAN.WG2.TS.A1AP, O-RAN.WG2.TS.A1TD)."""
