"""The loop on traffic of real kernels and a real browser, through `gnb-lab live`.

``run`` is the demo: ``tools`` finds the programs, ``media`` encodes a video with the browser that
plays it. At the server's side ``server`` runs iperf3, irtt and the ``site``; at the UE ``ue`` runs
their clients and, by ``devtools``, the browser that plays the video (``video``) and loads pages
(``pages``). ``qoe`` says what a user had of it, ``section`` draws it.
"""
