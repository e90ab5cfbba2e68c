"""The loop through an OpenAirInterface gNB with traffic control, its UE and the RF simulator.

``run`` is the demo: ``build`` finds the programs, ``network`` keeps gNB and UE apart, ``cell``
starts both, ``traffic`` loads the bearer, ``recorder`` writes what it and the E2 reports say in the
form of the lab's recordings.
"""
