"""One bearer under control: its states, what changes them, and what is done then."""
