"""The loop on traffic of real kernels and a real browser, through `gnb-lab live`.

``run`` is the demo: ``tools`` finds the programs, ``site`` makes a video (``media``) and a page
(``page``). At the server's side ``server`` runs iperf3, irtt and the ``site``; at the UE ``ue``
runs their clients and the ``browser`` that plays the video (``video``) and loads the page
(``pages``).
``qoe`` says what a user had of it, ``applications`` draws it.
"""
