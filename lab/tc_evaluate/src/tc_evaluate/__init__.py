"""Compares a policy of tc-controller with every template, each in the same emulated seconds."""
