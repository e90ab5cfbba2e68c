"""Sweeps: a scenario over axes of values and seeds, on this machine or on a Dask cluster.

A `Plan` is the product of axes and seeds, checked as a whole; `run.Sweep` makes what its folder
lacks, or lists it as `Order`s that other machines make.
"""
